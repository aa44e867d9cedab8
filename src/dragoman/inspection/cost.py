"""What layers cost by formula: table 1 of the paper, multiplications, weights, training time.

Letters of table 1: n sequence length, d representation width, k kernel size of a convolution,
r size of the neighbourhood in restricted self-attention. What table 1 gives in O(·) is the leading
term here, without constants.
"""

import math
from dataclasses import dataclass
from typing import Literal

RecurrentKind = Literal["rnn", "gru", "lstm"]


@dataclass(frozen=True, slots=True)
class LayerCost:
    """One row of table 1.

    Args:
        per_layer: operations of one layer.
        sequential: operations that must wait for each other.
        max_path: layers or steps between the two positions farthest apart; infinite when they
            never meet.
    """

    per_layer: int
    sequential: int
    max_path: float


def self_attention_cost(n: int, d: int) -> LayerCost:
    """Every position meets every other at once: n² d, 1, 1."""
    return LayerCost(n * n * d, 1, 1)


def recurrent_cost(n: int, d: int) -> LayerCost:
    """One position after the other: n d², n, n."""
    return LayerCost(n * d * d, n, n)


def convolutional_cost(n: int, d: int, k: int) -> LayerCost:
    """A window of k positions: k n d², 1, n / k (section 4: a stack of contiguous kernels)."""
    return LayerCost(k * n * d * d, 1, n / k)


def dilated_convolutional_cost(n: int, d: int, k: int) -> LayerCost:
    """A window with gaps that grow k-fold: k n d², 1, log_k n.

    Raises:
        ValueError: ``k`` is below 2, so that no stack connects two positions.
    """
    if k < 2:
        raise ValueError(f"k: a kernel of {k} connects no two positions; take at least 2")
    return LayerCost(k * n * d * d, 1, math.log(n, k))


def separable_convolution_cost(n: int, d: int, k: int) -> LayerCost:
    """Each channel by itself, then across channels: k n d + n d² (section 4), 1, n / k."""
    return LayerCost(k * n * d + n * d * d, 1, n / k)


def restricted_self_attention_cost(n: int, d: int, r: int) -> LayerCost:
    """Attention to a neighbourhood of r positions: r n d, 1, n / r."""
    return LayerCost(r * n * d, 1, n / r)


def pointwise_feed_forward_cost(n: int, d: int) -> LayerCost:
    """One d x d layer at each position by itself: n d², 1; positions never meet.

    With self-attention it costs what a separable convolution with k = n does (section 4).
    """
    return LayerCost(n * d * d, 1, math.inf)


def complexity_table(n: int, d: int, *, k: int, r: int) -> dict[str, LayerCost]:
    """Fill table 1 in: the cost of each kind of layer, those that section 4 only names included.

    Args:
        n: sequence length.
        d: representation width.
        k: kernel size of the convolutions, at least 2.
        r: neighbourhood of restricted self-attention.
    """
    return {
        "self_attention": self_attention_cost(n, d),
        "recurrent": recurrent_cost(n, d),
        "convolutional": convolutional_cost(n, d, k),
        "dilated_convolutional": dilated_convolutional_cost(n, d, k),
        "separable_convolution": separable_convolution_cost(n, d, k),
        "restricted_self_attention": restricted_self_attention_cost(n, d, r),
    }


def self_attention_is_cheaper(n: int, d: int) -> bool:
    """Say whether self-attention costs less than recurrence: n² d < n d², so when n < d."""
    return self_attention_cost(n, d).per_layer < recurrent_cost(n, d).per_layer


@dataclass(frozen=True, slots=True)
class AttentionMultiplications:
    """Multiplications of one attention over n positions of width d, constants included.

    Args:
        scores: queries times keys, n² d.
        weighted_sum: weights times values, n² d.
        projections: to queries, keys, values and output, 4 n d².
    """

    scores: int
    weighted_sum: int
    projections: int

    @property
    def total(self) -> int:
        """2 n² d + 4 n d²."""
        return self.scores + self.weighted_sum + self.projections


def attention_multiplications(n: int, d: int) -> AttentionMultiplications:
    """Count what table 1's n² d leaves out; the number of heads does not change it (3.2.2)."""
    return AttentionMultiplications(n * n * d, n * n * d, 4 * n * d * d)


def recurrent_parameters(kind: RecurrentKind, inputs: int, hidden: int, *, biases: int = 1) -> int:
    """Count the weights of one recurrent layer: blocks * hidden * (inputs + hidden + biases).

    Args:
        kind: an RNN has 1 block, a GRU 3 (two gates), an LSTM 4 (three gates).
        inputs: width of the input.
        hidden: width of the state.
        biases: per block and unit; 1 in the formulas, 2 in PyTorch and cuDNN.
    """
    blocks = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
    return blocks * hidden * (inputs + hidden + biases)


@dataclass(frozen=True, slots=True)
class TrainingTime:
    """How long a training takes, and how many operations the hardware sustains meanwhile.

    Args:
        seconds: wall time.
        flops: floating-point operations of all devices.
    """

    seconds: float
    flops: float

    @property
    def hours(self) -> float:
        """Wall time in hours."""
        return self.seconds / 3600

    @property
    def days(self) -> float:
        """Wall time in days."""
        return self.hours / 24


def training_time(
    steps: int, seconds_per_step: float, *, gpus: int, tflops_per_gpu: float
) -> TrainingTime:
    """Estimate as the paper does (sections 5.2 and 6.1): time x devices x sustained speed.

    Args:
        steps: updates; 100,000 for the base model, 300,000 for the big one.
        seconds_per_step: 0.4 and 1.0 in section 5.2.
        gpus: devices; 8 in the paper.
        tflops_per_gpu: sustained 10¹² operations per second of one; 9.5 for a P100 (footnote 5).
    """
    seconds = steps * seconds_per_step
    return TrainingTime(seconds, seconds * gpus * tflops_per_gpu * 1e12)
