"""Parallel text as a stream of numbered pairs.

A line ends at LF or CRLF and nowhere else, on every machine and in every locale; bytes are UTF-8. A
lone CR, U+2028, U+0085 and their kin are text. A byte-order mark at the head of a file is dropped.
"""

import gzip
import hashlib
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, cast

from pydantic import Discriminator

from dragoman.configfile import record, similar_file
from dragoman.errors import DataError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@record
class Files:
    """Two files; line N of one translates line N of the other. A name in ``.gz`` is unpacked."""

    kind: Literal["files"] = "files"
    source: Path
    target: Path


@record
class TsvFile:
    """One file of ``source<TAB>target`` lines without quoting. A name in ``.gz`` is unpacked."""

    kind: Literal["tsv"] = "tsv"
    file: Path


Corpus = Annotated[Files | TsvFile, Discriminator("kind")]


class Pair(NamedTuple):
    """A segment and its translation."""

    number: int  # line in the file, from 1
    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairReport:
    """What a corpus held; ``lines`` is ``len(pairs) + blank``."""

    pairs: tuple[Pair, ...]  # those with text on both sides
    lines: int
    blank: int  # pairs left out, since one side or both are blank
    sha256: dict[str, str]  # of each file's bytes, by path; a pipe has none


def read_pairs(corpus: Corpus) -> PairReport:
    """Read all pairs that have text on both sides, and count the others.

    Raises:
        DataError: no pair is left, or anything ``open_corpus`` raises.
    """
    pairs: list[Pair] = []
    blank = 0
    for pair in open_corpus(corpus):
        if is_blank(pair.source) or is_blank(pair.target):
            blank += 1
        else:
            pairs.append(pair)
    if not pairs:
        problem = f"no pair has text on both sides; blank: {blank}" if blank else "no lines"
        raise DataError(corpus_name(corpus), problem, "give a corpus with at least one pair")
    return PairReport(
        pairs=tuple(pairs),
        lines=len(pairs) + blank,
        blank=blank,
        sha256={str(path): _sha256(path) for path in _paths(corpus) if path.is_file()},
    )


def read_aligned(corpus: Corpus) -> list[Pair]:
    """Read all pairs, blank ones included, as a test set must be.

    Raises:
        DataError: there are none, or anything ``open_corpus`` raises.
    """
    pairs = list(open_corpus(corpus))
    if not pairs:
        raise DataError(corpus_name(corpus), "no lines", "give a corpus with at least one pair")
    return pairs


def corpus_name(corpus: Corpus) -> str:
    """Name a corpus by its files."""
    return " and ".join(str(path) for path in _paths(corpus))


def open_corpus(corpus: Corpus) -> Iterator[Pair]:
    """Read the pairs of a corpus one by one, blank ones included.

    Raises:
        DataError: while reading: a file cannot be read (see ``read_lines``), a row has not two
            columns, or two files differ in their number of lines; the last is known, and raised,
            only at the end of both.
    """
    match corpus:
        case Files(source=source, target=target):
            return _pairs_of_files(source, target)
        case TsvFile(file=file):
            return _pairs_of_rows(file)


def read_lines(path: Path) -> Iterator[str]:
    """Read the lines of a UTF-8 file without their ends; a name in ``.gz`` is unpacked.

    Raises:
        DataError: while reading: the file is missing, is a folder, may not be read, is damaged
            gzip, or is not UTF-8, with line and offset.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            yield from decode_lines(cast("Iterable[bytes]", stream), str(path))
    except FileNotFoundError:
        raise DataError(path, "no such file", similar_file(path)) from None
    except IsADirectoryError:
        raise DataError(path, "is a folder", "name a file in it") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(path, f"damaged gzip ({error})", "pack or copy it again") from None
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror or error}") from None


def decode_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """Turn the lines of a binary stream, such as ``sys.stdin.buffer``, into text.

    Args:
        stream: lines that keep their LF, as iterating a binary file gives them.
        name: what messages call the stream.

    Raises:
        DataError: a line is not UTF-8; it names line, byte and offset (from 0) in the line.
    """
    for number, raw in enumerate(stream, start=1):
        mark = len(BYTE_ORDER_MARK) if number == 1 and raw.startswith(BYTE_ORDER_MARK) else 0
        if mark and len(raw) == mark:
            return  # the file holds nothing else
        ending = 2 if raw.endswith(b"\r\n") else 1 if raw.endswith(b"\n") else 0
        try:
            yield raw[mark : len(raw) - ending].decode("utf-8")
        except UnicodeDecodeError as error:
            byte, offset = error.object[error.start], error.start + mark
            problem = f"not UTF-8 (byte 0x{byte:02x} at byte {offset} of the line)"
            hint = "re-save it as UTF-8 or drop the line"
            raise DataError(name, problem, hint, line=number) from None


def is_blank(text: str) -> bool:
    """Say whether nothing in the text can be seen: only white space, controls, zero-width signs."""
    return all(c.isspace() or unicodedata.category(c) in ("Cc", "Cf") for c in text)


def _pairs_of_files(source_path: Path, target_path: Path) -> Iterator[Pair]:
    sources = targets = 0
    for source, target in zip_longest(read_lines(source_path), read_lines(target_path)):
        sources += source is not None
        targets += target is not None
        if source is not None and target is not None:
            yield Pair(sources, source, target)
    if sources != targets:
        raise DataError(
            source_path,
            f"{sources} lines, but {target_path} has {targets}",
            "line N of one file must translate line N of the other",
        )


def _pairs_of_rows(path: Path) -> Iterator[Pair]:
    for number, row in enumerate(read_lines(path), start=1):
        columns = row.split("\t")
        if len(columns) != 2:
            problem = f"columns: {len(columns)}, expected 2"
            hint = "write source, one tab, target, and no tab inside either"
            raise DataError(path, problem, hint, line=number)
        yield Pair(number, *columns)


def _paths(corpus: Corpus) -> tuple[Path, ...]:
    match corpus:
        case Files(source=source, target=target):
            return source, target
        case TsvFile(file=file):
            return (file,)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
