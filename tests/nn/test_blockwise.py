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
    blockwise_attention,
    causal_mask,
    fused_attention,
    reference_attention,
    running_attention,
)
from tests.nn.draws import random, random_mask
from tests.nn.peak_memory import peak_bytes

SEEDS = st.integers(0, 2**31)
LENGTHS, BLOCKS = st.integers(1, 9), st.integers(1, 5)


# The running softmax


def test_maximum_and_sum_run_from_block_to_block() -> None:
    # By hand: scores 1, 3 | 2; then m = 3, l = e^-2 + 1 = 1.135335; then l + e^-1 = 1.503215.
    q, k = torch.tensor([[1.0]]), torch.tensor([[1.0], [3.0], [2.0]])
    first, second = running_attention(q, k, k, scale=1.0, block=2)
    assert (first.row_max.item(), second.row_max.item()) == (3, 3)
    assert first.row_sum.item() == pytest.approx(1.135335, abs=1e-6)
    assert second.row_sum.item() == pytest.approx(1.503215, abs=1e-6)
    # By hand: (1 e^-2 + 3 + 2 e^-1) / 1.503215 = 2.575210.
    assert second.output().item() == pytest.approx(2.575210, abs=1e-6)


def test_a_later_and_larger_score_rescales_what_was_known() -> None:
    # By hand: scores 0 | 2: l = 1, then 1 e^-2 + 1; the values 5 and 7 weigh e^-2 and 1.
    q, k, v = torch.ones(1, 1), torch.tensor([[0.0], [2.0]]), torch.tensor([[5.0], [7.0]])
    first, second = running_attention(q, k, v, scale=1.0, block=1)
    assert first.output().item() == 5
    assert second.row_max.item() == 2
    assert second.row_sum.item() == pytest.approx(1.135335, abs=1e-6)
    assert second.output().item() == pytest.approx(6.761594, abs=1e-6)


