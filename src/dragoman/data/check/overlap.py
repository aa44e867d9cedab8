"""Texts that several sets share: what was learnt from must not be asked again.

Only texts with letters count. Each side counts alone: a known source gives its translation away,
and a known target has been learnt as such.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from dragoman.data.check.characters import CharacterTable
from dragoman.data.check.chunk import Chunk, SideView
from dragoman.data.check.cleaned import Mended, mend_chunk
from dragoman.data.check.finding import Collector, Findings, Side
from dragoman.data.check.profile import chunks_of
from dragoman.data.check.seen import FirstSeen, Hashes, hashes_of
from dragoman.data.corpus import Pair


class KnownTexts:
    """Both sides of a set.

    Args:
        name: of the set, for details.
        only: remember these texts of the source and the target alone, by hash; all unless given.
    """

    def __init__(self, name: str, only: "Sequence[KnownTexts] | None" = None) -> None:
        self.name = name
        self._sides = FirstSeen(), FirstSeen()
        self._only = only

    def keep(self, chunk: Chunk, mended: Mended) -> None:
        """Remember the texts of a chunk."""
        for which, (at, hashes) in enumerate(_hashed(chunk, mended)):
            if self._only is not None:
                shared = np.zeros(len(at), bool)
                for other in self._only:
                    shared |= other.find(which, hashes) > 0
                at, hashes = at[shared], hashes[shared]
            numbers = np.asarray(chunk.numbers, np.int64)
            self._sides[which].add(hashes, numbers[at])

    def find(self, which: int, hashes: Hashes) -> Hashes:
        """Give the first line whose source (0) or target (1) has each hash, or 0, (N,)."""
        return self._sides[which].find(hashes)


def known_texts(name: str, pairs: Iterable[Pair], table: CharacterTable) -> KnownTexts:
    """Remember the texts of a held-out set."""
    known = KnownTexts(name)
    profile, chunks = chunks_of(pairs, table)
    for chunk in chunks:
        known.keep(chunk, mend_chunk(chunk, profile, Findings(0)))
    return known


def find_overlap(
    chunk: Chunk, mended: Mended, others: Iterable[KnownTexts], found: Collector
) -> None:
    """Note pairs with a side that another set has too."""
    names: tuple[Side, Side] = ("source", "target")
    details: dict[int, tuple[Side, str]] = {}
    sides = list(_hashed(chunk, mended))
    for other in others:
        for which, (at, hashes) in enumerate(sides):
            lines = other.find(which, hashes)
            for place in np.flatnonzero(lines).tolist():
                detail = f"{names[which]} as in {other.name} line {lines[place]:,}"
                details.setdefault(int(at[place]), (names[which], detail))
    chunk.note("overlap", details, found)


def _hashed(chunk: Chunk, mended: Mended) -> Iterable[tuple[Hashes, Hashes]]:
    """Give places in the chunk and hashes of the texts that hold letters, side by side."""
    pairs: tuple[tuple[SideView, list[str]], ...] = (
        (chunk.source, mended.source),
        (chunk.target, mended.target),
    )
    for view, texts in pairs:
        at = np.flatnonzero(view.letters.sum(1))
        yield at, hashes_of((texts[place] for place in at.tolist()), len(at))
