"""Residual wiring around every sub-layer, with its norm and dropout (sections 3.1 and 5.4)."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from dragoman.nn.dropout import Dropout

NormOrder = Literal["post", "pre"]


class Residual(nn.Module):
    """Add a sub-layer's output to its input.

    ``post``: Norm(s x + Dropout(Sublayer(x))), as in the paper.
    ``pre``: s x + Dropout(Sublayer(Norm(x))) (Xiong et al. 2020, arXiv 2002.04745).

    Args:
        norm: maps (..., D) to (..., D).
        dropout: chance in [0, 1) that an element of the sub-layer's output is dropped in training.
        order: where the norm stands.
        scale: factor s on the input; 1 in the paper, more in DeepNorm (Wang et al. 2022, arXiv
            2203.00555).
    """

    def __init__(
        self, norm: nn.Module, *, dropout: float, order: NormOrder = "post", scale: float = 1.0
    ) -> None:
        super().__init__()
        self.norm, self.dropout, self.order, self.scale = norm, Dropout(dropout), order, scale

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Run ``sublayer`` inside the wiring; all shapes equal that of ``x``."""
        return self.close(x, sublayer(self.open(x)))

    def open(self, x: Tensor) -> Tensor:
        """Give what the sub-layer reads."""
        return self.norm(x) if self.order == "pre" else x

    def close(self, x: Tensor, y: Tensor) -> Tensor:
        """Join the input ``x`` and the sub-layer's output ``y``."""
        x = self.dropout.add(x if self.scale == 1 else x * self.scale, y)
        return self.norm(x) if self.order == "post" else x
