"""A plan of batches on disk, so that a large corpus need not be planned again."""

from contextlib import suppress
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from dragoman.atomic import new_file
from dragoman.data.cells import Lengths, PlanArrays, find_plan
from dragoman.data.planning import BatchPlan
from dragoman.data.store import ArrayFile

FORMAT = 1
_DAMAGED = (OSError, EOFError, ValueError, TypeError, LookupError, RuntimeError, BadZipFile)


def saved_plan(lengths: Lengths, *, budget: int, folder: Path | None, name: str) -> BatchPlan:
    """Read the plan of a store, or find it and write it there.

    Args:
        lengths: of all pairs.
        budget: as ``find_plan`` has it.
        folder: of the store; None keeps the plan in memory.
        name: what the lengths are, for the name of the file.

    Raises:
        ValueError: as ``find_plan`` does.
    """
    if folder is None:
        return BatchPlan(lengths, find_plan(lengths, budget=budget))
    path = folder / f"plan-{name}-{budget}.npz"
    arrays = _read(path, len(lengths))
    if arrays is None:
        found = find_plan(lengths, budget=budget)
        with suppress(OSError):  # nothing but time is lost
            _write(path, found)
        arrays = _read(path, len(lengths)) or found  # from the file, where it takes no memory
    return BatchPlan(lengths, arrays)


def _write(path: Path, arrays: PlanArrays) -> None:
    order = arrays.order[:]
    order = order.astype("<i4" if order.itemsize == 4 else "<i8")
    with new_file(path.with_suffix(".order")) as file:
        file.write(order.tobytes())
    with new_file(path) as file:
        np.savez(
            file,
            format=np.array([FORMAT, order.itemsize, order.size]),
            cells=arrays.cells,
            longest=arrays.longest,
            cuts=arrays.cuts,
        )


def _read(path: Path, pairs: int) -> PlanArrays | None:
    """Read a plan; None when there is none, or it is for another number of pairs."""
    try:
        # Opened here, since numpy does not close what it cannot read.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            number, itemsize, size = file["format"].tolist()
            cells, longest, cuts = file["cells"], file["longest"], file["cuts"]
        order = ArrayFile(path.with_suffix(".order"), f"<i{itemsize}")
    except _DAMAGED:
        return None
    if number != FORMAT or not size == order.size == pairs:
        return None
    return PlanArrays(order=order, cells=cells, longest=longest, cuts=cuts)
