import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.nn import (
    AttentionKernel,
    MultiHeadAttention,
    attention_scores,
    attention_weights,
    causal_mask,
    fused_attention,
    reference_attention,
)
from tests.nn.draws import random, random_mask

BOTH_KERNELS = pytest.mark.parametrize("kernel", [fused_attention, reference_attention])
SEEDS = st.integers(0, 2**31)


# Weights


def test_weights_follow_equation_1() -> None:
    # By hand: scores (1, 0) / √2, softmax = e^0.70711 / (e^0.70711 + 1) = 0.66976.
    q = torch.tensor([[[[1.0, 0.0]]]])
    k = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    weights = attention_weights(q, k)
    torch.testing.assert_close(weights, torch.tensor([[[[0.66976, 0.33024]]]]), atol=1e-5, rtol=0)


def test_scores_are_scaled_dot_products_plus_bias() -> None:
    # By hand: (1·3 + 2·4) / √2 = 7.77817; with scale 1 and bias -5, 11 - 5 = 6.
    q, k = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]])
    assert attention_scores(q, k).item() == pytest.approx(7.77817, abs=1e-5)
    assert attention_scores(q, k, scale=1.0, bias=torch.tensor([[-5.0]])).item() == 6


def test_hidden_keys_get_no_weight_and_the_others_share_it() -> None:
    # By hand: without the second key, e^0 / (e^0 + e^(ln 3)) = 1/4 and 3/4.
    scores = torch.tensor([[0.0, 9.0, math.log(3)]])
    nothing, visible = torch.zeros(1, 1), torch.tensor([[True, False, True]])
    weights = attention_weights(nothing, torch.zeros(3, 1), visible, bias=scores)
    torch.testing.assert_close(weights, torch.tensor([[0.25, 0.0, 0.75]]))