@given(queries=LENGTHS, keys=LENGTHS, block=BLOCKS, seed=SEEDS)
def test_each_state_is_attention_to_the_keys_so_far(
    queries: int, keys: int, block: int, seed: int
) -> None:
    q, k, v = (random(2, size, 3, seed=seed + size) for size in (queries, keys, keys))
    visible = random_mask((queries, keys), seed)
    states = list(running_attention(q, k, v, visible, block=block))
    assert len(states) == -(-keys // block)
    for number, state in enumerate(states, start=1):
        seen = min(number * block, keys)
        scores = attention_scores(q, k[:, :seen])
        known = reference_attention(q, k[:, :seen], v[:, :seen], visible[:, :seen])
        torch.testing.assert_close(state.output(), known)
        largest = scores.masked_fill(~visible[:, :seen], float("-inf")).amax(-1)
        assert torch.equal(state.row_max, largest)


# The kernel


MASK_SHAPES: list[Callable[[int, int], tuple[int, ...] | None]] = [
    lambda queries, keys: None,
    lambda queries, keys: (keys,),
    lambda queries, keys: (queries, keys),
    lambda queries, keys: (queries, 1),
    lambda queries, keys: (2, 1, 1, keys),
    lambda queries, keys: (2, 3, queries, keys),
]


@given(
    sizes=st.tuples(LENGTHS, LENGTHS, BLOCKS),
    mask_shape=st.sampled_from(MASK_SHAPES),
    bias_shape=st.sampled_from(MASK_SHAPES),
    scale=st.sampled_from([None, 0.3, 1.0]),
    seed=SEEDS,
)
def test_blockwise_attention_agrees_with_reference_forward_and_backward(
    sizes: tuple[int, int, int],
    mask_shape: Callable[[int, int], tuple[int, ...] | None],
    bias_shape: Callable[[int, int], tuple[int, ...] | None],
    scale: float | None,
    seed: int,
) -> None:
    queries, keys, block = sizes
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

    def by_blocks(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        return blockwise_attention(q, k, v, visible, scale=scale, bias=bias, block=block)

    def at_once(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        return reference_attention(q, k, v, visible, scale=scale, bias=bias)

    results: list[list[Tensor]] = []
    for attend in (by_blocks, at_once):
        own = {name: leaf.clone().requires_grad_() for name, leaf in leaves.items()}
        output = attend(own["q"], own["k"], own["v"], own.get("bias"))
        gradients = torch.autograd.grad(output, list(own.values()), upstream)
        results.append([output, *gradients])
    for blocks, whole in zip(*results, strict=True):
        torch.testing.assert_close(blocks, whole)


@given(seed=SEEDS, block=BLOCKS)
def test_query_that_sees_nothing_gives_zeros_and_finite_gradients(seed: int, block: int) -> None:
    q, k, v = (random(2, 3, 4, 4, seed=seed + n).requires_grad_() for n in range(3))
    bias = random(3, 4, 4, seed=seed).requires_grad_()
    visible = random_mask((2, 1, 4, 4), seed)
    visible[..., 1, :] = False
    output = blockwise_attention(q, k, v, visible, bias=bias, block=block)
    assert (output[..., 1, :] == 0).all()
    output.square().sum().backward()
    for leaf in (q, k, v, bias):
        assert leaf.grad is not None
        assert leaf.grad.isfinite().all()
    assert q.grad is not None
    assert (q.grad[..., 1, :] == 0).all()


def test_memory_without_positions_gives_zeros() -> None:
    nothing = torch.zeros(2, 3, 0, 4)
    output = blockwise_attention(torch.ones(2, 3, 5, 4), nothing, nothing)
    assert torch.equal(output, torch.zeros(2, 3, 5, 4))
    none = blockwise_attention(nothing, torch.ones(2, 3, 5, 4), torch.ones(2, 3, 5, 4))
    assert none.shape == (2, 3, 0, 4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_hidden_keys_do_not_leak_in_half_precision(dtype: torch.dtype) -> None:
    q, k, v = (random(2, 3, 5, 4, seed=seed, dtype=dtype) for seed in range(3))
    visible = causal_mask(5) & torch.tensor([True, True, False, True, False])
    k_huge, v_huge = k.clone(), v.clone()
    k_huge[..., ~visible[-1], :], v_huge[..., ~visible[-1], :] = 6e4, 6e4
    output = blockwise_attention(q, k, v, visible, block=2)
    assert output.dtype == dtype
    assert torch.equal(output, blockwise_attention(q, k_huge, v_huge, visible, block=2))


@given(seed=SEEDS, start=st.integers(1, 5))
def test_later_keys_do_not_change_earlier_outputs_to_the_bit(seed: int, start: int) -> None:
    x, other = (random(2, 3, 6, 4, seed=seed + n, dtype=torch.float32) for n in range(2))
    changed = torch.cat((x[..., :start, :], other[..., start:, :]), -2)
    visible = causal_mask(6)
    before = blockwise_attention(x, x, x, visible, block=4)
    after = blockwise_attention(changed, changed, changed, visible, block=4)
    assert torch.equal(before[..., :start, :], after[..., :start, :])


def test_long_sums_keep_their_precision_in_half_precision() -> None:
    # 4,096 equal weights on ones: a bfloat16 sum of ones stops growing at 256.
    q, k = torch.zeros(1, 1, dtype=torch.bfloat16), torch.zeros(4096, 1, dtype=torch.bfloat16)
    assert blockwise_attention(q, k, torch.ones_like(k), block=16).item() == 1


def test_masks_that_are_not_boolean_are_refused() -> None:
    x = torch.ones(1, 2, 4)
    with pytest.raises(TypeError, match="visible must be boolean"):
        blockwise_attention(x, x, x, torch.ones(2, 2))


def test_blocks_without_keys_are_refused() -> None:
    x = torch.ones(1, 2, 4)
    with pytest.raises(ValueError, match=r"^block: 0 is less than 1$"):
        blockwise_attention(x, x, x, block=0)


# Dropout


def test_dropped_weights_leave_the_mean_output_unchanged() -> None:
    # Uniform weights 1/8 over values 0 and 1: mean 1/2. One draw has variance
    # 4 (1/8)² p / (1-p) = 1/16 at p = 1/2, so the mean of 4000 lies within 0.02 (5 deviations).
    torch.manual_seed(1)
    q, k = torch.zeros(4000, 1, 1, 2), torch.zeros(4000, 1, 8, 2)
    v = torch.tensor([0.0, 1.0] * 4).view(1, 1, 8, 1).expand(4000, 1, 8, 1)
    output = blockwise_attention(q, k, v, dropout=0.5, block=3)
    assert output.mean().item() == pytest.approx(0.5, abs=0.02)
    assert output.var().item() == pytest.approx(1 / 16, rel=0.1)


def test_backward_drops_the_weights_that_forward_dropped() -> None:
    # Values enter linearly, so with one mask the gradient of the sum, times v, is the sum.
    torch.manual_seed(2)
    q, k, v = (random(2, 6, 4, seed=n).requires_grad_() for n in range(3))
    output = blockwise_attention(q, k, v, dropout=0.5, block=2).sum()
    (gradient,) = torch.autograd.grad(output, v)
    torch.testing.assert_close((gradient * v).sum(), output)


def test_a_module_attends_by_blocks_when_handed_the_kernel() -> None:
    torch.manual_seed(3)
    plain = MultiHeadAttention(8, 2).double()
    blocks = MultiHeadAttention(8, 2, kernel=blockwise_attention).double()
    blocks.load_state_dict(plain.state_dict())
    x = random(2, 150, 8, seed=4)  # more than one block of 128
    torch.testing.assert_close(blocks(x, x), plain(x, x))


# Memory


def needed_bytes(kernel: AttentionKernel, length: int) -> int:
    q, k, v = (random(1, 1, length, 8, seed=n).requires_grad_() for n in range(3))
    visible = random_mask((1, 1, 1, length), 0)
    return peak_bytes(lambda: kernel(q, k, v, visible))


def test_twice_the_length_needs_twice_the_memory_and_not_four_times() -> None:
    # The reference shows that the meter sees weights: 8 bytes for each query and key at least.
    short, long = (needed_bytes(blockwise_attention, length) for length in (1024, 2048))
    assert long < 2.1 * short
    assert needed_bytes(reference_attention, 1024) > 1024 * 1024 * 8
    assert long < 2048 * 2048 * 8 / 4


def test_the_fused_kernel_agrees_on_long_inputs() -> None:
    # PyTorch's own kernel is the independent implementation here.
    q, k, v = (random(1, 2, 300, 8, seed=n) for n in range(3))
    visible = causal_mask(300)
    expected = fused_attention(q, k, v, visible)
    torch.testing.assert_close(blockwise_attention(q, k, v, visible), expected)
