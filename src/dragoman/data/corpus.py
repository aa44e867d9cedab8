"""Parallel text as a stream of numbered pairs, whatever it lies in.

Text comes as its format has it: a segment of a translation memory, of JSON or of a catalogue may
hold line ends, which are kept. Whoever writes lines has to see to them.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from dragoman.data.corpora import (
    Corpus,
    CsvFile,
    Dataset,
    Files,
    JsonLines,
    Mo,
    OneFile,
    Parquet,
    Po,
    QtTs,
    Tmx,
    TsvFile,
    Xliff,
    table_of,
)
from dragoman.data.corpus_files import corpus_files, corpus_name, matching_files
from dragoman.data.formats import (
    Segment,
    open_bytes,
    read_dataset,
    read_json_lines,
    read_mo,
    read_parquet,
    read_po,
    read_qt_ts,
    read_table,
    read_tmx,
    read_xliff,
    text_blocks,
)
from dragoman.data.lines import is_blank
from dragoman.errors import DataError


class Pair(NamedTuple):
    """A segment and its translation."""

    number: int  # line, row or unit in the file, from 1; the files of a pattern count on
    source: str
    target: str


# What ``Pair(*values)`` does, without a step through Python.
_PAIR: Callable[[tuple[int, str, str]], Pair] = partial(tuple.__new__, Pair)  # pyright: ignore[reportUnknownMemberType]  # of any tuple


@dataclass(frozen=True, slots=True, kw_only=True)
class PairReport:
    """What a corpus held; ``lines`` is ``len(pairs) + blank``."""

    pairs: tuple[Pair, ...]  # those with text on both sides
    lines: int
    blank: int  # pairs left out, since one side or both are blank
    sha256: dict[str, str]  # of each file's bytes, by path; a pipe has none
    left_out: dict[str, int] = field(default_factory=dict[str, int])  # no pairs by rule: fuzzy ...


def read_pairs(corpus: Corpus) -> PairReport:
    """Read all pairs that have text on both sides, and count the others.

    Raises:
        DataError: no pair is left, or anything ``open_corpus`` raises.
    """
    pairs: list[Pair] = []
    blank, left_out = 0, Counter[str]()
    for pair in open_corpus(corpus, left_out):
        if is_blank(pair.source) or is_blank(pair.target):
            blank += 1
        else:
            pairs.append(pair)
    if not pairs:
        raise _no_pairs(corpus, blank, left_out)
    return PairReport(
        pairs=tuple(pairs),
        lines=len(pairs) + blank,
        blank=blank,
        sha256=hash_files(corpus),
        left_out=dict(left_out),
    )


def read_aligned(corpus: Corpus) -> list[Pair]:
    """Read all pairs, blank ones included, as a test set must be.

    Raises:
        DataError: there are none, or anything ``open_corpus`` raises.
    """
    left_out = Counter[str]()
    pairs = list(open_corpus(corpus, left_out))
    if not pairs:
        raise _no_pairs(corpus, 0, left_out)
    return pairs


def hash_files(corpus: Corpus) -> dict[str, str]:
    """Digest the bytes of each file of a corpus, by path; a pipe has no digest."""
    return {str(path): hash_file(path) for path in corpus_files(corpus) if path.is_file()}


def open_corpus(corpus: Corpus, left_out: Counter[str] | None = None) -> Iterator[Pair]:
    """Read the pairs of a corpus one by one, blank ones included.

    Args:
        corpus: any.
        left_out: counts what is no pair by a rule of the format, such as ``fuzzy``.

    Raises:
        DataError: while reading: a file cannot be read, or not as its format has it, with its line
            or row; a pattern matches nothing; or two files differ in their number of lines, which
            is known, and raised, only at the end of both.
        MissingExtraError: the format needs a library that is not installed.
    """
    match corpus:
        case Files():
            return chain.from_iterable(_runs_of_pairs(corpus))
        case Dataset():
            return _pairs_of_dataset(corpus)
        case _:
            return _pairs_of_one(corpus, Counter[str]() if left_out is None else left_out)


def shards(corpus: Files) -> list[tuple[Path, Path]]:
    """Say which file translates which.

    Raises:
        DataError: a pattern matches no file, or not as many as that of the other side.
    """
    sources, targets = matching_files(corpus.source), matching_files(corpus.target)
    if len(sources) != len(targets):
        problem = f"{len(sources)} files, but {corpus.target} has {len(targets)}"
        raise DataError(corpus.source, problem, "give each source file its target file")
    return list(zip(sources, targets, strict=True))


def _runs_of_pairs(corpus: Files) -> Iterator[Iterator[Pair]]:
    """Read two files some thousands of lines at a time; nothing is done for a single line."""
    before, empty = 0, list[str]()  # before: lines of earlier files
    for source, target in shards(corpus):
        sources, targets = (_blocks(path, corpus.encoding) for path in (source, target))
        left, right, read = list[str](), list[str](), 0
        while (left := left or next(sources, empty)) and (right := right or next(targets, empty)):
            yield map(_PAIR, zip(count(before + read + 1), left, right, strict=False))
            both = min(len(left), len(right))
            read, left, right = read + both, left[both:], right[both:]
        more = len(left) + sum(map(len, sources)), len(right) + sum(map(len, targets))
        if any(more):
            raise DataError(
                source,
                f"{read + more[0]} lines, but {target} has {read + more[1]}",
                "line N of one file must translate line N of the other",
            )
        before += read


def _blocks(path: Path, encoding: str | None) -> Iterator[list[str]]:
    with open_bytes(path) as stream:
        yield from text_blocks(stream, str(path), encoding)


def _pairs_of_dataset(corpus: Dataset) -> Iterator[Pair]:
    source, target = corpus.columns
    segments = read_dataset(
        corpus.dataset,
        corpus.split,
        source,
        target,
        configuration=corpus.configuration,
        streaming=corpus.streaming,
    )
    for segment in segments:
        yield Pair(segment.number, segment.source, segment.target)


def _pairs_of_one(corpus: OneFile, left_out: Counter[str]) -> Iterator[Pair]:
    before = latest = 0
    for path in matching_files(corpus.file):
        for segment in _segments(corpus, path, left_out):
            latest = before + segment.number
            yield Pair(latest, segment.source, segment.target)
        before = latest


def _segments(corpus: OneFile, path: Path, left_out: Counter[str]) -> Iterator[Segment]:
    name = str(path)
    match corpus:
        case TsvFile() | CsvFile():
            return read_table(path, name, table_of(corpus))
        case JsonLines(columns=(source, target), encoding=encoding):
            return read_json_lines(path, name, source, target, encoding=encoding)
        case Parquet(columns=(source, target)):
            return read_parquet(path, name, source, target)
        case Tmx(markup=markup, source_language=source, target_language=target):
            return read_tmx(
                path, name, source=source, target=target, markup=markup, left_out=left_out
            )
        case Po(fuzzy=fuzzy, encoding=encoding):
            return read_po(path, name, fuzzy=fuzzy, encoding=encoding, left_out=left_out)
        case Mo(encoding=encoding):
            return read_mo(path, name, encoding=encoding)
        case Xliff(markup=markup, unfinished=unfinished):
            return read_xliff(path, name, markup=markup, unfinished=unfinished, left_out=left_out)
        case QtTs(unfinished=unfinished):
            return read_qt_ts(path, name, unfinished=unfinished, left_out=left_out)


def _no_pairs(corpus: Corpus, blank: int, left_out: Counter[str]) -> DataError:
    counts = {"blank": blank, **left_out}
    told = ", ".join(f"{what}: {count}" for what, count in counts.items() if count)
    problem = f"no pair has text on both sides; {told}" if told else "no lines"
    return DataError(corpus_name(corpus), problem, "give a corpus with at least one pair")


def hash_file(path: Path) -> str:
    """Digest the bytes of a file with SHA-256.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
