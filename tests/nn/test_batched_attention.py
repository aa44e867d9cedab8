"""Attention as batched products, beside its slow twin ``reference_attention``."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.nn import (
    ChosenAttention,
    MultiHeadAttention,
    batched_attention,
    causal_mask,
    fused_attention,
    reference_attention,
)
from tests.nn.draws import random, random_mask

SEEDS = st.integers(0, 2**31)
MASKS: list[Callable[[int, int], tuple[int, ...] | None]] = [
    lambda queries, keys: None,
    lambda queries, keys: (queries, keys),
    lambda queries, keys: (1, keys),
    lambda queries, keys: (2, 1, 1, keys),
    lambda queries, keys: (2, 1, queries, keys),
    lambda queries, keys: (1, 3, queries, keys),
    lambda queries, keys: (2, 3, queries, keys),
]


def side_by_side(x: Tensor) -> Tensor:
    """Lay heads out as a projection leaves them: not contiguous."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def output_and_gradients(
    kernel: Callable[..., Tensor], leaves: list[Tensor], upstream: Tensor, *masks: Tensor | None
) -> list[Tensor]:
    own = [leaf.clone().requires_grad_() for leaf in leaves]
    output = kernel(*own, *masks)
    return [output, *torch.autograd.grad(output, own, upstream.to(output.dtype))]


@given(
    queries=st.integers(1, 6),
    keys=st.integers(1, 6),
    mask=st.sampled_from(MASKS),
    scale=st.sampled_from([None, 0.3, 1.0]),
    contiguous=st.booleans(),
    seed=SEEDS,
)
def test_it_agrees_with_the_reference_forward_and_backward(
    queries: int,
    keys: int,
    mask: Callable[[int, int], tuple[int, ...] | None],
    scale: float | None,
    contiguous: bool,
    seed: int,
) -> None:
    shape = mask(queries, keys)
    visible = None if shape is None else random_mask(shape, seed)
    leaves = [random(2, 3, queries, 4, seed=seed)]
    leaves += [random(2, 3, keys, width, seed=seed + width) for width in (4, 5)]
    upstream = random(2, 3, queries, 5, seed=seed + 9)
    if not contiguous:
        leaves, upstream = [side_by_side(leaf) for leaf in leaves], side_by_side(upstream)
    fast, slow = (
        output_and_gradients(partial(kernel, scale=scale), leaves, upstream, visible)
        for kernel in (batched_attention, reference_attention)
    )
    for one, two in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, two, atol=1e-12, rtol=1e-10)


def test_its_gradient_is_the_slope_of_its_output() -> None:
    leaves = [random(1, 2, 3, 2, seed=seed).requires_grad_() for seed in range(3)]
    visible = random_mask((1, 1, 3, 3), 4)
    visible[..., 1, :] = False
    assert torch.autograd.gradcheck(partial(batched_attention, visible=visible), leaves)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float16, 4e-3), (torch.bfloat16, 4e-2), (torch.float32, 1e-5)]
)
def test_narrow_numbers_stay_close_to_float64(dtype: torch.dtype, tolerance: float) -> None:
    # A few roundings of relative size 2^-11, 2^-8 and 2^-24 each.
    leaves = [random(2, 3, 9, 8, seed=seed).to(dtype).double() for seed in range(3)]
    upstream, visible = random(2, 3, 9, 8, seed=7).to(dtype), random_mask((2, 1, 9, 9), 8)
    exact = output_and_gradients(reference_attention, leaves, upstream.double(), visible)
    narrow = [leaf.to(dtype) for leaf in leaves]
    for found, right in zip(
        output_and_gradients(batched_attention, narrow, upstream, visible), exact, strict=True
    ):
        assert found.dtype == dtype
        assert float((found.double() - right).norm().detach() / right.norm().detach()) < tolerance


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_mask_is_stronger_than_any_score(dtype: torch.dtype) -> None:
    # Field report 15: a constant such as -1e4 is weaker than a visible score of -6e4.
    q, k = torch.tensor([[[[300.0]]]]).to(dtype), torch.tensor([[[[-200.0], [0.0]]]]).to(dtype)
    v, visible = torch.tensor([[[[3.0], [5.0]]]]).to(dtype), torch.tensor([[True, False]])
    assert batched_attention(q, k, v, visible, scale=1.0).tolist() == [[[[3.0]]]]


@given(seed=SEEDS)
def test_a_query_that_sees_nothing_gives_zeros_and_finite_gradients(seed: int) -> None:
    # Field report 14.
    q, k, v = (random(2, 3, 4, 4, seed=seed + n).requires_grad_() for n in range(3))
    visible = random_mask((2, 1, 4, 4), seed)
    visible[..., 1, :] = False
    output = batched_attention(q, k, v, visible)
    assert (output[..., 1, :] == 0).all()
    output.square().sum().backward()
    for leaf in (q, k, v):
        assert leaf.grad is not None
        assert leaf.grad.isfinite().all()
    assert q.grad is not None
    assert (q.grad[..., 1, :] == 0).all()
    twin = [leaf.detach().requires_grad_() for leaf in (q, k, v)]
    reference_attention(twin[0], twin[1], twin[2], visible).square().sum().backward()
    for leaf, other in zip((q, k, v), twin, strict=True):
        torch.testing.assert_close(leaf.grad, other.grad)


