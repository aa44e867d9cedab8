"""Learned positions (section 3.5, last paragraph; table 3 row E).

Shapes: B sentences, L positions, D model width.
"""

import torch
from torch import Tensor, nn


class LearnedPositions(nn.Module):
    """Add one learned vector per position (section 3.5, last paragraph; table 3 row E).

    Args:
        max_length: number of positions that exist.
        d_model: width D.
    """

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_length, d_model))
        self.reset()

    @torch.no_grad()
    def reset(self, rng: torch.Generator | None = None) -> None:
        """Draw first values as those of embeddings: normal with std D^-0.5."""
        self.table.normal_(std=self.table.size(1) ** -0.5, generator=rng)

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
