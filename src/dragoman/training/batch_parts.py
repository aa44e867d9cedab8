"""Parts of a batch, and what the memory they need says of the whole.

Memory grows with rows as a straight line, and with width as a parabola, for the weights of
attention. Which step of forward and backward holds most changes with the size, and a loss may work
through many rows in turn, so a curve drawn from small parts is near the truth but not a bound. The
first part times the number of parts is one: whatever is held is held for each row, or once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from torch import Tensor

from dragoman.data import Batch, ImageBatch

FEW = 8  # rows below which a batch is cut in width


def shape_of(batch: Any) -> str:  # Any: each task has its own
    """Say in words how large a batch is."""
    rows = len(batch.examples)
    if isinstance(batch, Batch):
        source, target = batch.source.size(1), batch.target_in.size(1)
        return f"{rows:,} rows x {source:,} source x {target:,} target pieces"
    if isinstance(batch, ImageBatch):
        return f"{rows:,} images"
    return f"{rows:,} rows x {width_of(batch):,} pieces"


def parts_of(batch: Any) -> Iterator[tuple[int, Any]]:
    """Cut parts of a batch, each twice as large as the one before, with their sizes.

    The largest batches have their longest rows first, so the first rows are as wide as all.
    """
    if cut_by_rows(batch):
        rows, size = len(batch.examples), 2
        while size < rows:
            yield size, batch.rows(np.arange(size))
            size *= 2
        return
    width = width_of(batch)
    for size in (width // 16, width // 8, width // 4, width // 2):
        if size:
            yield size, _narrowed(batch, size / width)


def cut_by_rows(batch: Any) -> bool:
    """Whether parts of a batch have fewer rows, not shorter ones."""
    return len(batch.examples) >= FEW or isinstance(batch, ImageBatch)


def _narrowed(batch: Any, share: float) -> Any:
    """Keep the first columns of every table of ids; what a row says then does not matter."""
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}
    tables = {key: x for key, x in values.items() if isinstance(x, Tensor) and x.dim() == 2}
    return replace(
        batch, **{key: x[:, : max(1, round(x.size(1) * share))] for key, x in tables.items()}
    )


def width_of(batch: Any) -> int:
    """Give the longest row of any table of ids."""
    values = [getattr(batch, field.name) for field in fields(batch)]
    return max(x.size(1) for x in values if isinstance(x, Tensor) and x.dim() >= 2)


def extrapolate(points: Sequence[tuple[float, float]], degree: int, at: float) -> float:
    """Draw a curve through the last points; give its height, at least that of the last."""
    sizes, heights = zip(*points[-degree - 1 :], strict=True)
    return max(heights[-1], float(np.polyval(np.polyfit(sizes, heights, degree), at)))
