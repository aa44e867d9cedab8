"""Sinusoidal positions (section 3.5).

Shapes: B sentences, L positions, D model width.
"""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

SinusoidLayout = Literal["interleaved", "halves"]


def sinusoids(
    positions: Tensor,
    d_model: int,
    *,
    base: float = 10_000.0,
    layout: SinusoidLayout = "interleaved",
) -> Tensor:
    """Encode positions as sines and cosines (section 3.5).

    PE(pos, 2i) = sin(pos / base^(2i/D)) and PE(pos, 2i+1) = cos(pos / base^(2i/D)).

    Args:
        positions: integers, (L,).
        d_model: width D, even.
        base: wavelengths run from 2π to base · 2π.
        layout: ``interleaved`` as the formula numbers them; ``halves`` puts all sines before all
            cosines, a permutation of the columns that some checkpoints use.

    Returns:
        float64, (L, D).

    Raises:
        ValueError: ``d_model`` is odd, or ``layout`` is unknown.
    """
    if d_model % 2:
        raise ValueError(f"d_model: {d_model} is odd; sinusoids come in pairs")
    if layout not in get_args(SinusoidLayout):
        raise ValueError(f"layout: {layout!r} is neither 'interleaved' nor 'halves'")
    pairs = torch.arange(0, d_model, 2, dtype=torch.float64, device=positions.device)
    angles = positions.double()[:, None] / base ** (pairs / d_model)  # (L, D / 2)
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

    Raises:
        ValueError: ``d_model`` is odd, or ``layout`` is unknown.
    """

    max_length: None = None  # there is no limit

    def __init__(
        self, d_model: int, *, base: float = 10_000.0, layout: SinusoidLayout = "interleaved"
    ) -> None:
        super().__init__()
        self.d_model, self.base = d_model, base
        self.layout: SinusoidLayout = layout
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
        return sinusoids(positions, self.d_model, base=self.base, layout=self.layout)
