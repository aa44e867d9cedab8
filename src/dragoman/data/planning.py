"""Which pairs share a batch: similar lengths, full budgets, little padding (section 5.1).

A length counts the symbol each side gains. A budget bounds rows x longest row of each side;
whatever of that is not a token is padding. Shapes: N pairs, B pairs of one batch, C cells.

A plan is found once and dealt anew in each epoch. It takes 4 bytes a pair, which may lie on disk,
and some numbers a batch; a deal takes 8 bytes a batch, since which pairs a batch holds is computed
when they are asked for.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from dragoman.data.cells import KnownLengths, Lengths, PlanArrays, find_plan
from dragoman.data.division import Integers, capacity
from dragoman.data.shuffling import shuffled

_EXACT = 64  # lengths up to this are told apart one by one


def plan_batches(
    source_lengths: Integers, target_lengths: Integers, *, budget: int, rng: np.random.Generator
) -> list[Integers]:
    """Make the batches of one epoch; see ``BatchPlan``, which makes many from one search."""
    return list(BatchPlan.of(source_lengths, target_lengths, budget=budget).deal(rng))


def group_by_length(lengths: Sequence[int] | Integers, budget: int) -> list[Integers]:
    """Group inputs to decode, longest first.

    Returns:
        Indices of each batch; rows x longest row is at most ``budget``, unless a row alone is
        longer. Inputs of equal length keep their order.
    """
    tokens = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-tokens, kind="stable")
    batches: list[Integers] = []
    start = 0
    while start < order.size:
        rows = capacity(int(tokens[order[start]]), budget)
        batches.append(order[start : start + rows])
        start += rows
    return batches


class Shapes(NamedTuple):
    """The most that each batch of a plan can hold, each (batches,); 0 for a side it has not."""

    rows: Integers
    source: Integers  # longest row
    target: Integers

    def largest(self, count: int) -> list[int]:
        """Name batches that need much memory, by slots, squares and target slots in turn."""
        longest = np.maximum(self.source, self.target)
        sizes = (
            self.rows * (self.source + self.target),
            self.rows * longest**2,  # the weights of attention
            self.rows * self.target,  # each has a score for every piece of the vocabulary
        )
        orders = [np.argsort(-size, kind="stable") for size in sizes]
        chosen: list[int] = []
        while len(chosen) < min(count, self.rows.size):
            order = orders[len(chosen) % len(orders)]
            chosen.append(next(int(number) for number in order if number not in chosen))
        return chosen


class Dealt(Protocol):
    """The examples of each batch of an epoch, (B,) each."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Integers: ...

    def __iter__(self) -> Iterator[Integers]: ...


class BatchPlan:
    """How many pairs of which lengths share a batch; found once, dealt anew in each epoch.

    Pairs of about the same two lengths are a cell. Batches are runs of cells, or of parts of cells;
    in each epoch pairs change places within their cell, and batches among each other.

    Args:
        lengths: of all pairs.
        arrays: the plan for them; ``find_plan`` finds one.
    """

    def __init__(self, lengths: Lengths, arrays: PlanArrays) -> None:
        self._lengths, self._arrays = lengths, arrays

    @classmethod
    def of(cls, source_lengths: Integers, target_lengths: Integers, *, budget: int) -> "BatchPlan":
        """Plan for lengths in memory.

        Args:
            source_lengths: tokens of each source, added symbol included, (N,).
            target_lengths: the same of each target, (N,).
            budget: as ``find_plan`` has it.

        Raises:
            ValueError: there is no pair, a number is below 1, or the sides differ in number.
        """
        lengths = KnownLengths(source_lengths, target_lengths)
        return cls(lengths, find_plan(lengths, budget=budget))

    def __len__(self) -> int:
        return self._arrays.cuts.size - 1

    def deal(self, rng: np.random.Generator | None = None) -> Dealt:
        """Give each batch its pairs, as indices, (B,) each; every pair is in exactly one batch.

        Args:
            rng: shuffles the batches, and which pairs of the same lengths go where; without it
                batches of similar lengths stay together and pairs of the same lengths in order.
        """
        if rng is None:
            return _Deal(self._arrays, np.arange(len(self)), None)
        key = rng.integers(2**64, dtype=np.uint64)
        return _Deal(self._arrays, rng.permutation(len(self)), key)

    def shapes(self) -> Shapes:
        """Bound the shape of each batch by its cells, since only pairs of a cell change places."""
        cuts, cells = self._arrays.cuts, self._arrays.cells
        first = np.searchsorted(cells, cuts[:-1], side="right") - 1
        last = np.searchsorted(cells, cuts[1:], side="left")  # one further on
        bounds = np.stack([first, last], axis=1).ravel()
        padded = np.append(self._arrays.longest, np.zeros((2, 1), dtype=np.int64), axis=1)
        source, target = np.maximum.reduceat(padded, bounds, axis=1)[:, ::2]
        return Shapes(np.diff(cuts), source, target)

    def heaviest(self, number: int) -> Integers:
        """Choose pairs that give batch ``number`` of ``shapes`` all of its size, (B,).

        They are the longest of its cells. If neither they nor a deal need hold the longest source
        and the longest target together, two of them give way to those.
        """
        begin, end = self._arrays.cuts[number : number + 2].tolist()
        chosen: list[Integers] = []
        pool: list[Integers] = []
        for cell, count in self._cells_of(begin, end):
            pairs = self._longest_first(cell, count)
            chosen.append(pairs[:count])
            pool.append(pairs)
        together = np.concatenate(chosen)
        if together.size == 1:
            return together
        everyone = np.concatenate(pool)
        longest = np.unique(everyone[self._lengths.at(everyone).argmax(1)])
        others = together[~np.isin(together, longest)]
        return np.concatenate([longest, others])[: together.size]

    def _cells_of(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Name the cells in a stretch of the order, and how many pairs each has there."""
        cells = self._arrays.cells
        cell = int(np.searchsorted(cells, begin, side="right")) - 1
        while begin < end:
            stop = min(end, int(cells[cell + 1]))
            yield cell, stop - begin
            begin, cell = stop, cell + 1

    def _longest_first(self, cell: int, count: int) -> Integers:
        """Give the pairs of a cell by falling length; no more than ``count`` if all are alike."""
        begin, end = self._arrays.cells[cell : cell + 2].tolist()
        if self._arrays.longest[:, cell].max() <= _EXACT:
            return self._arrays.order[begin : begin + count].astype(np.int64)
        pairs = self._arrays.order[begin:end].astype(np.int64)
        return pairs[np.argsort(-self._lengths.at(pairs).sum(0), kind="stable")]


class _Deal:
    """The batches of one epoch, each made when it is asked for."""

    def __init__(self, arrays: PlanArrays, batches: Integers, key: np.uint64 | None) -> None:
        self._arrays, self._batches, self._key = arrays, batches, key

    def __len__(self) -> int:
        return self._batches.size

    def __iter__(self) -> Iterator[Integers]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, index: int) -> Integers:
        if not 0 <= index < len(self):
            raise IndexError(f"batch {index} of {len(self)}")
        batch = int(self._batches[index])
        begin, end = self._arrays.cuts[batch : batch + 2].tolist()
        places = np.arange(begin, end, dtype=np.int64)
        if self._key is not None:
            cell = np.searchsorted(self._arrays.cells, places, side="right") - 1
            first = self._arrays.cells[cell]
            sizes = self._arrays.cells[cell + 1] - first
            keys = self._key + cell.astype(np.uint64) * np.uint64(2**32 + 1)
            places = first + shuffled(places - first, sizes, keys)
        return self._arrays.order[places].astype(np.int64)
