"""Position-wise feed-forward networks (section 3.3).

Shapes: B sentences, L positions, D model width, N inner width ``d_ff``.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from dragoman.nn.dropout import Dropout

Activation = Callable[[Tensor], Tensor]


class FeedForward(nn.Module):
    """The same two-layer network at every position: max(0, x W₁ + b₁) W₂ + b₂ (equation 2).

    Args:
        d_model: width D in and out.
        d_ff: inner width N.
        activation: what stands between the two layers; max(0, ·) in the paper.
        bias: whether both layers add a bias, as in the paper.
        dropout: chance in [0, 1) that an inner unit is dropped in training; 0, as in the paper.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: Activation = torch.relu,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff, bias=bias)
        self.output = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = activation
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Transform (B, L, D) to (B, L, D), each position by itself."""
        return self.output(self.dropout(self.activation(self.inner(x))))
