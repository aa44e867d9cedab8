"""Layer normalisation (section 3.1; Ba et al. 2016, arXiv 1607.06450).

Shapes: any leading shape, D model width.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def reference_layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Normalise each row of ``x`` (..., D): divisor D, eps in the root. The module's slow twin."""
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred / torch.sqrt(variance + eps) * gain + bias


class LayerNorm(nn.Module):
    """Give every position mean 0 and variance 1, then a learned gain and bias.

    Args:
        d_model: width D.
        eps: added to the variance, inside the root.
    """

    def __init__(self, d_model: int, *, eps: float = 1e-6) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalise (..., D) over its last axis."""
        return F.layer_norm(x, self.gain.shape, self.gain, self.bias, self.eps)
