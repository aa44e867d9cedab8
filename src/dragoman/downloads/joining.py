"""Pieces of a corpus joined into two plain text files for each set."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO

from dragoman.downloads.record import Piece
from dragoman.downloads.segments import lines_of
from dragoman.downloads.unpacking import open_text
from dragoman.errors import DataError

Members = Mapping[tuple[str, str], Path]  # by archive and name in it


@dataclass(frozen=True, slots=True)
class Part:
    """What a piece became: where its pairs stand in the set."""

    source: str
    target: str
    first: int  # line, from 1
    pairs: int


def pairs_of(piece: Piece, members: Members) -> Iterator[tuple[bytes, bytes]]:
    """Give the pairs of a piece.

    Raises:
        DataError: its sides do not fit, or are not as many as the catalogue says.
    """
    number = 0
    other = piece.target_archive or piece.archive
    with (
        open_text(members[piece.archive, piece.source], piece.source) as left,
        open_text(members[other, piece.target], piece.target) as right,
    ):
        sources = lines_of(left, piece.layout, 0, piece.source)
        targets = lines_of(right, piece.layout, 1, piece.target)
        for number, (source, target) in enumerate(zip_longest(sources, targets), start=1):
            if source is None or target is None:
                short = piece.source if source is None else piece.target
                raise DataError(short, "has fewer lines than its other side", line=number)
            if source.key != target.key:
                problem = f"segment {target.key}, but {source.key} on the other side"
                raise DataError(piece.target, f"line {number} of the text is {problem}")
            yield source.text, target.text
    check_count(piece.source, number, piece.pairs)


def check_count(name: str, found: int, known: int | None) -> None:
    """Hold what was found against the number that was published.

    Raises:
        DataError: they differ.
    """
    if known is not None and found != known:
        raise DataError(
            name, f"holds {found:,} pairs, not {known:,}", "please report it: nothing was written"
        )


class Writer:
    """Two files being written, line by line, that count and hash what they get."""

    def __init__(self, stack: ExitStack, source: Path, target: Path) -> None:
        self.paths = (source, target)
        self.pairs = 0
        self.hashes = (hashlib.sha256(), hashlib.sha256())
        self._files: list[BinaryIO] = [stack.enter_context(path.open("xb")) for path in self.paths]

    def __call__(self, source: bytes, target: bytes) -> None:
        """Write a pair."""
        for file, digest, text in zip(self._files, self.hashes, (source, target), strict=True):
            file.write(line := text + b"\n")
            digest.update(line)
        self.pairs += 1


def join(
    pieces: tuple[Piece, ...],
    members: Callable[[Piece], Members],
    write: Callable[[bytes], Writer],
) -> Iterator[Part]:
    """Write the pairs of pieces one after another; tell where each went.

    Args:
        pieces: in order.
        members: unpacks what a piece needs.
        write: chooses, by the source, the set that a pair belongs to.
    """
    line = 1
    for piece in pieces:
        count = 0
        for source, target in pairs_of(piece, members(piece)):
            write(source)(source, target)
            count += 1
        yield Part(piece.source, piece.target, line, count)
        line += count


def held_out(source: bytes, one_in: int) -> str:
    """Say in which set a pair belongs, by its source alone: a sentence is in one set only."""
    bucket = int.from_bytes(hashlib.sha256(source).digest()[:8]) % one_in
    return {0: "validation", 1: "test"}.get(bucket, "train")
