"""Convolution over positions, and the gated layer made of it (Gehring et al., arXiv 1705.03122).

    y_i = Σ_j x_{i·s + j·d} W_j      j = 0 .. k - 1

Nothing is flipped (a cross-correlation) and nothing is padded: the output is (k - 1) · d positions
shorter than the input. Dilation d spreads the taps, as in ByteNet (Kalchbrenner et al. 2016, arXiv
1610.10099); a stride s skips positions.

Shapes: B sentences, L positions, C channels in, O channels out, k taps of a kernel, D model width.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.nn.dropout import Dropout


def convolve(x: Tensor, kernel: Tensor, *, dilation: int = 1, stride: int = 1) -> Tensor:
    """Convolve as the formula reads. The slow twin of ``fused_convolve``.

    Args:
        x: (..., L, C).
        kernel: (k, C, O).
        dilation: distance d between two taps, at least 1.
        stride: distance s between two outputs, at least 1.

    Returns:
        (..., (L - (k - 1) d - 1) // s + 1, O).

    Raises:
        ValueError: ``x`` is shorter than the (k - 1) d + 1 positions that one output reads.
    """
    seen = _seen_by_taps(x, kernel.size(0), dilation, stride)
    y = seen[0] @ kernel[0]
    for x_j, w_j in zip(seen[1:], kernel[1:], strict=True):
        y = y + x_j @ w_j
    return y


def fused_convolve(x: Tensor, kernel: Tensor, *, dilation: int = 1, stride: int = 1) -> Tensor:
    """Convolve through one matrix product: what the taps see side by side, times all of them.

    The same numbers as ``convolve``, with its arguments, result and errors. On a CPU this takes
    half the time of ``torch.nn.functional.conv1d``.
    """
    seen = torch.cat(_seen_by_taps(x, kernel.size(0), dilation, stride), dim=-1)  # (..., L', k C)
    return seen @ kernel.flatten(0, 1)


def depthwise_convolve(x: Tensor, kernel: Tensor, *, dilation: int = 1, stride: int = 1) -> Tensor:
    """Convolve every channel by itself.

    Args:
        x: (..., L, C).
        kernel: (k, C).
        dilation: as in ``convolve``.
        stride: as in ``convolve``.

    Returns:
        (..., L', C), with L' and errors as in ``convolve``.
    """
    seen = _seen_by_taps(x, kernel.size(0), dilation, stride)
    y = seen[0] * kernel[0]
    for x_j, w_j in zip(seen[1:], kernel[1:], strict=True):
        y = y + x_j * w_j
    return y


def separable_convolve(
    x: Tensor, depthwise: Tensor, pointwise: Tensor, *, dilation: int = 1, stride: int = 1
) -> Tensor:
    """Mix positions within each channel, then channels at each position (arXiv 1706.03059).

    The same as ``convolve`` with the kernel W_j = diag(depthwise_j) · pointwise, for k C + C O
    weights instead of k C O.

    Args:
        x: (..., L, C).
        depthwise: (k, C).
        pointwise: (C, O).
        dilation: as in ``convolve``.
        stride: as in ``convolve``.

    Returns:
        (..., L', O), with L' and errors as in ``convolve``.
    """
    return depthwise_convolve(x, depthwise, dilation=dilation, stride=stride) @ pointwise


def _seen_by_taps(x: Tensor, taps: int, dilation: int, stride: int) -> list[Tensor]:
    """Give for each tap the positions it reads, as a view (..., L', C)."""
    if dilation < 1 or stride < 1:
        raise ValueError(f"dilation and stride: {dilation} and {stride} must be at least 1")
    span = (taps - 1) * dilation + 1
    starts = x.size(-2) - span + 1  # where a window may begin
    if starts < 1:
        raise ValueError(
            f"x: {x.size(-2)} positions are fewer than the {span} that an output reads"
        )
    offsets = range(0, span, dilation)
    return [x[..., offset : offset + starts : stride, :] for offset in offsets]


class Convolution(nn.Module):
    """A convolution with a bias.

    Args:
        channels_in: C.
        channels_out: O.
        kernel: number of taps k, at least 1.
        dilation: distance d between two taps, at least 1.
    """

    def __init__(
        self, channels_in: int, channels_out: int, kernel: int, *, dilation: int = 1
    ) -> None:
        super().__init__()
        std = 1 / math.sqrt(kernel * channels_in)
        weight = torch.empty(kernel, channels_in, channels_out).normal_(std=std)
        self.kernel = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(channels_out))
        self.taps, self.dilation = kernel, dilation

    @property
    def reach(self) -> int:
        """How many positions the output is shorter: (k - 1) · d."""
        return (self.taps - 1) * self.dilation

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., L, C) to (..., L - reach, O)."""
        return fused_convolve(x, self.kernel, dilation=self.dilation) + self.bias


class SeparableConvolution(nn.Module):
    """A depthwise-separable convolution with a bias; arguments as in ``Convolution``."""

    def __init__(
        self, channels_in: int, channels_out: int, kernel: int, *, dilation: int = 1
    ) -> None:
        super().__init__()
        depthwise = torch.empty(kernel, channels_in).normal_(std=1 / math.sqrt(kernel))
        pointwise = torch.empty(channels_in, channels_out).normal_(std=1 / math.sqrt(channels_in))
        self.depthwise, self.pointwise = nn.Parameter(depthwise), nn.Parameter(pointwise)
        self.bias = nn.Parameter(torch.zeros(channels_out))
        self.taps, self.dilation = kernel, dilation

    @property
    def reach(self) -> int:
        """How many positions the output is shorter: (k - 1) · d."""
        return (self.taps - 1) * self.dilation

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., L, C) to (..., L - reach, O)."""
        y = separable_convolve(x, self.depthwise, self.pointwise, dilation=self.dilation)
        return y + self.bias


class GatedConvolution(nn.Module):
    """One block of a convolutional stack (arXiv 1705.03122, section 3.2).

        y = (x + A ⊙ σ(B)) · √½      with [A B] the convolution of dropout(x)

    The factor keeps the variance (section 3.4 there). What stands at padding is taken as zero
    before the convolution, so that neither padding nor longer neighbours change a result.

    Args:
        convolution: from D to 2 D channels.
        causal: whether a position sees itself and those before; otherwise the kernel is centred
            on it.
        dropout: chance in [0, 1) that an input of the convolution is dropped in training.

    Raises:
        ValueError: the kernel is to be centred and has no centre, as it is even.
    """

    def __init__(
        self,
        convolution: Convolution | SeparableConvolution,
        *,
        causal: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if not causal and convolution.taps % 2 == 0:
            raise ValueError(f"kernel: {convolution.taps} is even and so has no centre")
        self.convolution, self.causal, self.dropout = convolution, causal, Dropout(dropout)

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """Transform all positions at once.

        Args:
            x: (B, L, D).
            real: boolean, (B, L): False at padding; None where there is none.

        Returns:
            (B, L, D).
        """
        reach = self.convolution.reach
        before = reach if self.causal else reach // 2
        return self._gate(x, F.pad(self._open(x, real), (0, 0, before, reach - before)))

    def extend(
        self, x: Tensor, past: Tensor | None, real: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Transform new positions only.

        Args:
            x: the new positions, (B, L, D).
            past: the last inputs of the convolution, (B, reach, D); None at the start.
            real: boolean, (B, L): False at padding; None where there is none.

        Returns:
            The output (B, L, D), and the past after it, of constant size.

        Raises:
            ValueError: the layer is not causal, so later positions would change this output.
        """
        if not self.causal:
            raise ValueError("causal: a centred convolution cannot go on position by position")
        reach = self.convolution.reach
        past = x.new_zeros(x.size(0), reach, x.size(2)) if past is None else past
        seen = torch.cat((past, self._open(x, real)), dim=1)
        # A copy, so that what is forgotten is also freed.
        return self._gate(x, seen), seen[:, seen.size(1) - reach :].clone()

    def _open(self, x: Tensor, real: Tensor | None) -> Tensor:
        x = self.dropout(x)
        return x if real is None else x.masked_fill(~real[..., None], 0.0)

    def _gate(self, x: Tensor, seen: Tensor) -> Tensor:
        return (x + F.glu(self.convolution(seen), dim=-1)) * math.sqrt(0.5)
