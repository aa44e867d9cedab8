"""Pairs sorted into cells, those of about the same two lengths, and which cells share a batch.

Shapes: N pairs, B some of them, C cells. A plan takes 4 bytes a pair, which may lie on disk.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.data.division import Division, Integers
from dragoman.data.store import ArrayFile

_BLOCK = 1_000_000  # pairs looked at together
_MANY = np.int64(2**31)  # more than any length


class Lengths(Protocol):
    """Tokens of pairs on both sides, added symbols included, wherever they are kept."""

    def __len__(self) -> int: ...

    def block(self, start: int, stop: int) -> Integers:
        """Give the lengths of pairs ``start`` to ``stop``, (2, stop - start)."""
        ...

    def at(self, pairs: Integers) -> Integers:
        """Give the lengths of some pairs, (2, B)."""
        ...


class KnownLengths:
    """Lengths held in memory.

    Args:
        source: of each source, (N,).
        target: of each target, (N,).

    Raises:
        ValueError: the sides differ in number.
    """

    def __init__(self, source: Integers, target: Integers) -> None:
        if len(source) != len(target):
            counts = f"{len(source)} sources and {len(target)} targets"
            raise ValueError(f"lengths: {counts} make no batches")
        self._both = np.stack([source, target]).astype(np.int32)

    def __len__(self) -> int:
        return self._both.shape[1]

    def block(self, start: int, stop: int) -> Integers:
        """Give the lengths of pairs ``start`` to ``stop``, (2, stop - start)."""
        return self._both[:, start:stop].astype(np.int64)

    def at(self, pairs: Integers) -> Integers:
        """Give the lengths of some pairs, (2, B)."""
        return self._both[:, pairs].astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanArrays:
    """A plan as arrays, which may lie on disk."""

    order: NDArray[np.integer] | ArrayFile  # all pairs, cell after cell, (N,)
    cells: Integers  # where each cell begins in the order, and the end of the last, (C + 1,)
    longest: Integers  # source and target of each cell, (2, C)
    cuts: Integers  # where each batch begins in the order, and the end of the last, (batches + 1,)


def find_plan(lengths: Lengths, *, budget: int) -> PlanArrays:
    """Find which lengths share a batch; see ``division`` for how.

    Args:
        lengths: of N pairs.
        budget: the most rows x longest row of each side; a pair longer than that is alone.

    Raises:
        ValueError: there is no pair, or a number is below 1.
    """
    if not len(lengths):
        raise ValueError("lengths: 0 sources and 0 targets make no batches")
    codes, counts, longest = _count_cells(lengths)
    if min(budget, int(longest.min())) < 1:
        raise ValueError("lengths and budget: must be at least 1")
    corners = np.stack(np.divmod(codes, _MANY))
    strips = Division(corners, counts, budget).best(np.arange(counts.size)).strips
    chosen = np.concatenate([strip.cells for strip in strips])
    cells = np.append(0, counts[chosen].cumsum())
    sizes = np.concatenate([strip.sizes for strip in strips])
    return PlanArrays(
        order=_sort_by_cell(lengths, codes, chosen, cells),
        cells=cells,
        longest=longest[:, chosen],
        cuts=np.append(0, sizes.cumsum()),
    )


def _count_cells(lengths: Lengths) -> tuple[Integers, Integers, Integers]:
    """Find all cells: their codes, rising, how many pairs each has, and the longest of each side.

    A code is the corner of a cell, source x 2^31 + target.
    """
    parts: list[tuple[Integers, Integers, Integers]] = []
    for start in range(0, len(lengths), _BLOCK):
        block = lengths.block(start, min(start + _BLOCK, len(lengths)))
        codes, inverse, counts = np.unique(_code(block), return_inverse=True, return_counts=True)
        longest = np.zeros((2, codes.size), dtype=np.int64)
        for side in (0, 1):
            np.maximum.at(longest[side], inverse, block[side])
        parts.append((codes, counts, longest))
    codes, inverse = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    counts = np.zeros(codes.size, dtype=np.int64)
    np.add.at(counts, inverse, np.concatenate([part[1] for part in parts]))
    longest = np.zeros((2, codes.size), dtype=np.int64)
    for side in (0, 1):
        np.maximum.at(longest[side], inverse, np.concatenate([part[2][side] for part in parts]))
    return codes, counts, longest


def _sort_by_cell(
    lengths: Lengths, codes: Integers, chosen: Integers, cells: Integers
) -> NDArray[np.integer]:
    """List the pairs of each cell in turn, those of a cell in order, (N,).

    Args:
        lengths: of all pairs.
        codes: of the cells, rising, (C,).
        chosen: which cell comes first, and so on, (C,).
        cells: where each of these begins, (C + 1,).
    """
    order = np.empty(len(lengths), dtype=np.int32 if len(lengths) < 2**31 else np.int64)
    place = np.empty(codes.size, dtype=np.int64)
    place[chosen] = np.arange(codes.size)
    free = cells[:-1].copy()  # where the next pair of each cell goes
    for start in range(0, len(lengths), _BLOCK):
        block = lengths.block(start, min(start + _BLOCK, len(lengths)))
        cell = place[np.searchsorted(codes, _code(block))]
        by_cell = np.argsort(cell, kind="stable")
        sorted_cells = cell[by_cell]
        within = np.arange(cell.size) - np.searchsorted(sorted_cells, sorted_cells)
        order[free[sorted_cells] + within] = start + by_cell
        free += np.bincount(cell, minlength=free.size)
    return order


def _code(lengths: Integers) -> Integers:
    source, target = _coarse(lengths)
    return source * _MANY + target


def _coarse(lengths: Integers) -> Integers:
    """Round lengths above 64 up by less than 1/32, so that the search has few to tell apart."""
    steps = 2 ** np.maximum(np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64) - 6, 0)
    return -(-lengths // steps) * steps
