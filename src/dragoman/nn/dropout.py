"""Dropout (section 5.4; Srivastava et al. 2014) that does not wait for random numbers.

On a CPU PyTorch's own dropout spends most of its time drawing one number per element. Here one
64-bit random integer decides four elements, so p is kept to 1/65536. It draws from PyTorch's
default generator, whose state a checkpoint keeps; the stream differs from ``F.dropout``.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def dropout_mask(x: Tensor, p: float) -> Tensor:
    """Draw the factors of inverted dropout: 0 with chance ``p``, otherwise 1 / (1 - p).

    Args:
        x: gives shape, dtype and device.
        p: chance in [0, 1), kept to a multiple of 1/65536.

    Returns:
        A tensor like ``x``.
    """
    return kept(x, p).mul_(1 / (1 - p))


def kept(x: Tensor, p: float) -> Tensor:
    """Draw what stays: 0 with chance ``p``, otherwise 1; arguments as for ``dropout_mask``."""
    words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64, device=x.device)
    draws = words.random_(-(2**63), None).view(torch.int16)[: x.numel()].view(x.shape)
    return torch.ge(draws, round(p * 65536) - 32768, out=torch.empty_like(x))


class Dropout(nn.Module):
    """Drop elements in training and scale the rest up; the identity in evaluation.

    Args:
        p: chance in [0, 1) that an element is dropped.

    Raises:
        ValueError: ``p`` is outside [0, 1).
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout: {p} is not in [0, 1)")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Drop elements of ``x``, of any shape."""
        if self.p == 0 or not self.training:
            return x
        if x.device.type == "cpu":
            return x * dropout_mask(x, self.p)
        return F.dropout(x, self.p)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Give x + Dropout(y) in one pass over memory; both of one shape."""
        if self.p == 0 or not self.training or y.device.type != "cpu":
            return x + self(y)
        return torch.addcmul(x, y, kept(y, self.p), value=1 / (1 - self.p))