def test_a_query_that_sees_nothing_leaves_the_others_unchanged() -> None:
    q, k, v = (random(1, 1, 3, 4, seed=seed) for seed in range(3))
    visible = torch.ones(3, 3, dtype=torch.bool)
    before = batched_attention(q, k, v, visible)
    visible[1] = False
    after = batched_attention(q, k, v, visible)
    torch.testing.assert_close(after[..., [0, 2], :], before[..., [0, 2], :])


def test_memory_without_positions_gives_zeros() -> None:
    nothing = torch.zeros(2, 3, 0, 4)
    assert torch.equal(
        batched_attention(torch.ones(2, 3, 5, 4), nothing, nothing), torch.zeros(2, 3, 5, 4)
    )


def test_masks_that_are_not_boolean_are_refused() -> None:
    x = torch.ones(1, 1, 2, 4)
    with pytest.raises(TypeError, match="visible must be boolean"):
        batched_attention(x, x, x, torch.zeros(2, 2))


def test_dropped_weights_leave_the_mean_output_unchanged() -> None:
    # Uniform weights 1/8 over values 0 and 1: mean 1/2. One draw has variance
    # 4 (1/8)² p / (1-p) = 1/16 at p = 1/2, so the mean of 4000 lies within 0.02 (5 deviations).
    torch.manual_seed(1)
    q, k = torch.zeros(4000, 1, 1, 2), torch.zeros(4000, 1, 8, 2)
    v = torch.tensor([0.0, 1.0] * 4).view(1, 1, 8, 1).expand(4000, 1, 8, 1)
    output = batched_attention(q, k, v, dropout=0.5)
    assert output.mean().item() == pytest.approx(0.5, abs=0.02)
    assert output.var().item() == pytest.approx(1 / 16, rel=0.1)


@given(seed=SEEDS, chance=st.sampled_from([0.1, 0.5]))
def test_gradients_of_dropped_weights_are_those_of_autograd(seed: int, chance: float) -> None:
    # The factors it drew are read off its output: values are rows of the identity.
    q, k = random(2, 3, 4, 5, seed=seed), random(2, 3, 6, 5, seed=seed + 1)
    visible, eye = random_mask((2, 1, 4, 6), seed), torch.eye(6, dtype=torch.float64)
    v, upstream = random(2, 3, 6, 5, seed=seed + 2), random(2, 3, 4, 5, seed=seed + 3)

    def dropping(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        torch.manual_seed(seed)
        return batched_attention(q, k, v, visible, dropout=chance)

    weights = reference_attention(q, k, eye.expand(2, 3, 6, 6), visible)
    kept = dropping(q, k, eye.expand(2, 3, 6, 6)) != 0
    factors = torch.where(kept, 1 / (1 - chance), 0.0)
    torch.testing.assert_close(dropping(q, k, v), (weights * factors) @ v)

    def written(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (reference_attention(q, k, eye.expand(2, 3, 6, 6), visible) * factors) @ v

    fast = output_and_gradients(dropping, [q, k, v], upstream)
    for one, two in zip(fast, output_and_gradients(written, [q, k, v], upstream), strict=True):
        torch.testing.assert_close(one, two)


def test_with_a_bias_it_hands_over_to_the_fused_kernel() -> None:
    q, k, v = (random(2, 3, 4, 4, seed=seed) for seed in range(3))
    bias, visible = random(3, 4, 4, seed=5), causal_mask(4)
    found = batched_attention(q, k, v, visible, bias=bias, scale=0.4)
    torch.testing.assert_close(found, reference_attention(q, k, v, visible, bias=bias, scale=0.4))


@given(longest=st.integers(0, 4), queries=st.integers(1, 5), keys=st.integers(1, 5))
def test_the_kernel_is_chosen_by_the_longer_of_queries_and_keys(
    longest: int, queries: int, keys: int
) -> None:
    q, k = random(1, 2, queries, 4, seed=1), random(1, 2, keys, 4, seed=2)
    chosen = ChosenAttention(longest)(q, k, k, scale=0.7)
    kernel = batched_attention if max(queries, keys) <= longest else fused_attention
    assert torch.equal(chosen, kernel(q, k, k, scale=0.7))
    torch.testing.assert_close(chosen, reference_attention(q, k, k, scale=0.7))


def test_the_length_of_the_switch_itself_still_runs_in_batches() -> None:
    # Told apart by what autograd recorded.
    def made_by(length: int) -> str:
        x = random(1, 2, length, 4, seed=1).requires_grad_()
        return type(ChosenAttention(6)(x, x, x).grad_fn).__name__

    assert "BatchedAttention" in made_by(6)
    assert "BatchedAttention" not in made_by(7)


def test_heads_of_a_module_attend_the_same_through_it() -> None:
    module = MultiHeadAttention(8, 2).double()
    x, visible = random(3, 5, 8, seed=1), causal_mask(5)
    before = module(x, x, visible)
    module.kernel = ChosenAttention(5)
    torch.testing.assert_close(module(x, x, visible), before)
