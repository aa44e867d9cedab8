"""All ways to cut words into pieces, at once: the sums that unigram learning needs.

A word of n characters has n + 1 places, and an edge for each piece that leads from one place to a
later one. A path from the first place to the last is a segmentation. Sums over all of them take one
step for each place (forward-backward, Kudo 2018, arXiv 1804.10959, section 3.2); here a step
treats all words together. ``every_cut`` is the slow twin that lists the paths.

Shapes: E edges of all words together, N places, P pieces, W words.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LONGEST_PIECE = 16  # characters, as in SentencePiece


def every_cut(word: str, pieces: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """List all segmentations of a word, one by one: exponentially many."""
    known = frozenset(pieces)
    if not word:
        yield ()
    for end in range(1, len(word) + 1):
        if word[:end] in known:
            for rest in every_cut(word[end:], known):
                yield (word[:end], *rest)


@dataclass(frozen=True)
class Lattices:
    """The edges of many words.

    Args:
        starts: place where each edge begins, counted over all words, (E,).
        ends: place where it ends, (E,).
        pieces: number of its piece, (E,).
        words: number of its word, (E,).
        first: first place of each word, (W,).
        last: last place of each word, (W,).
    """

    starts: Integers
    ends: Integers
    pieces: Integers
    words: Integers
    first: Integers
    last: Integers

    @classmethod
    def of(cls, words: Sequence[str], numbers: Mapping[str, int]) -> "Lattices":
        """Find the edges.

        Args:
            words: at least one; none empty.
            numbers: of the pieces; those longer than ``LONGEST_PIECE`` are not looked for.
        """
        edges = array("q")
        offset = 0
        for index, word in enumerate(words):
            length = len(word)
            for start in range(length):
                for end in range(start + 1, min(length, start + LONGEST_PIECE) + 1):
                    number = numbers.get(word[start:end])
                    if number is not None:
                        edges.extend((offset + start, offset + end, number, index))
            offset += length + 1
        table = np.array(edges, np.int64).reshape(-1, 4).T
        lengths = np.array([len(word) for word in words], np.int64)
        last = np.cumsum(lengths + 1) - 1
        return cls(table[0], table[1], table[2], table[3], last - lengths, last)

    def chosen(self, edges: NDArray[np.bool_]) -> "Lattices":
        """Keep the edges that are marked, (E,)."""
        return Lattices(
            self.starts[edges],
            self.ends[edges],
            self.pieces[edges],
            self.words[edges],
            self.first,
            self.last,
        )

    def renumbered(self, numbers: Integers) -> "Lattices":
        """Give each piece another number, (P,); the edges of pieces with -1 go."""
        kept = self.chosen(numbers[self.pieces] >= 0)
        pieces = numbers[kept.pieces]
        return Lattices(kept.starts, kept.ends, pieces, kept.words, self.first, self.last)

    def expected_counts(self, scores: Floats, weights: Floats) -> Floats:
        """Say how often each piece is used on average over all segmentations.

        A segmentation is as probable as its pieces multiplied, relative to all others of its word.

        Args:
            scores: log probability of each piece, (P,).
            weights: how often each word occurs, (W,).

        Returns:
            Expected counts, (P,).
        """
        before = self._sums(self.starts, self.ends, self._forward, self.first, scores)
        after = self._sums(self.ends, self.starts, self._backward, self.last, scores)
        whole = before[self.last][self.words]
        through = before[self.starts] + scores[self.pieces] + after[self.ends] - whole
        used = np.exp(through) * weights[self.words]
        return np.bincount(self.pieces, used, len(scores)).astype(np.float64)

    def best_scores(self, scores: Floats) -> Floats:
        """Give the log probability of the best segmentation of each word, (W,); -inf for none."""
        best = self._sums(self.starts, self.ends, self._forward, self.first, scores, best=True)
        return best[self.last]

    @cached_property
    def _forward(self) -> list[Integers]:
        return _by_distance(self.ends - self.first[self.words], self.ends)

    @cached_property
    def _backward(self) -> list[Integers]:
        return _by_distance(self.last[self.words] - self.starts, self.starts)

    def _sums(
        self,
        sources: Integers,
        goals: Integers,
        steps: Sequence[Integers],
        begin: Integers,
        scores: Floats,
        *,
        best: bool = False,
    ) -> Floats:
        """Sum the paths to each place, or take the best, in logarithms, (N,)."""
        sums = np.full(int(self.last[-1]) + 1, -np.inf)
        sums[begin] = 0.0
        for edges in steps:
            values = sums[sources[edges]] + scores[self.pieces[edges]]
            at = goals[edges]
            runs = np.flatnonzero(np.diff(at, prepend=-1))  # where the next place begins
            found = np.maximum.reduceat(values, runs)
            if not best:
                shift = np.maximum(found, -1e300)  # no path: -inf minus -inf is no number
                shares = np.exp(values - np.repeat(shift, np.diff(runs, append=len(at))))
                with np.errstate(divide="ignore"):
                    found = shift + np.log(np.add.reduceat(shares, runs))
            sums[at[runs]] = found
        return sums


def _by_distance(distance: Integers, places: Integers) -> list[Integers]:
    """Group edges that can be followed in one step, each sorted by the place they lead to."""
    order = np.lexsort((places, distance))
    cuts = np.flatnonzero(np.diff(distance[order])) + 1
    return [group for group in np.split(order, cuts) if len(group)]
