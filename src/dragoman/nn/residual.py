"""Residual wiring around every sub-layer, with its norm and dropout (sections 3.1 and 5.4)."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from dragoman.nn.dropout import Dropout

NormOrder = Literal["post", "pre"]


class Residual(nn.Module):
    """Add a sub-layer's output to its input.

    ``post``: LayerNorm(x + Dropout(Sublayer(x))), as in the paper.
    ``pre``: x + Dropout(Sublayer(LayerNorm(x))) (Xiong et al. 2020, arXiv 2002.04745).

    Args:
        norm: maps (..., D) to (..., D).
        dropout: chance in [0, 1) that an element of the sub-layer's output is dropped in training.
        order: where the norm stands.
    """

    def __init__(self, norm: nn.Module, *, dropout: float, order: NormOrder = "post") -> None:
        super().__init__()
        self.norm, self.dropout, self.order = norm, Dropout(dropout), order

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Run ``sublayer`` inside the wiring; all shapes equal that of ``x``."""
        return self.close(x, sublayer(self.open(x)))

    def open(self, x: Tensor) -> Tensor:
        """Give what the sub-layer reads."""
        return self.norm(x) if self.order == "pre" else x

    def close(self, x: Tensor, y: Tensor) -> Tensor:
        """Join the input ``x`` and the sub-layer's output ``y``."""
        x = self.dropout.add(x, y)
        return self.norm(x) if self.order == "post" else x
