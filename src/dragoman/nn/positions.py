"""Sinusoidal and learned positions (section 3.5).

Shapes: B sentences, L positions, D model width.
"""

import torch
from torch import Tensor, nn


def sinusoids(positions: Tensor, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Encode positions as sines and cosines, interleaved (section 3.5).

    PE(pos, 2i) = sin(pos / base^(2i/D)) and PE(pos, 2i+1) = cos(pos / base^(2i/D)).

    Args:
        positions: integers, (L,).
        d_model: width D, even.
        base: wavelengths run from 2π to base · 2π.

    Returns:
        float64, (L, D).

    Raises:
        ValueError: ``d_model`` is odd.
    """
    if d_model % 2:
        raise ValueError(f"d_model: {d_model} is odd; sinusoids come in pairs")
    pairs = torch.arange(0, d_model, 2, dtype=torch.float64, device=positions.device)
    angles = positions.double()[:, None] / base ** (pairs / d_model)  # (L, D / 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)  # (L, D)


class SinusoidalPositions(nn.Module):
    """Add the sinusoids of section 3.5; no length limit, nothing to learn.

    The table is computed in float64, cast to the dtype of the input, and made anew when a longer
    input comes, or one of another dtype or device.

    Args:
        d_model: width D, even.
        base: see ``sinusoids``.

    Raises:
        ValueError: ``d_model`` is odd.
    """

    max_length: None = None  # there is no limit

    def __init__(self, d_model: int, *, base: float = 10_000.0) -> None:
        super().__init__()
        self.d_model, self.base = d_model, base
        # No buffer: casting the module there and back would leave a table rounded on the way.
        self.table = sinusoids(torch.arange(256), d_model, base=base)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add to ``x`` (B, L, D) the encodings of positions offset .. offset + L - 1."""
        end = offset + x.size(-2)
        fits = self.table.dtype == x.dtype and self.table.device == x.device
        if end > self.table.size(0) or not fits:
            length = max(end, self.table.size(0))
            length = 1 << (length - 1).bit_length()
            positions = torch.arange(length, device=x.device)
            self.table = sinusoids(positions, self.d_model, base=self.base).to(x.dtype)
        return x + self.table[offset:end]


class LearnedPositions(nn.Module):
    """Add one learned vector per position (section 3.5, last paragraph; table 3 row E).

    Args:
        max_length: number of positions that exist.
        d_model: width D.
    """

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_length, d_model).normal_(std=d_model**-0.5))

    @property
    def max_length(self) -> int:
        """How many positions exist."""
        return self.table.size(0)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add to ``x`` (B, L, D) the vectors of positions offset .. offset + L - 1.

        Raises:
            ValueError: there are no vectors for the last positions.
        """
        end = offset + x.size(-2)
        if end > self.max_length:
            raise ValueError(f"{end} positions are more than the {self.max_length} learned")
        return x + self.table[offset:end]
