"""Position-wise feed-forward networks, plain (section 3.3) and gated (arXiv 2002.05202).

Shapes: B sentences, L positions, D model width, N inner width ``d_ff``.
"""

import torch
from torch import Tensor, nn

from dragoman.nn.activations import Activation, relu, silu
from dragoman.nn.dropout import Dropout


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
        activation: Activation = relu,
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
        inner = self.inner(x)
        # Nothing else holds the inner values, so the paper's max(0, ·) may overwrite them.
        inner = torch.relu_(inner) if self.activation is relu else self.activation(inner)
        return self.output(self.dropout(inner))


class GatedFeedForward(nn.Module):
    """One half of the inner layer decides how much of the other half passes: SwiGLU and its kin.

    (act(x W_gate) * x W_up) W_down at every position (Shazeer 2020, arXiv 2002.05202). With
    ``silu`` it is SwiGLU, with ``gelu`` GEGLU, with ``relu`` ReGLU. One matrix holds the gate and
    the other half side by side, so that both need a single product.

    Args:
        d_model: width D in and out.
        d_ff: inner width N, of each half; ``gated_width`` keeps the weights of a plain network.
        activation: of the gate.
        bias: whether all three products add a bias; not in the publication.
        dropout: chance in [0, 1) that an inner unit is dropped in training.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: Activation = silu,
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.gate_up = nn.Linear(d_model, 2 * d_ff, bias=bias)
        self.output = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = activation
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Transform (B, L, D) to (B, L, D), each position by itself."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)  # each (B, L, N)
        return self.output(self.dropout(self.activation(gate) * up))

    def projection_blocks(self) -> tuple[Tensor, Tensor]:
        """Give the matrices of the gate and the other half as views, (N, D), to fill or name."""
        gate, up = self.gate_up.weight.chunk(2)
        return gate, up


def gated_width(d_model: int, multiple_of: int = 1) -> int:
    """Choose N so that a gated network has the weights of a plain one of inner width 4 D.

    Three matrices of width 8/3 D weigh what two of 4 D do (arXiv 2002.05202, section 2). The
    width is cut to a whole number, then rounded up as LLaMA does (arXiv 2302.13971).

    Args:
        d_model: width D.
        multiple_of: what the result is rounded up to; 1 leaves it as it is.

    Raises:
        ValueError: ``multiple_of`` is below 1.
    """
    if multiple_of < 1:
        raise ValueError(f"multiple_of: {multiple_of} is below 1")
    width = 8 * d_model // 3
    return -(-width // multiple_of) * multiple_of
