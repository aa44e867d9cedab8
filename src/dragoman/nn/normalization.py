"""Layer normalisation (section 3.1; Ba et al. 2016, arXiv 1607.06450) and RMS normalisation.

Shapes: any leading shape, D model width. Means and squares are taken in float32 at least,
whatever the input: a value above 255 has a square that float16 cannot hold.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def standardize(x: Tensor, dim: int, eps: float) -> Tensor:
    """Shift and scale to mean 0 and variance 1 along ``dim``: (x - mean) / √(variance + eps).

    Along the features this is layer normalisation, along the batch it is batch normalisation in
    training (Ioffe and Szegedy 2015, arXiv 1502.03167), both before gain and bias.

    Args:
        x: any shape.
        dim: the axis over which mean and variance, with divisor n, are taken.
        eps: added to the variance, inside the root.

    Returns:
        The shape and dtype of ``x``.
    """
    wide = _widened(x)
    centred = wide - wide.mean(dim, keepdim=True)
    variance = centred.square().mean(dim, keepdim=True)
    return (centred / torch.sqrt(variance + eps)).to(x.dtype)


def reference_layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Normalise each row of ``x`` (..., D): divisor D, eps in the root. The module's slow twin."""
    return standardize(x, -1, eps) * gain + bias


def note_layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Normalise as many tutorials do: gain (x - mean) / (deviation + eps) + bias.

    This is not the form of Ba et al.: the deviation has divisor D - 1 and eps stands outside the
    root, so that, eps aside, the output is smaller by a factor of √((D - 1) / D). It exists to
    compare, and to read models made so. A constant row becomes the bias; its gradient is not
    finite.

    Args:
        x: (..., D), D at least 2.
        gain: (D,).
        bias: (D,).
        eps: added to the standard deviation.

    Raises:
        ValueError: D is 1, which has no deviation with divisor D - 1.
    """
    if x.size(-1) < 2:
        raise ValueError("x: the deviation with divisor D - 1 needs a width D of at least 2")
    wide = _widened(x)
    centred = wide - wide.mean(-1, keepdim=True)
    deviation = wide.std(-1, correction=1, keepdim=True)
    return (centred / (deviation + eps)).to(x.dtype) * gain + bias


def reference_rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    """Scale each row of ``x`` (..., D): x / √(mean(x²) + eps) * gain. The module's slow twin."""
    wide = _widened(x)
    scaled = wide / torch.sqrt(wide.square().mean(-1, keepdim=True) + eps)
    return scaled.to(x.dtype) * gain


def _widened(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))


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


class RMSNorm(nn.Module):
    """Give every position mean square 1, then a learned gain; no mean is taken off, no bias added.

    Zhang and Sennrich 2019, arXiv 1910.07467, equation 4.

    Args:
        d_model: width D.
        eps: added to the mean square, inside the root.
    """

    def __init__(self, d_model: int, *, eps: float = 1e-6) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Scale (..., D) over its last axis; the result has the dtype of ``x``."""
        return F.rms_norm(x, self.gain.shape, self.gain.to(x.dtype), self.eps)
