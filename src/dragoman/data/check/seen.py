"""Which line had a text first, for corpora of any size: 16 bytes a line, no texts.

Hashes of 64 bits stand for texts: among 10 million lines the chance that any two are taken for each
other is 3 in a million.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.int64]


def hashes_of(texts: Iterable[object], count: int) -> Hashes:
    """Hash texts or pairs of them, (N,); the same within a process only."""
    return np.fromiter(map(hash, texts), np.int64, count)


class FirstSeen:
    """Lines by hash, in sorted runs of doubling size: the logarithm of all lines to search."""

    def __init__(self) -> None:
        self._runs: list[tuple[Hashes, Hashes]] = []

    def find(self, hashes: Hashes) -> Hashes:
        """Give the line that each hash was added with first, or 0, (N,)."""
        lines = np.zeros(len(hashes), np.int64)
        for known, first in self._runs:
            at = np.searchsorted(known, hashes)
            at[at == len(known)] = 0
            hit = (known[at] == hashes) & (lines == 0)
            lines[hit] = first[at[hit]]
        return lines

    def add(self, hashes: Hashes, lines: Hashes) -> Hashes:
        """Add hashes with rising line numbers, (N,) each.

        Returns:
            For each the line that had the same hash first, or 0, (N,).
        """
        before = self.find(hashes)
        unique, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        inside = lines[first][inverse.ravel()]
        before = np.where((before == 0) & (inside != lines), inside, before)
        new = before[first] == 0
        self._insert(unique[new], lines[first[new]])
        return before

    def _insert(self, hashes: Hashes, lines: Hashes) -> None:
        if not len(hashes):
            return
        while self._runs and len(self._runs[-1][0]) <= 2 * len(hashes):
            more, their_lines = self._runs.pop()
            hashes, lines = np.concatenate((hashes, more)), np.concatenate((lines, their_lines))
            order = np.argsort(hashes, kind="stable")
            hashes, lines = hashes[order], lines[order]
        self._runs.append((hashes, lines))