@given(queries=st.integers(1, 6), keys=st.integers(1, 6), seed=SEEDS)
def test_weights_of_a_query_add_to_one_or_to_zero_if_it_sees_nothing(
    queries: int, keys: int, seed: int
) -> None:
    q, k = random(2, queries, 4, seed=seed), random(2, keys, 4, seed=seed + 1)
    visible = random_mask((2, queries, keys), seed)
    total = attention_weights(q, k, visible).sum(-1)
    torch.testing.assert_close(total, visible.any(-1).to(total.dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_masks_fit_half_precision(dtype: torch.dtype) -> None:
    # Field report 15: causal and padding combined, one score at +6e4 on a hidden key.
    q = torch.tensor([[300.0], [200.0], [1.0]], dtype=dtype)
    k = torch.tensor([[1.0], [0.5], [200.0]], dtype=dtype)
    visible = causal_mask(3) & torch.tensor([True, True, False])
    assert attention_scores(q, k, scale=1.0).max() > 5.9e4
    weights = attention_weights(q, k, visible, scale=1.0)
    assert weights.dtype == dtype
    assert weights.isfinite().all()
    assert (weights[~visible] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, dtype=dtype))


@BOTH_KERNELS
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_mask_is_stronger_than_any_score(kernel: AttentionKernel, dtype: torch.dtype) -> None:
    # Field report 15: a constant such as -1e4 is weaker than a visible score of -6e4.
    q, k = torch.tensor([[300.0]], dtype=dtype), torch.tensor([[-200.0], [0.0]], dtype=dtype)
    v, visible = torch.tensor([[3.0], [5.0]], dtype=dtype), torch.tensor([[True, False]])
    assert attention_weights(q, k, visible, scale=1.0).tolist() == [[1.0, 0.0]]
    assert kernel(q, k, v, visible, scale=1.0).tolist() == [[3.0]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@BOTH_KERNELS
def test_hidden_keys_do_not_leak_in_half_precision(
    kernel: AttentionKernel, dtype: torch.dtype
) -> None:
    q, k, v = (random(2, 3, 5, 4, seed=seed, dtype=dtype) for seed in range(3))
    visible = causal_mask(5) & torch.tensor([True, True, False, True, False])
    k_huge, v_huge = k.clone(), v.clone()
    k_huge[..., ~visible[-1], :], v_huge[..., ~visible[-1], :] = 6e4, 6e4
    output = kernel(q, k, v, visible)
    assert output.dtype == dtype
    assert torch.equal(output, kernel(q, k_huge, v_huge, visible))


# Kernels


MASK_SHAPES: list[Callable[[int, int], tuple[int, ...] | None]] = [
    lambda queries, keys: None,
    lambda queries, keys: (queries, keys),
    lambda queries, keys: (1, keys),
    lambda queries, keys: (2, 1, 1, keys),
    lambda queries, keys: (2, 1, queries, keys),
    lambda queries, keys: (1, 3, queries, keys),
    lambda queries, keys: (2, 3, queries, keys),
]
BIAS_SHAPES = [*MASK_SHAPES[:2], *MASK_SHAPES[5:]]


@given(
    queries=st.integers(1, 6),
    keys=st.integers(1, 6),
    mask_shape=st.sampled_from(MASK_SHAPES),
    bias_shape=st.sampled_from(BIAS_SHAPES),
    scale=st.sampled_from([None, 0.3, 1.0]),
    seed=SEEDS,
)
def test_fused_attention_agrees_with_reference_forward_and_backward(
    queries: int,
    keys: int,
    mask_shape: Callable[[int, int], tuple[int, ...] | None],
    bias_shape: Callable[[int, int], tuple[int, ...] | None],
    scale: float | None,
    seed: int,
) -> None:
    visible_shape, biased_shape = mask_shape(queries, keys), bias_shape(queries, keys)
    visible = None if visible_shape is None else random_mask(visible_shape, seed)
    leaves = {
        "q": random(2, 3, queries, 4, seed=seed),
        "k": random(2, 3, keys, 4, seed=seed + 1),
        "v": random(2, 3, keys, 5, seed=seed + 2),
    }
    if biased_shape is not None:
        leaves["bias"] = random(*biased_shape, seed=seed + 3)
    upstream = random(2, 3, queries, 5, seed=seed + 4)
    results: list[list[Tensor]] = []
    for kernel in (fused_attention, reference_attention):
        own = {name: leaf.clone().requires_grad_() for name, leaf in leaves.items()}
        output = kernel(own["q"], own["k"], own["v"], visible, scale=scale, bias=own.get("bias"))
        gradients = torch.autograd.grad(output, list(own.values()), upstream)
        results.append([output, *gradients])
    for fast, slow in zip(*results, strict=True):
        torch.testing.assert_close(fast, slow)


@BOTH_KERNELS
@given(seed=SEEDS, biased=st.booleans())
def test_query_that_sees_nothing_gives_zeros_and_finite_gradients(
    kernel: AttentionKernel, seed: int, biased: bool
) -> None:
    q, k, v = (random(2, 3, 4, 4, seed=seed + n).requires_grad_() for n in range(3))
    bias = random(3, 4, 4, seed=seed).requires_grad_() if biased else None
    visible = random_mask((2, 1, 4, 4), seed)
    visible[..., 1, :] = False
    output = kernel(q, k, v, visible, bias=bias)
    assert (output[..., 1, :] == 0).all()
    output.square().sum().backward()
    for leaf in (q, k, v, bias):
        assert leaf is None or (leaf.grad is not None and leaf.grad.isfinite().all())
    assert q.grad is not None
    assert (q.grad[..., 1, :] == 0).all()


@BOTH_KERNELS
def test_query_that_sees_nothing_leaves_other_queries_unchanged(kernel: AttentionKernel) -> None:
    q, k, v = (random(1, 1, 3, 4, seed=seed) for seed in range(3))
    visible = torch.ones(3, 3, dtype=torch.bool)
    before = kernel(q, k, v, visible)
    visible[1] = False
    after = kernel(q, k, v, visible)
    torch.testing.assert_close(after[..., [0, 2], :], before[..., [0, 2], :])


@BOTH_KERNELS
def test_memory_without_positions_gives_zeros(kernel: AttentionKernel) -> None:
    nothing = torch.zeros(2, 3, 0, 4)
    output = kernel(torch.ones(2, 3, 5, 4), nothing, nothing)
    assert torch.equal(output, torch.zeros(2, 3, 5, 4))


@BOTH_KERNELS
@given(seed=SEEDS, start=st.integers(1, 5))
def test_later_keys_do_not_change_earlier_outputs_to_the_bit(
    kernel: AttentionKernel, seed: int, start: int
) -> None:
    x, other = (random(2, 3, 6, 4, seed=seed + n, dtype=torch.float32) for n in range(2))
    changed = torch.cat((x[..., :start, :], other[..., start:, :]), -2)
    visible = causal_mask(6)
    before, after = kernel(x, x, x, visible), kernel(changed, changed, changed, visible)
    assert torch.equal(before[..., :start, :], after[..., :start, :])


@pytest.mark.parametrize("mask", [torch.zeros(2, 2), torch.ones(2, 2).long()])
@pytest.mark.parametrize("module", [False, True])
def test_masks_that_are_not_boolean_are_refused(mask: Tensor, module: bool) -> None:
    x = torch.ones(1, 2, 4)
    attend: list[Callable[[], Tensor]] = [
        lambda: attention_weights(x, x, mask),
        lambda: fused_attention(x, x, x, mask),
        lambda: reference_attention(x, x, x, mask),
        lambda: MultiHeadAttention(4, 2)(x, x, mask),
    ]
    for call in attend[3:] if module else attend[:3]:
        with pytest.raises(TypeError, match=f"visible must be boolean.*not {mask.dtype}"):
            call()


def test_hint_on_additive_masks_works() -> None:
    # The error says: an additive mask becomes a boolean one by `mask == 0`.
    additive = torch.full((3, 3), -math.inf).triu(1)
    assert torch.equal(additive == 0, causal_mask(3))


@BOTH_KERNELS
def test_dropped_weights_leave_the_mean_output_unchanged(kernel: AttentionKernel) -> None:
    # Uniform weights 1/8 over values 0 and 1: mean 1/2. One draw has variance
    # 4 (1/8)² p / (1-p) = 1/16 at p = 1/2, so the mean of 4000 lies within 0.02 (5 deviations).
    torch.manual_seed(1)
    q, k = torch.zeros(4000, 1, 1, 2), torch.zeros(4000, 1, 8, 2)
    v = torch.tensor([0.0, 1.0] * 4).view(1, 1, 8, 1).expand(4000, 1, 8, 1)
    output = kernel(q, k, v, dropout=0.5)
    assert output.mean().item() == pytest.approx(0.5, abs=0.02)
    assert output.var().item() == pytest.approx(1 / 16, rel=0.1)


# Multi-head attention
