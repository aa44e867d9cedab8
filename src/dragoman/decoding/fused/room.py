"""Memory that is taken once and used again: what a worker computes in."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

MOST_VIEWS = 4_096  # that are kept; a batch needs some hundreds


class Room:
    """Named buffers that grow to the most ever asked for, each seen by torch and by NumPy."""

    def __init__(self) -> None:
        self._held: dict[str, Tensor] = {}
        self._views: dict[tuple[str, int, int, torch.dtype], tuple[Tensor, Any]] = {}

    def get(self, name: str, rows: int, width: int, dtype: torch.dtype) -> tuple[Tensor, Any]:
        """Give a buffer (rows, width) as a tensor and as an array of the same memory.

        What it held before is kept as far as the width stays the same and the memory suffices.
        """
        known = self._views.get((name, rows, width, dtype))
        if known is not None:
            return known
        held = self._held.get(name)
        if held is None or held.dtype != dtype or held.numel() < rows * width:
            held = torch.empty(rows * width, dtype=dtype)
            self._held[name] = held
            self._views = {key: view for key, view in self._views.items() if key[0] != name}
        if len(self._views) > MOST_VIEWS:
            self._views = {}
        view = held[: rows * width].view(rows, width)
        self._views[name, rows, width, dtype] = view, as_array(view)
        return self._views[name, rows, width, dtype]


def as_array(tensor: Tensor) -> Any:
    """See the memory of a tensor as an array; bfloat16 as uint16, which NumPy has."""
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16)
    return tensor.numpy()
