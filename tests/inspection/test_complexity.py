"""Table 1 by exact count: every number by hand, or counted by PyTorch."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from dragoman.inspection import (
    Crossing,
    LayerSizes,
    crossing,
    crossings,
    layer_kinds,
    linear_attention_cost,
    visible_pairs,
)
from dragoman.nn import MultiHeadAttention, reference_attention
from dragoman.run.layer_timing import build_layers

SIZES = LayerSizes(d=8, k=3, r=5, heads=2)


def test_every_layer_is_counted_with_its_projections() -> None:
    # n = 10, d = 8, k = 3, r = 5, h = 2; pairs within 2 places: 3 + 4 + 6 * 5 + 4 + 3 = 44.
    found = {kind.name: kind.multiplications(10) for kind in layer_kinds(SIZES)}
    assert found == {
        "self-attention": 2 * 100 * 8 + 4 * 10 * 64,
        "recurrent": 2 * 10 * 64,
        "recurrent, LSTM": 8 * 10 * 64,
        "convolutional": 3 * 10 * 64,
        "dilated convolutional": 3 * 10 * 64,
        "separable convolution": 3 * 10 * 8 + 10 * 64,
        "restricted self-attention": 2 * 44 * 8 + 4 * 10 * 64,
        "linear attention": 2 * 10 * 8 * 4 + 10 * 8 + 4 * 10 * 64,
    }


@pytest.mark.parametrize(
    "name",
    [
        "self-attention",
        "recurrent",
        "recurrent, LSTM",
        "convolutional",
        "dilated convolutional",
        "linear attention",
    ],
)
def test_multiplications_are_half_the_operations_that_torch_counts_in_our_layers(name: str) -> None:
    layer, n = build_layers(SIZES)[name], 10
    if name == "self-attention":  # the fused kernel is no product that PyTorch counts
        attention = layer.get_submodule("attention")
        assert isinstance(attention, MultiHeadAttention)
        attention.kernel = reference_attention
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(torch.zeros(1, n, 8))
    kind = next(kind for kind in layer_kinds(SIZES) if kind.name == name)
    assert counter.get_total_flops() == 2 * kind.multiplications(n)


def test_a_separable_convolution_is_what_torch_counts_of_its_two_halves() -> None:
    # Ours multiplies taps element by element, which PyTorch does not count; the same as library
    # convolutions: one filter a channel, then a product across channels.
    n, d, k = 10, SIZES.d, SIZES.k
    x = torch.zeros(1, d, n + k - 1)
    with FlopCounterMode(display=False) as counter:
        y = torch.nn.functional.conv1d(x, torch.zeros(d, 1, k), groups=d)
        torch.nn.functional.conv1d(y, torch.zeros(d, d, 1))
    kind = next(kind for kind in layer_kinds(SIZES) if kind.name == "separable convolution")
    assert counter.get_total_flops() == 2 * kind.multiplications(n)


def test_restricted_attention_is_what_torch_counts_when_each_query_meets_its_keys_alone() -> None:
    # Ours hides what lies too far away; here every query takes the keys around it, query by query.
    n, d, half = 10, SIZES.d, SIZES.r // 2
    x, weight = torch.zeros(n, d), torch.zeros(d, d)
    with FlopCounterMode(display=False) as counter:
        q, k, v = (x @ weight for _ in range(3))
        for i in range(n):
            near = slice(max(0, i - half), i + half + 1)
            scores = q[i : i + 1] @ k[near].t()
            torch.mm(scores.softmax(-1), v[near])
        torch.mm(x, weight)
    kind = next(kind for kind in layer_kinds(SIZES) if kind.name == "restricted self-attention")
    assert counter.get_total_flops() == 2 * kind.multiplications(n)


def test_linear_attention_has_its_own_row() -> None:
    cost = linear_attention_cost(100, 64, 8)
    assert (cost.per_layer, cost.sequential, cost.max_path) == (100 * 64 * 64 // 8, 1, 1)


@given(n=st.integers(1, 30), half=st.integers(1, 20))
def test_visible_pairs_are_those_that_lie_near_enough(n: int, half: int) -> None:
    near = sum(abs(i - j) <= half for i in range(n) for j in range(n))
    assert visible_pairs(n, 2 * half + 1) == near


def test_self_attention_crosses_where_algebra_says() -> None:
    # Terms: n² d = n d² at n = d; k n d² at k d; k n d + n d² at k + d; r n d at r; n d² / h at
    # d / h. Multiplied: 2 n² d + 4 n d² = 8 n d² at 2 d; = k n d² at (k - 4) d / 2; the projections
    # alone, 4 n d², are more than all of an RNN.
    found = {one.name: one for one in crossings(LayerSizes(d=64, k=8, r=31, heads=4))}
    assert found["recurrent"] == Crossing("recurrent", 64, 1)
    assert found["recurrent, LSTM"] == Crossing("recurrent, LSTM", 64, 128)
    assert found["convolutional"] == Crossing("convolutional", 8 * 64, 2 * 64)
    assert found["separable convolution"].terms == 8 + 64
    assert found["restricted self-attention"].terms == 31
    assert found["linear attention"].terms == 16


def test_what_is_always_cheaper_never_crosses() -> None:
    assert crossing(lambda n: n, lambda n: n + 1) is None
    assert crossing(lambda n: n * n, lambda n: 10 * n) == 10
    assert crossing(lambda n: n, lambda n: n) == 1


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"d": 10, "heads": 4}, "heads: 4 does not divide d 10"),
        ({"d": 8, "k": 1}, "k: a kernel of 1 connects no two positions; take at least 2"),
        ({"d": 8, "r": 30}, "r: 30 keys do not lie centred on a query; try 29"),
        ({"d": 8, "r": 1}, "r: 1 keys do not lie centred on a query; try 3"),
    ],
)
def test_sizes_that_cannot_be_are_refused(sizes: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        LayerSizes(**sizes)
