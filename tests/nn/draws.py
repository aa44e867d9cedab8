"""Random tensors and masks for attention, the same for the same seed."""

import torch
from torch import Tensor


def random(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def random_mask(shape: tuple[int, ...], seed: int) -> Tensor:
    """Hide some 40 per cent, so that a few queries see nothing."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.6
