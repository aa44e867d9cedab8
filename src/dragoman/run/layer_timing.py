"""Table 1 measured: time and memory of our own layers, and where self-attention stops being faster.

What is measured is one training pass: forward and backward of a batch of sequences, in float32, on
a processor. Sizes as in ``inspection/complexity.py``.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.inspection import LayerSizes, MeasuredCrossing, MeasuredLayer
from dragoman.nn import (
    CellWeights,
    Convolution,
    LinearAttention,
    Local,
    MultiHeadAttention,
    SeparableConvolution,
    lstm_step,
    rnn_step,
    run_recurrent,
)
from dragoman.training import peak_memory

ROUNDS = 5  # of which the fastest counts
LONG = 1.0  # seconds; rounds that took as long together are enough
SHORTEST = 8  # positions at which a search for a crossing begins

Layer = Callable[[Tensor], Tensor]


def build_layers(sizes: LayerSizes) -> Mapping[str, nn.Module]:
    """Build each kind of layer with fresh weights, by the names of ``layer_kinds``.

    Each maps (B, n, d) to (B, n, d).
    """
    d, k = sizes.d, sizes.k
    return {
        "self-attention": _ToItself(MultiHeadAttention(d, sizes.heads)),
        "recurrent": _Recurrent(d, 1),
        "recurrent, LSTM": _Recurrent(d, 4),
        "convolutional": _Padded(Convolution(d, d, k)),
        "dilated convolutional": _Padded(Convolution(d, d, k, dilation=k)),
        "separable convolution": _Padded(SeparableConvolution(d, d, k)),
        "restricted self-attention": _ToItself(
            MultiHeadAttention(d, sizes.heads, pattern=Local(sizes.r // 2))
        ),
        "linear attention": _ToItself(LinearAttention(d, sizes.heads)),
    }


def measure_layers(
    sizes: LayerSizes, lengths: Sequence[int], *, batch: int = 1
) -> Iterator[MeasuredLayer]:
    """Measure each kind of layer at each length.

    Args:
        sizes: of the layers.
        lengths: in the order they are measured.
        batch: sequences that go through together.

    Yields:
        A measurement as soon as it is made.
    """
    layers = build_layers(sizes)
    for n in lengths:
        for name, layer in layers.items():
            x = torch.randn(batch, n, sizes.d)
            once = partial(_once, layer, x)
            held = peak_memory(once, x.device)
            yield MeasuredLayer(name, n, _seconds(once), held)


def measure_crossing(
    sizes: LayerSizes, *, against: str = "recurrent", longest: int = 2_048, batch: int = 1
) -> MeasuredCrossing:
    """Find from which length on self-attention is slower than another kind of layer, by measuring.

    Lengths double until it is; between the last two it is placed as if times grew by powers of n.

    Args:
        sizes: of the layers.
        against: the other kind.
        longest: length at which the search ends.
        batch: sequences that go through together.
    """
    layers = build_layers(sizes)
    n, before = SHORTEST, 0.0
    while n <= longest:
        x = torch.randn(batch, n, sizes.d)
        own, other = (_seconds(partial(_once, layers[name], x)) for name in (_OWN, against))
        lead = math.log(other / own)  # above 0: self-attention is faster
        if lead <= 0:
            share = before / (before - lead) if before > 0 else 1.0
            return MeasuredCrossing(sizes.d, against, n / 2 ** (1 - share), longest, SHORTEST)
        n, before = 2 * n, lead
    return MeasuredCrossing(sizes.d, against, None, longest, SHORTEST)


_OWN = "self-attention"


def _once(layer: nn.Module, x: Tensor) -> None:
    """Go forward and backward, to the input too, and leave no gradient behind."""
    asked = x.detach().requires_grad_()
    layer(asked).sum().backward()
    layer.zero_grad(set_to_none=True)


def _seconds(work: Callable[[], None]) -> float:
    work()  # whatever is made at the first time is not counted
    rounds: list[float] = []
    while len(rounds) < ROUNDS and sum(rounds) < LONG:
        start = time.perf_counter()
        work()
        rounds.append(time.perf_counter() - start)
    return min(rounds)


class _ToItself(nn.Module):
    """Self-attention of one input."""

    def __init__(self, attention: MultiHeadAttention | LinearAttention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, x)


class _Padded(nn.Module):
    """A convolution that gives as many positions as it takes."""

    def __init__(self, convolution: Convolution | SeparableConvolution) -> None:
        super().__init__()
        self.convolution = convolution

    def forward(self, x: Tensor) -> Tensor:
        left = self.convolution.reach // 2
        return self.convolution(F.pad(x, (0, 0, left, self.convolution.reach - left)))


class _Recurrent(nn.Module):
    """A plain cell (one block) or an LSTM (four), step by step as its formula reads."""

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        std = width**-0.5
        self.w_x = nn.Parameter(torch.empty(width, blocks * width).normal_(std=std))
        self.w_h = nn.Parameter(torch.empty(width, blocks * width).normal_(std=std))
        self.b = nn.Parameter(torch.zeros(blocks * width))
        self.blocks, self.width = blocks, width

    def forward(self, x: Tensor) -> Tensor:
        weights = CellWeights(self.w_x, self.w_h, self.b)
        zeros = x.new_zeros(x.size(0), self.width)
        if self.blocks == 1:
            states, _ = run_recurrent(partial(rnn_step, weights=weights), x, (zeros,))
        else:
            states, _ = run_recurrent(partial(lstm_step, weights=weights), x, (zeros, zeros))
        return states[0]
