"""Reading on where training would stop: each fault of the files becomes a note, not the end.

Two files and TSV are read leniently: bytes that are no UTF-8 become surrogates, as the error
handler ``surrogateescape`` makes them. Any other format is read as training reads it.
"""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import IO, cast

from dragoman.configfile import similar_file
from dragoman.data.corpus import (
    BYTE_ORDER_MARK,
    Corpus,
    Files,
    Pair,
    TsvFile,
    open_corpus,
)
from dragoman.errors import DataError


@dataclass(slots=True)
class Notes:
    """What reading a corpus met; complete once its pairs are read."""

    lines: dict[str, int] = field(default_factory=dict[str, int])  # by file
    marked: list[str] = field(default_factory=list[str])  # files that begin with a byte-order mark
    carriage_returns: dict[str, int] = field(default_factory=dict[str, int])  # CRLF ends, by file
    rows: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    broken: str = ""  # why reading ended early


def read_on(corpus: Corpus, notes: Notes) -> Iterator[Pair]:
    """Read all pairs that can be made out; of unequal files, those of the shorter one.

    Args:
        corpus: any.
        notes: filled while reading; of a row without two columns, its number, columns and text.

    Raises:
        DataError: a file is missing, is a folder or may not be read at all.
    """
    match corpus:
        case Files(source=source, target=target):
            yield from _files(source, target, notes)
        case TsvFile(file=file):
            yield from _rows(file, notes)
        case other:  # pyright: ignore[reportUnnecessaryComparison]  # formats to come
            yield from _strictly(other, notes)


def _files(source: Path, target: Path, notes: Notes) -> Iterator[Pair]:
    sides = zip_longest(_lines(source, notes, "source"), _lines(target, notes, "target"))
    for number, (left, right) in enumerate(sides, start=1):
        if left is not None and right is not None:
            yield Pair(number, left, right)


def _rows(path: Path, notes: Notes) -> Iterator[Pair]:
    for number, row in enumerate(_lines(path, notes, "rows"), start=1):
        columns = row.split("\t")
        if len(columns) == 2:
            yield Pair(number, *columns)
        else:
            notes.rows.append((number, len(columns), row))


def _strictly(corpus: Corpus, notes: Notes) -> Iterator[Pair]:
    read = 0
    try:
        for pair in open_corpus(corpus):
            read += 1
            yield pair
    except DataError as error:
        if not read:
            raise
        notes.broken = str(error)


def _lines(path: Path, notes: Notes, name: str) -> Iterator[str]:
    """Read lines as ``dragoman.data.read_lines`` does, and go on after bad bytes."""
    notes.lines[name] = notes.carriage_returns[name] = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for raw in cast("IO[bytes]", stream):
                if not notes.lines[name] and raw.startswith(BYTE_ORDER_MARK):
                    notes.marked.append(name)
                    raw = raw[len(BYTE_ORDER_MARK) :]
                    if not raw:
                        return
                notes.lines[name] += 1
                if raw.endswith(b"\r\n"):
                    notes.carriage_returns[name] += 1
                    raw = raw[:-2]
                elif raw.endswith(b"\n"):
                    raw = raw[:-1]
                yield raw.decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        raise DataError(path, "no such file", similar_file(path)) from None
    except IsADirectoryError:
        raise DataError(path, "is a folder", "name a file in it") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        notes.broken = f"{path}: damaged gzip ({error}); pack or copy it again"
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror or error}") from None
