"""Rotation of queries and keys by their positions (Su et al. 2021, arXiv 2104.09864).

The product of a rotated query and a rotated key depends on their offset alone.

Shapes: B sentences, H heads, L positions, Q query positions, K key positions, E width of a query
or key, F width of a value.
"""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from dragoman.nn.attention import AttentionKernel

RotaryLayout = Literal["half", "interleaved"]


def rotate(
    x: Tensor, positions: Tensor, *, layout: RotaryLayout = "half", base: float = 10_000.0
) -> Tensor:
    """Turn each pair of features by an angle that grows with the position (section 3.2.2).

    Pair i turns by position · base^(-2i/E). Angles are computed in float64 and the turn in float32
    at least, so that half precision is right at positions of any size.

    Args:
        x: queries or keys, (..., L, E).
        positions: integers, (L,).
        layout: ``half`` pairs feature i with i + E/2, ``interleaved`` 2i with 2i + 1, as the paper.
        base: wavelengths run from 2π to base · 2π.

    Returns:
        (..., L, E), in the dtype of ``x``.

    Raises:
        ValueError: E is odd, or ``layout`` is unknown.
    """
    _check(x.size(-1), layout)
    turns = _turns(positions.to(x.device), x.size(-1), base)
    return _turn(x, turns.to(_working(x.dtype)), layout)


class RotaryPositions(nn.Module):
    """Rotate queries and keys by their positions; no length limit, nothing to learn.

    Cosines and sines are kept for the positions met so far; made anew when a longer input comes,
    or one of another precision or device.

    Args:
        width: width E of a query and key, even.
        layout: see ``rotate``.
        base: see ``rotate``.

    Raises:
        ValueError: ``width`` is odd, or ``layout`` is unknown.
    """

    def __init__(
        self, width: int, *, layout: RotaryLayout = "half", base: float = 10_000.0
    ) -> None:
        super().__init__()
        _check(width, layout)
        self.width, self.base = width, base
        self.layout: RotaryLayout = layout
        # No buffer: casting the module there and back would leave a table rounded on the way.
        self.table = _turns(torch.arange(256), width, base).float()  # (2, L, E / 2)

    def turn(self, x: Tensor, start: int) -> Tensor:
        """Rotate ``x`` (B, H, L, E), which stands at positions start .. start + L - 1."""
        end, dtype = start + x.size(-2), _working(x.dtype)
        fits = self.table.dtype == dtype and self.table.device == x.device
        if end > self.table.size(1) or not fits:
            length = 1 << (max(end, self.table.size(1)) - 1).bit_length()
            # Multiplication keeps the table for the gradient, which inference tensors refuse.
            with torch.inference_mode(False):
                positions = torch.arange(length, device=x.device)
                self.table = _turns(positions, self.width, self.base).to(dtype)
        return _turn(x, self.table[:, start:end], self.layout)

    def attend(
        self,
        kernel: AttentionKernel,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        visible: Tensor | None,
        *,
        scale: float | None,
        dropout: float,
    ) -> Tensor:
        """Attend; queries and keys know their positions already; (B, H, Q, F)."""
        return kernel(q, k, v, visible, scale=scale, dropout=dropout)


def _check(width: int, layout: str) -> None:
    if width % 2:
        raise ValueError(f"width: {width} is odd; rotation turns pairs")
    if layout not in get_args(RotaryLayout):
        raise ValueError(f"layout: {layout!r} is neither 'half' nor 'interleaved'")


def _working(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _turns(positions: Tensor, width: int, base: float) -> Tensor:
    """Give cosines and sines of all angles, float64, (2, L, E / 2)."""
    pairs = torch.arange(0, width, 2, dtype=torch.float64, device=positions.device)
    angles = positions.double()[:, None] * base ** (-pairs / width)
    return torch.stack((angles.cos(), angles.sin()))


def _turn(x: Tensor, turns: Tensor, layout: RotaryLayout) -> Tensor:
    """Rotate the pairs of ``x`` (..., L, E) by ``turns`` (2, L, E / 2)."""
    cosines, sines = turns
    if layout == "half":
        first, second = x.chunk(2, dim=-1)
    else:
        first, second = x[..., 0::2], x[..., 1::2]
    turned = (first * cosines - second * sines, second * cosines + first * sines)
    if layout == "half":
        return torch.cat(turned, dim=-1).to(x.dtype)
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)
