"""Which pairs share a batch: similar lengths, full budgets, little padding (section 5.1).

A length counts the symbol each side gains. A budget bounds rows x longest row of each side;
whatever of that is not a token is padding. Shapes: N pairs, B pairs of one batch.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

BATCH_COST = 0.3  # of a budget: the padding that one batch more must save, measured on Multi30k
SEARCHED = 32  # a region of at most so many batches is searched, a larger one only halved


def plan_batches(
    source_lengths: Integers, target_lengths: Integers, *, budget: int, rng: np.random.Generator
) -> list[Integers]:
    """Make the batches of one epoch; see ``BatchPlan``, which makes many from one search."""
    return BatchPlan(source_lengths, target_lengths, budget=budget).deal(rng)


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
        rows = _capacity(int(tokens[order[start]]), budget)
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


class BatchPlan:
    """How many pairs of which lengths share a batch; found once, dealt anew in each epoch.

    A pair is a point in the plane of source and target length, a batch a rectangle to whose upper
    corner its pairs are padded. The plane is cut in two between two lengths of one side, and the
    parts again, as a k-d tree does (Bentley 1975), until a part is best taken as one strip.

    Args:
        source_lengths: tokens of each source, added symbol included, (N,).
        target_lengths: the same of each target, (N,).
        budget: the most rows x longest row of each side; a pair longer than that is alone.

    Raises:
        ValueError: there is no pair, a number is below 1, or the sides differ in number.
    """

    def __init__(self, source_lengths: Integers, target_lengths: Integers, *, budget: int) -> None:
        if len(source_lengths) != len(target_lengths) or not len(source_lengths):
            counts = f"{len(source_lengths)} sources and {len(target_lengths)} targets"
            raise ValueError(f"lengths: {counts} make no batches")
        if min(budget, source_lengths.min(), target_lengths.min()) < 1:
            raise ValueError("lengths and budget: must be at least 1")
        self._lengths = np.stack([source_lengths, target_lengths]).astype(np.int32)
        sources, targets = _coarse(source_lengths), _coarse(target_lengths)
        wide = int(targets.max()) + 1
        codes, self._cell, counts = np.unique(
            sources * wide + targets, return_inverse=True, return_counts=True
        )
        cells = np.stack([codes // wide, codes % wide])
        strips = _Division(cells, counts, budget).best(np.arange(counts.size)).strips
        order = np.concatenate([strip.cells for strip in strips])
        firsts = (counts.cumsum() - counts)[order]  # of each cell, in the pairs sorted by cell
        shifts = np.repeat(firsts - (counts[order].cumsum() - counts[order]), counts[order])
        self._places = shifts + np.arange(shifts.size)  # of each batch in turn, in the same
        self._cuts = np.concatenate([strip.sizes for strip in strips]).cumsum()[:-1]

    def __len__(self) -> int:
        return self._cuts.size + 1

    def deal(self, rng: np.random.Generator | None = None) -> list[Integers]:
        """Give each batch its pairs, as indices, (B,) each; every pair is in exactly one batch.

        Args:
            rng: shuffles the batches, and which pairs of the same lengths go where; without it
                batches of similar lengths stay together and pairs of the same lengths in order.
        """
        pairs = np.arange(self._cell.size) if rng is None else rng.permutation(self._cell.size)
        by_cell = pairs[np.argsort(self._cell[pairs], kind="stable")]
        batches = np.split(by_cell[self._places], self._cuts)
        return batches if rng is None else [batches[i] for i in rng.permutation(len(batches))]

    def shapes(self) -> Shapes:
        """Bound the shape of each batch by its cells, since only pairs of a cell change places."""
        longest = np.zeros((2, int(self._cell.max()) + 1), dtype=np.int64)
        for side in (0, 1):
            np.maximum.at(longest[side], self._cell, self._lengths[side])
        starts = np.append(0, self._cuts)
        source, target = np.maximum.reduceat(longest[:, self._cells()], starts, axis=1)
        return Shapes(np.diff(np.append(starts, self._places.size)), source, target)

    def heaviest(self, number: int) -> Integers:
        """Choose pairs that give batch ``number`` of ``shapes`` all of its size, (B,).

        They are the longest of its cells. If neither they nor a deal need hold the longest source
        and the longest target together, two of them give way to those.
        """
        cells, counts = np.unique(np.split(self._cells(), self._cuts)[number], return_counts=True)
        pool = np.flatnonzero(np.isin(self._cell, cells))
        pool = pool[np.argsort(-self._lengths[:, pool].sum(0), kind="stable")]
        by_cell = pool[np.argsort(self._cell[pool], kind="stable")]
        cell = self._cell[by_cell]
        place = np.arange(cell.size) - np.searchsorted(cell, cell)  # within the cell
        chosen = by_cell[place < counts[np.searchsorted(cells, cell)]]
        if chosen.size == 1:
            return chosen
        longest = np.unique(pool[self._lengths[:, pool].argmax(1)])
        others = pool[np.isin(pool, chosen) & ~np.isin(pool, longest)]
        return np.concatenate([longest, others])[: chosen.size]

    def _cells(self) -> Integers:
        """Name the cell of each pair of each batch in turn, (N,)."""
        return np.sort(self._cell)[self._places]


class _Strip(NamedTuple):
    """Cells in a line, longest first, and how many pairs each batch takes from it."""

    cells: Integers
    sizes: list[int]


class _Choice(NamedTuple):
    cost: float  # tokens and padding of both sides, and BATCH_COST for each batch
    strips: tuple[_Strip, ...]


class _Division:
    """The search for a cheap way to cut the plane; a cell is all pairs of the same two lengths."""

    def __init__(self, lengths: Integers, counts: Integers, budget: int) -> None:
        self.lengths = lengths  # of source and target, (2, cells)
        self.counts = counts  # pairs in each cell
        self.budget = budget
        self.known: dict[tuple[int, ...], _Choice] = {}

    def best(self, cells: Integers) -> _Choice:
        """Find the cheapest way to take all cells of a rectangle."""
        lengths, counts = self.lengths[:, cells], self.counts[cells]
        low, high = lengths.min(1), lengths.max(1)
        bounds = (*low.tolist(), *high.tolist())
        if bounds not in self.known:
            batches = float(counts @ lengths.max(0)) / self.budget  # it takes no fewer
            if batches > SEARCHED and cells.size > 1:
                mean = lengths @ counts / counts.sum()
                spread = (lengths - mean[:, None]) ** 2 @ counts
                choices = [self._halves(cells, int(spread.argmax()))]
            else:
                choices = [self._strip(cells, side) for side in (0, 1)]
                # Two parts cost at least their tokens and two batches.
                least = float(counts @ lengths.sum(0))
                least += max(2.0, batches) * BATCH_COST * self.budget
                if min(choice.cost for choice in choices) > least:
                    sides = np.flatnonzero(low < high).tolist()
                    choices += [self._halves(cells, side) for side in sides]
            self.known[bounds] = min(choices, key=lambda choice: choice.cost)
        return self.known[bounds]

    def _halves(self, cells: Integers, side: int) -> _Choice:
        """Cut between two lengths of one side, so that both parts hold about as many pairs."""
        lengths = self.lengths[side, cells]
        low = lengths.min()
        pairs = np.bincount(lengths - low, self.counts[cells]).cumsum()
        cut = low + np.abs(pairs[:-1] - pairs[-1] / 2).argmin()
        shorter, longer = self.best(cells[lengths <= cut]), self.best(cells[lengths > cut])
        return _Choice(shorter.cost + longer.cost, shorter.strips + longer.strips)

    def _strip(self, cells: Integers, side: int) -> _Choice:
        """Put pairs in a line by the length of one side, and cut the line into batches."""
        lengths, others = self.lengths[side, cells], self.lengths[1 - side, cells]
        order = np.lexsort((-others, -lengths))
        steps, first = np.unique(-lengths[order], return_index=True)
        ends = np.append(
            self.counts[cells[order]].cumsum()[first[1:] - 1], self.counts[cells].sum()
        )
        cost, sizes = _cut_strip(
            (-steps).tolist(), ends.tolist(), other=int(others.max()), budget=self.budget
        )
        return _Choice(cost, (_Strip(cells[order], sizes),))


def _cut_strip(
    lengths: list[int], ends: list[int], *, other: int, budget: int
) -> tuple[float, list[int]]:
    """Cut a line of pairs into batches at least cost, as the shortest path from end to end.

    A batch is full, or ends where a length does or so that full batches do.

    Args:
        lengths: those of one side, falling.
        ends: how many pairs are of each length or longer.
        other: longest of the other side.
        budget: the most rows x longest row of each side.

    Returns:
        The cost, and the pairs in each batch.
    """
    rows = [_capacity(max(length, other), budget) for length in lengths]
    runs = zip([0, *ends], ends, rows, strict=False)
    stops = sorted(stop for first, end, full in runs for stop in range(end, first, -full))
    cost, previous, waiting = {0: 0.0}, {0: 0}, [0]
    while (start := heappop(waiting)) < ends[-1]:
        step = bisect_right(ends, start)
        full = min(start + rows[step], ends[-1])
        for stop in (*stops[bisect_right(stops, start) : bisect_left(stops, full)], full):
            slots = (stop - start) * (lengths[step] + other)
            reached = cost[start] + slots + BATCH_COST * budget
            if stop not in cost:
                heappush(waiting, stop)
            if reached < cost.get(stop, math.inf):
                cost[stop], previous[stop] = reached, start
    sizes: list[int] = []
    while start:
        sizes.append(start - previous[start])
        start = previous[start]
    return cost[ends[-1]], sizes[::-1]


def _coarse(lengths: Integers) -> Integers:
    """Round lengths above 64 up by less than 1/32, so that the search has few to tell apart."""
    steps = 2 ** np.maximum(np.ceil(np.log2(lengths)).astype(np.int64) - 6, 0)
    return -(-lengths.astype(np.int64) // steps) * steps


def _capacity(longest: int, budget: int) -> int:
    """Rows that fit, and one that does not when it must."""
    return max(1, budget // max(1, longest))
