"""The search for a cheap way to cut pairs, as points in the plane of their lengths, into batches.

A batch is a rectangle to whose upper corner its pairs are padded. The plane is cut in two between
two lengths of one side, and the parts again, as a k-d tree does (Bentley 1975), until a part is
best taken as one strip.
"""

import math
from bisect import bisect_left, bisect_right
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

BATCH_COST = 0.3  # of a budget: the padding that one batch more must save, measured on Multi30k
SEARCHED = 32  # a region of at most so many batches is searched, a larger one only halved


class Strip(NamedTuple):
    """Cells in a line, longest first, and how many pairs each batch takes from it."""

    cells: Integers
    sizes: list[int]


class Choice(NamedTuple):
    """A way to cut a region, and what it costs."""

    cost: float  # tokens and padding of both sides, and BATCH_COST for each batch
    strips: tuple[Strip, ...]


class Division:
    """The search for a cheap way to cut the plane; a cell is all pairs of the same two lengths.

    Args:
        lengths: of source and target in each cell, (2, C).
        counts: pairs in each cell, (C,).
        budget: the most rows x longest row of each side.
    """

    def __init__(self, lengths: Integers, counts: Integers, budget: int) -> None:
        self.lengths = lengths
        self.counts = counts
        self.budget = budget
        self.known: dict[tuple[int, ...], Choice] = {}

    def best(self, cells: Integers) -> Choice:
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

    def _halves(self, cells: Integers, side: int) -> Choice:
        """Cut between two lengths of one side, so that both parts hold about as many pairs."""
        lengths = self.lengths[side, cells]
        low = lengths.min()
        pairs = np.bincount(lengths - low, self.counts[cells]).cumsum()
        cut = low + np.abs(pairs[:-1] - pairs[-1] / 2).argmin()
        shorter, longer = self.best(cells[lengths <= cut]), self.best(cells[lengths > cut])
        return Choice(shorter.cost + longer.cost, shorter.strips + longer.strips)

    def _strip(self, cells: Integers, side: int) -> Choice:
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
        return Choice(cost, (Strip(cells[order], sizes),))


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
    rows = [capacity(max(length, other), budget) for length in lengths]
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


def capacity(longest: int, budget: int) -> int:
    """Count the rows that fit, and one that does not when it must."""
    return max(1, budget // max(1, longest))
