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

BOTH_KERNELS = pytest.mark.parametrize("kernel", [fused_attention, reference_attention])
SEEDS = st.integers(0, 2**31)


def random(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def random_mask(shape: tuple[int, ...], seed: int) -> Tensor:
    """Hide some 40 per cent, so that a few queries see nothing."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.6


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


def seeded(
    d_model: int, heads: int, *, kv_heads: int | None = None, bias: bool = False
) -> MultiHeadAttention:
    torch.manual_seed(3)
    return MultiHeadAttention(d_model, heads, kv_heads=kv_heads, bias=bias).double()


@pytest.mark.parametrize(
    ("d_model", "heads", "kv_heads", "message"),
    [
        (512, 6, None, "heads: 6 does not divide d_model 512"),
        (8, 0, None, "heads: 0 does not divide d_model 8"),
        (8, 4, 3, "kv_heads: 3 does not divide heads 4"),
        (8, 4, 0, "kv_heads: 0 does not divide heads 4"),
    ],
)
def test_heads_that_do_not_fit_are_refused(
    d_model: int, heads: int, kv_heads: int | None, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        MultiHeadAttention(d_model, heads, kv_heads=kv_heads)


def test_a_given_head_width_need_not_divide_the_model_width() -> None:
    # Table 3 row B: d_k = 16 with d_model 512; here 3 heads of 5 and values of 7 on width 8.
    attention = MultiHeadAttention(8, 3, d_k=5, d_v=7)
    assert attention(torch.ones(2, 4, 8), torch.ones(2, 6, 8)).shape == (2, 4, 8)
    q, k, v = attention.projection_blocks()
    assert (q.shape, k.shape, v.shape) == ((15, 8), (15, 8), (21, 8))
    assert attention.output.weight.shape == (8, 21)


def test_projections_have_no_bias_unless_asked() -> None:
    # By hand: 4 matrices of 8 x 8, and 4 biases of 8.
    assert sum(weight.numel() for weight in MultiHeadAttention(8, 2).parameters()) == 256
    assert sum(weight.numel() for weight in MultiHeadAttention(8, 2, bias=True).parameters()) == 288


@given(kv_heads=st.sampled_from([1, 2, 4]), bias=st.booleans(), masked=st.booleans(), seed=SEEDS)
def test_each_head_is_plain_attention_on_its_own_columns(
    kv_heads: int, bias: bool, masked: bool, seed: int
) -> None:
    # Section 3.2.2 as written: head i attends with its own matrices; query head i reads key and
    # value head i // (heads / kv_heads).
    attention = seeded(12, 4, kv_heads=kv_heads, bias=bias)
    x, memory = random(2, 3, 12, seed=seed), random(2, 5, 12, seed=seed + 1)
    visible = random_mask((2, 1, 1, 5), seed) if masked else None
    widths = (12, 3 * kv_heads, 3 * kv_heads)
    zeros = torch.zeros(sum(widths), dtype=x.dtype)
    biases = (attention.query_key_value.bias if bias else zeros).split(widths)
    blocks = attention.projection_blocks()
    q = (x @ blocks[0].T + biases[0]).split(3, -1)
    k = (memory @ blocks[1].T + biases[1]).split(3, -1)
    v = (memory @ blocks[2].T + biases[2]).split(3, -1)
    shared = 4 // kv_heads
    heads = [
        reference_attention(
            q[i], k[i // shared], v[i // shared], None if visible is None else visible[:, 0]
        )
        for i in range(4)
    ]
    expected = attention.output(torch.cat(heads, -1))
    torch.testing.assert_close(attention(x, memory, visible), expected)


@given(seed=SEEDS, bias=st.booleans())
def test_self_attention_equals_reading_from_a_copy(seed: int, bias: bool) -> None:
    attention, x = seeded(8, 2, bias=bias), random(2, 5, 8, seed=seed)
    torch.testing.assert_close(attention(x, x), attention(x, x.clone()))


@given(
    chunks=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    kv_heads=st.sampled_from([1, 2, 4]),
    seed=SEEDS,
)
def test_extending_step_by_step_equals_the_whole_causal_pass(
    chunks: list[int], kv_heads: int, seed: int
) -> None:
    attention, length = seeded(8, 4, kv_heads=kv_heads, bias=True), sum(chunks)
    x = random(2, length, 8, seed=seed)
    whole = attention(x, x, causal_mask(length))
    past, outputs = None, []
    for new in x.split(chunks, 1):
        seen = (0 if past is None else past.length) + new.size(1)
        output, past = attention.extend(new, past, causal_mask(new.size(1), seen))
        outputs.append(output)
    torch.testing.assert_close(torch.cat(outputs, 1), whole)
    assert past is not None
    assert past.length == length


def test_a_kernel_can_be_handed_in_and_sees_every_head() -> None:
    seen: list[tuple[torch.Size, ...]] = []

    def spying(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        visible: Tensor | None = None,
        *,
        scale: float | None = None,
        bias: Tensor | None = None,
        dropout: float = 0.0,
    ) -> Tensor:
        seen.append((q.shape, k.shape, v.shape))
        return reference_attention(q, k, v, visible, scale=scale, bias=bias, dropout=dropout)

    attention = MultiHeadAttention(8, 4, kv_heads=2, kernel=spying)
    attention(torch.ones(3, 5, 8), torch.ones(3, 6, 8))
    assert seen == [((3, 4, 5, 2), (3, 4, 6, 2), (3, 4, 6, 2))]


def test_weights_are_dropped_in_training_only() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2, dropout=0.5)
    x = torch.randn(2, 5, 8)
    plain = attention.eval()(x, x)
    assert torch.equal(plain, attention(x, x))
    assert not torch.allclose(plain, attention.train()(x, x))


@pytest.mark.parametrize("shape", [(0, 5, 12), (2, 0, 12)])
def test_an_empty_batch_or_sequence_gives_an_empty_result(shape: tuple[int, ...]) -> None:
    attention = MultiHeadAttention(12, 2)
    x = torch.randn(shape)
    assert attention(x, x).shape == shape
    assert attention.extend(x, None)[0].shape == shape


def test_a_mask_of_another_length_than_the_keys_is_refused() -> None:
    attention = MultiHeadAttention(12, 2)
    x = torch.randn(2, 5, 12)
    with pytest.raises(RuntimeError):
        attention(x, x, torch.ones(2, 1, 1, 9, dtype=torch.bool))


def test_a_source_of_padding_alone_is_read_as_nothing() -> None:
    attention = MultiHeadAttention(12, 2)
    x, memory = torch.randn(2, 5, 12), torch.randn(2, 0, 12)
    assert torch.equal(attention(x, memory), torch.zeros(2, 5, 12))
