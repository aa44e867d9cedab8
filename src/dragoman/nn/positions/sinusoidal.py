"""Sinusoidal positions (section 3.5).

Shapes: B sentences, L positions, D model width.
"""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

SinusoidLayout = Literal["interleaved", "halves"]
SinusoidRate = Literal["paper", "tensor2tensor"]


def sinusoids(
    positions: Tensor,
    d_model: int,
    *,
    base: float = 10_000.0,
    layout: SinusoidLayout = "interleaved",
    rate: SinusoidRate = "paper",
) -> Tensor:
    """Encode positions as sines and cosines (section 3.5).

    PE(pos, 2i) = sin(pos / base^(2i/D)) and PE(pos, 2i+1) = cos(pos / base^(2i/D)).

    Args:
        positions: integers, (L,).
        d_model: width D, even.
        base: wavelengths run from 2π to base · 2π.
        layout: ``interleaved`` as the formula numbers them; ``halves`` puts all sines before all
            cosines, a permutation of the columns that some checkpoints use.
        rate: ``paper`` as the formula says; ``tensor2tensor`` divides by base^(i / (D/2 - 1)), so
            that the last pair has the wavelength base · 2π itself, as in the code of the authors.

    Returns:
        float64, (L, D).

    Raises:
        ValueError: ``d_model`` is odd or too small for ``rate``, or a choice is unknown.
    """
    if d_model % 2:
        raise ValueError(f"d_model: {d_model} is odd; sinusoids come in pairs")
    if rate not in get_args(SinusoidRate):
        raise ValueError(f"rate: {rate!r} is neither 'paper' nor 'tensor2tensor'")
    if rate == "tensor2tensor" and d_model < 4:
        raise ValueError(f"d_model: {d_model} has one pair, and this rate runs over two or more")
    if layout not in get_args(SinusoidLayout):
        raise ValueError(f"layout: {layout!r} is neither 'interleaved' nor 'halves'")
    pairs = torch.arange(d_model // 2, dtype=torch.float64, device=positions.device)
    steps = d_model / 2 if rate == "paper" else d_model / 2 - 1
    angles = positions.double()[:, None] / base ** (pairs / steps)  # (L, D / 2)
    sines, cosines = angles.sin(), angles.cos()
    if layout == "halves":
        return torch.cat((sines, cosines), dim=-1)  # (L, D)
    return torch.stack((sines, cosines), dim=-1).flatten(1)  # (L, D)


class SinusoidalPositions(nn.Module):
    """Add the sinusoids of section 3.5; no length limit, nothing to learn.

    The table is computed in float64, cast to the dtype of the input, and made anew when a longer
    input comes, or one of another dtype or device.

    Args:
        d_model: width D, even.
        base: see ``sinusoids``.
        layout: see ``sinusoids``.
        first: position of the first piece.
        rate: see ``sinusoids``.

    Raises:
        ValueError: as ``sinusoids``.
    """

    max_length: None = None  # there is no limit

    def __init__(
        self,
        d_model: int,
        *,
        base: float = 10_000.0,
        layout: SinusoidLayout = "interleaved",
        first: int = 0,
        rate: SinusoidRate = "paper",
    ) -> None:
        super().__init__()
        self.d_model, self.base, self.first = d_model, base, first
        self.layout: SinusoidLayout = layout
        self.rate: SinusoidRate = rate
        # No buffer: casting the module there and back would leave a table rounded on the way.
        self.table = self._encode(torch.arange(256))

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add to ``x`` (B, L, D) the encodings of positions offset .. offset + L - 1."""
        end = offset + x.size(-2)
        fits = self.table.dtype == x.dtype and self.table.device == x.device
        if end > self.table.size(0) or not fits:
            length = max(end, self.table.size(0))
            length = 1 << (length - 1).bit_length()
            self.table = self._encode(torch.arange(length, device=x.device)).to(x.dtype)
        return x + self.table[offset:end]

    def _encode(self, positions: Tensor) -> Tensor:
        places = positions + self.first
        return sinusoids(places, self.d_model, base=self.base, layout=self.layout, rate=self.rate)
