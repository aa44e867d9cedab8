import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.nn import (
    AttentionKernel,
    RelativePositions,
    fused_attention,
    reference_attention,
    reference_relative_attention,
    relative_bias,
    relative_rows,
)
from tests.nn.positions.schemes import random

BOTH_KERNELS = pytest.mark.parametrize("kernel", [fused_attention, reference_attention])


def positions_with(
    clip: int, d_k: int, d_v: int | None, *, seed: int, dtype: torch.dtype = torch.float64
) -> RelativePositions:
    positions = RelativePositions(clip, d_k, d_v).to(dtype)
    for number, table in enumerate(positions.parameters()):
        table.data = random(*table.shape, seed=seed + number, dtype=dtype)
    return positions


def test_rows_are_clipped_key_minus_query() -> None:
    # By hand, clip 1: before, at, after the query are rows 0, 1, 2.
    assert relative_rows(3, 3, clip=1).tolist() == [[1, 2, 2], [0, 1, 2], [0, 0, 1]]
    assert relative_rows(1, 4, clip=2).tolist() == [[0, 0, 1, 2]]


def test_bias_is_the_scaled_product_of_query_and_offset_vector() -> None:
    # By hand: q = (1, 2); rows a = (1, 0), (0, 1), (1, 1) give 1, 2, 3, divided by √2.
    table = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    bias = relative_bias(torch.tensor([[[[1.0, 2.0]]]]), table, 3)
    expected = torch.tensor([[[[1.0, 1.0, 2.0]]]]) / math.sqrt(2)
    torch.testing.assert_close(bias, expected)


def test_value_vectors_are_weighted_like_values() -> None:
    # By hand: equal scores over two keys, so the second query gets half of each offset vector.
    positions = positions_with(1, 1, 1, seed=0)
    positions.keys.data.zero_()
    positions.values = torch.nn.Parameter(torch.tensor([[1.0], [10.0], [100.0]]).double())
    q = torch.zeros(1, 1, 2, 1, dtype=torch.float64)
    v = torch.tensor([2.0, 4.0]).double().view(1, 1, 2, 1)
    output = positions.attend(fused_attention, q, q, v, None, scale=None, dropout=0.0)
    assert output.flatten().tolist() == [3 + (10 + 100) / 2, 3 + (1 + 10) / 2]


@BOTH_KERNELS
@given(
    queries=st.integers(1, 6),
    past=st.integers(0, 6),
    clip=st.integers(1, 5),
    with_values=st.booleans(),
    scale=st.sampled_from([None, 0.3]),
    seed=st.integers(0, 2**31),
)
def test_attention_agrees_with_one_vector_per_pair_under_any_mask(
    kernel: AttentionKernel,
    queries: int,
    past: int,
    clip: int,
    with_values: bool,
    scale: float | None,
    seed: int,
) -> None:
    positions = positions_with(clip, 4, 3 if with_values else None, seed=seed)
    keys = past + queries
    q, k = random(2, 3, queries, 4, seed=seed + 1), random(2, 3, keys, 4, seed=seed + 2)
    v = random(2, 3, keys, 3, seed=seed + 3)
    rng = torch.Generator().manual_seed(seed)
    visible = torch.rand(2, 1, queries, keys, generator=rng) < 0.6
    results: list[tuple[Tensor, ...]] = []
    leaves = q, k, v = (q.requires_grad_(), k.requires_grad_(), v.requires_grad_())
    for output in (
        positions.attend(kernel, q, k, v, visible, scale=scale, dropout=0.0),
        reference_relative_attention(q, k, v, visible, positions=positions, scale=scale),
    ):
        learned = list(positions.parameters())
        gradients = torch.autograd.grad(output.square().sum(), (*leaves, *learned))
        results.append((output, *gradients))
    for fast, slow in zip(*results, strict=True):
        torch.testing.assert_close(fast, slow)


@BOTH_KERNELS
def test_dropped_weights_are_dropped_from_values_and_vectors_alike(kernel: AttentionKernel) -> None:
    # Values that name their key beside vectors that count: a column each, one draw for both.
    length = 6
    positions = positions_with(2, 4, length + 1, seed=1)
    assert positions.values is not None
    positions.values.data.zero_()
    positions.values.data[:, -1] = 1.0
    q, k = random(2, 3, length, 4, seed=2), random(2, 3, length, 4, seed=3)
    names = torch.eye(length, length + 1, dtype=torch.float64).expand(2, 3, -1, -1)
    torch.manual_seed(0)
    output = positions.attend(kernel, q, k, names, None, scale=None, dropout=0.5)
    weights, counted = output[..., :-1], output[..., -1]
    assert (weights == 0).any()
    assert (weights > 0).any()
    torch.testing.assert_close(counted, weights.sum(-1))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_many_keys_beyond_the_clip_do_not_lose_weight_in_half_precision(dtype: torch.dtype) -> None:
    # 1,000 equal weights of 0.001 meet in one row; a running sum in bfloat16 would stop at 0.25.
    positions = positions_with(1, 2, 1, seed=4, dtype=dtype)
    positions.keys.data.zero_()
    positions.values = torch.nn.Parameter(torch.ones(3, 1, dtype=dtype))
    q, k = torch.zeros(1, 1, 1, 2, dtype=dtype), torch.zeros(1, 1, 1000, 2, dtype=dtype)
    v = torch.zeros(1, 1, 1000, 1, dtype=dtype)
    output = positions.attend(fused_attention, q, k, v, None, scale=None, dropout=0.0)
    assert output.item() == pytest.approx(1.0, rel=0.01)


def test_a_clip_that_tells_nothing_apart_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^clip: 0 tells no offsets apart; take 1 or more$"):
        RelativePositions(0, 4)


def test_tables_are_saved_under_their_names() -> None:
    assert {
        name: tuple(table.shape) for name, table in RelativePositions(2, 4, 3).state_dict().items()
    } == {
        "keys": (5, 4),
        "values": (5, 3),
    }
    assert list(RelativePositions(2, 4).state_dict()) == ["keys"]
