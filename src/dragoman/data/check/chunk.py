"""Some thousands of pairs side by side, with what can be computed for all of them at once.

Shapes: N pairs, S scripts seen so far.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.data.check.characters import CharacterTable, Counts, Mark
from dragoman.data.check.finding import Collector, Side
from dragoman.data.corpus import Pair

_END = "\uffff"  # no character, so no text holds it for a reason


@dataclass(frozen=True, slots=True)
class SideView:
    """One side of a chunk."""

    texts: Sequence[str]
    lengths: Counts  # characters, (N,)
    marks: NDArray[np.uint32]  # all marks of the characters of a text, (N,)
    letters: Counts  # letters by script, (N, S); column 0 stays 0

    def having(self, marks: Mark) -> list[int]:
        """List the texts that hold a character with one of these marks."""
        return np.flatnonzero(self.marks & int(marks)).tolist()

    def blank(self) -> NDArray[np.bool_]:
        """Say which texts show nothing, as ``is_blank`` does, (N,)."""
        return (self.marks & int(Mark.VISIBLE)) == 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive pairs of a corpus."""

    numbers: Sequence[int]
    source: SideView
    target: SideView

    def __len__(self) -> int:
        return len(self.numbers)

    def blank(self) -> NDArray[np.bool_]:
        """Say which pairs show nothing on a side or on both, (N,)."""
        return self.source.blank() | self.target.blank()

    def sides(self) -> Iterator[tuple[Side, SideView]]:
        """Give both sides with their names."""
        yield "source", self.source
        yield "target", self.target

    def note(self, kind: str, faults: Mapping[int, tuple[Side, str]], found: Collector) -> None:
        """Note a fault of each pair that has one, in the order of lines.

        Args:
            kind: of all of them.
            faults: side and detail, by place in the chunk from 0.
            found: gets them.
        """
        for at in sorted(faults):
            texts = self.source.texts[at], self.target.texts[at]
            found.add(kind, self.numbers[at], *faults[at], *texts)


def view(texts: Sequence[str], table: CharacterTable) -> SideView:
    """Look at every character of some texts."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    joined = _END.join(texts) + _END
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    marks, scripts = table.look(codes)
    ends = np.cumsum(lengths + 1)
    starts = ends - lengths - 1
    marks[ends - 1] = 0
    wide = len(table.scripts)
    letters = np.flatnonzero(scripts)
    rows = np.repeat(np.arange(len(texts)), lengths + 1)[letters]
    counts = np.bincount(rows * wide + scripts[letters], minlength=len(texts) * wide)
    together = np.bitwise_or.reduceat(marks, starts)
    return SideView(texts, lengths, together, counts.reshape(len(texts), wide))


def make_chunk(pairs: Sequence[Pair], table: CharacterTable) -> Chunk:
    """Put pairs, at least one, side by side."""
    numbers, sources, targets = zip(*pairs, strict=True)
    return Chunk(numbers, view(sources, table), view(targets, table))
