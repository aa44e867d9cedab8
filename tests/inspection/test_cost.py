import math
from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from dragoman.inspection import (
    LayerCost,
    attention_multiplications,
    complexity_table,
    dilated_convolutional_cost,
    pointwise_feed_forward_cost,
    recurrent_cost,
    recurrent_parameters,
    self_attention_cost,
    self_attention_is_cheaper,
    separable_convolution_cost,
    training_time,
)
from dragoman.nn import MultiHeadAttention, reference_attention

SIZES = st.integers(1, 300)


def test_table_1_has_the_terms_of_the_paper() -> None:
    # Table 1 and section 4 with n = 16, d = 10, k = 2, r = 4.
    assert complexity_table(16, 10, k=2, r=4) == {
        "self_attention": LayerCost(16 * 16 * 10, 1, 1),
        "recurrent": LayerCost(16 * 10 * 10, 16, 16),
        "convolutional": LayerCost(2 * 16 * 10 * 10, 1, 8.0),
        "dilated_convolutional": LayerCost(2 * 16 * 10 * 10, 1, 4.0),
        "separable_convolution": LayerCost(2 * 16 * 10 + 16 * 10 * 10, 1, 8.0),
        "restricted_self_attention": LayerCost(4 * 16 * 10, 1, 4.0),
    }


@given(n=SIZES, d=SIZES)
def test_self_attention_is_cheaper_when_the_sequence_is_shorter_than_the_width(
    n: int, d: int
) -> None:
    assert self_attention_is_cheaper(n, d) == (n < d)  # section 4


@given(n=SIZES, d=SIZES)
def test_separable_convolution_over_everything_costs_attention_and_a_point_wise_layer(
    n: int, d: int
) -> None:
    pair = self_attention_cost(n, d).per_layer + pointwise_feed_forward_cost(n, d).per_layer
    assert separable_convolution_cost(n, d, k=n).per_layer == pair  # section 4


def test_positions_never_meet_in_a_point_wise_layer() -> None:
    assert pointwise_feed_forward_cost(8, 4).max_path == math.inf


def test_kernel_of_one_position_has_no_dilated_path() -> None:
    with pytest.raises(ValueError, match=r"^k: a kernel of 1 connects no two positions; take at"):
        dilated_convolutional_cost(8, 4, 1)


@given(n=st.integers(1, 9), width=st.integers(1, 4), heads=st.integers(1, 3))
def test_multiplications_are_half_the_operations_that_torch_counts(
    n: int, width: int, heads: int
) -> None:
    d = heads * width
    attention = MultiHeadAttention(d, heads, kernel=reference_attention)
    x = torch.zeros(1, n, d)
    with FlopCounterMode(display=False) as counter:  # a product and a sum for each
        attention(x, x)
    found = attention_multiplications(n, d)
    assert 2 * found.total == counter.get_total_flops()
    assert found.scores == found.weighted_sum == self_attention_cost(n, d).per_layer


@pytest.mark.parametrize(("kind", "module"), [("rnn", nn.RNN), ("gru", nn.GRU), ("lstm", nn.LSTM)])
@pytest.mark.parametrize(("inputs", "hidden"), [(1, 1), (2, 3), (5, 4)])
def test_recurrent_parameters_are_those_of_torch(
    kind: Literal["rnn", "gru", "lstm"],
    module: type[nn.RNN] | type[nn.GRU] | type[nn.LSTM],
    inputs: int,
    hidden: int,
) -> None:
    with_biases = module(inputs, hidden)
    without = module(inputs, hidden, bias=False)
    for layer, biases in ((with_biases, 2), (without, 0)):
        count = sum(weight.numel() for weight in layer.parameters())
        assert recurrent_parameters(kind, inputs, hidden, biases=biases) == count


def test_operations_of_the_recurrent_row_grow_with_the_square_of_the_width() -> None:
    assert recurrent_cost(3, 10).per_layer == 300


def test_training_time_is_that_of_the_paper() -> None:
    # Sections 5.2 and 6.1: 12 hours for the base model, 3.5 days and 2.3e19 operations for the
    # big one; the paper rounds.
    base = training_time(100_000, 0.4, gpus=8, tflops_per_gpu=9.5)
    big = training_time(300_000, 1.0, gpus=8, tflops_per_gpu=9.5)
    assert base.hours == pytest.approx(12, rel=0.1)
    assert base.flops == pytest.approx(3.3e18, rel=0.1)
    assert big.days == pytest.approx(3.5, rel=0.01)
    assert big.flops == pytest.approx(2.3e19, rel=0.01)
