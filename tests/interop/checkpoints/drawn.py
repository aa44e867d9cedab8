"""Weights drawn by their names, the same here and where the trainers' own code ran."""

import zlib
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor


def drawn(name: str, shape: Sequence[int]) -> Tensor:
    """Draw one weight, large enough that each matters; gains lie around one."""
    rng = np.random.RandomState(zlib.crc32(name.encode()))
    gain = "norm" in name and name.endswith("weight")
    values = rng.standard_normal(tuple(shape)) * 0.4 + (1.0 if gain else 0.0)
    return torch.tensor(values, dtype=torch.float32)


def drawn_state(shapes: Mapping[str, Sequence[int]], same: Mapping[str, str]) -> dict[str, Tensor]:
    """Draw a state; ``same`` says which names have the weight of another."""
    return {name: drawn(same.get(name, name), shape) for name, shape in shapes.items()}
