"""Reading on where training would stop: each fault of the files becomes a note, not the end.

Lines and rows of UTF-8 are read leniently: bytes that are none become surrogates, as the error
handler ``surrogateescape`` makes them. Any other encoding or format is read as training reads it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import BinaryIO

from dragoman.data.corpora import (
    Corpus,
    CsvFile,
    Files,
    Mo,
    Po,
    QtTs,
    Tmx,
    TsvFile,
    Xliff,
    table_of,
)
from dragoman.data.corpus import Pair, open_corpus, shards
from dragoman.data.corpus_files import matching_files
from dragoman.data.formats import decoded_lines, find_encoding, open_bytes, pairs_of_rows
from dragoman.data.formats.opening import LONGEST_LINE, too_long
from dragoman.errors import DataError

_CHUNK = 2**16  # bytes


@dataclass(slots=True)
class Notes:
    """What reading a corpus met; complete once its pairs are read."""

    lines: dict[str, int] = field(default_factory=dict[str, int])  # by side
    marked: list[str] = field(default_factory=list[str])  # sides that begin with a byte-order mark
    carriage_returns: dict[str, int] = field(default_factory=dict[str, int])  # CRLF ends, by side
    # Of each row that has not the columns it should: number, what is wrong, text.
    rows: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])
    left_out: Counter[str] = field(default_factory=Counter[str])  # no pairs by a rule of the format
    remarks: list[str] = field(default_factory=list[str])
    broken: str = ""  # why reading ended early


def read_on(corpus: Corpus, notes: Notes) -> Iterator[Pair]:
    """Read all pairs that can be made out; of unequal files, those of the shorter one.

    Pairs of one unit, such as plural forms, get numbers of their own, so that a fault of one is
    none of the others: of catalogues and documents, numbers count pairs.

    Args:
        corpus: any.
        notes: filled while reading.

    Raises:
        DataError: a file is missing, is a folder or may not be read at all.
    """
    match corpus:
        case Files():
            yield from _files(corpus, notes)
        case TsvFile() | CsvFile():
            for path in matching_files(corpus.file):
                yield from _until_broken(_rows(corpus, path, notes), notes)
        case Po() | Mo() | Tmx() | Xliff() | QtTs():
            notes.remarks.append("line numbers count pairs")
            pairs = _until_broken(open_corpus(corpus, notes.left_out), notes)
            for number, pair in enumerate(pairs, start=1):
                yield pair._replace(number=number)
        case _:
            yield from _until_broken(open_corpus(corpus, notes.left_out), notes)


def _until_broken(pairs: Iterator[Pair], notes: Notes) -> Iterator[Pair]:
    read = False
    try:
        for pair in pairs:
            read = True
            yield pair
    except DataError as error:
        if not read:
            raise
        notes.broken = str(error)


def _files(corpus: Files, notes: Notes) -> Iterator[Pair]:
    before = 0  # lines of earlier files
    for source, target in shards(corpus):
        sides = zip_longest(
            _lines(source, notes, "source", corpus.encoding),
            _lines(target, notes, "target", corpus.encoding),
        )
        for number, (left, right) in enumerate(sides, start=before + 1):
            if left is not None and right is not None:
                yield Pair(number, left, right)
        before = notes.lines["source"]
        if notes.broken:
            return
        if before != notes.lines["target"]:
            notes.remarks.append(f"{source} and {target} differ in lines; no file after was read")
            return


def _rows(corpus: TsvFile | CsvFile, path: Path, notes: Notes) -> Iterator[Pair]:
    before, latest = notes.lines.get("rows", 0), [""]

    def watched() -> Iterator[str]:
        for line in _lines(path, notes, "rows", corpus.encoding):
            latest[0] = line
            yield line

    def wrong(error: DataError) -> None:
        notes.rows.append((before + (error.line or 1), error.problem, latest[0]))

    for segment in pairs_of_rows(watched(), str(path), table_of(corpus), wrong=wrong):
        yield Pair(before + segment.number, segment.source, segment.target)


def _lines(path: Path, notes: Notes, name: str, encoding: str | None) -> Iterator[str]:
    """Read lines as ``dragoman.data.read_lines`` does, and go on after bytes that are no UTF-8."""
    before = notes.lines.setdefault(name, 0)
    notes.carriage_returns.setdefault(name, 0)
    try:
        with open_bytes(path) as stream:
            head = _bounded(stream.readline(LONGEST_LINE + 1), str(path), 1)
            codec, mark = find_encoding(head, str(path), encoding)
            if mark:
                notes.marked.append(name)
            head = head[mark:]
            if codec == "utf-8":
                for raw in _lenient(head, stream, notes, name):
                    yield _bounded(raw, str(path), notes.lines[name] - before).decode(
                        "utf-8", "surrogateescape"
                    )
                return
            read: Callable[[], bytes] = partial(stream.read, _CHUNK)
            chunks = chain([head], iter(read, b""))
            for line in decoded_lines(chunks, str(path), (codec, mark)):
                notes.lines[name] += 1
                yield line
    except DataError as error:
        if notes.lines[name] == before:
            raise
        notes.broken = str(error)


def _lenient(head: bytes, stream: BinaryIO, notes: Notes, name: str) -> Iterator[bytes]:
    more: Callable[[], bytes] = partial(stream.readline, LONGEST_LINE + 1)
    for raw in chain([head] if head else [], iter(more, b"")):
        notes.lines[name] += 1
        if raw.endswith(b"\r\n"):
            notes.carriage_returns[name] += 1
            raw = raw[:-2]
        elif raw.endswith(b"\n"):
            raw = raw[:-1]
        yield raw


def _bounded(raw: bytes, name: str, number: int) -> bytes:
    """Refuse a line without end, such as a small packed file may unpack to."""
    if len(raw) > LONGEST_LINE:
        raise too_long(name, number)
    return raw
