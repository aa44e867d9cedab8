import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.nn import (
    LinearAttention,
    LinearState,
    MultiHeadAttention,
    causal_mask,
    linear_attention,
    linear_attention_weights,
    reference_linear_attention,
)
from dragoman.nn.linear_state import CHUNK, feature_map
from tests.nn.draws import random, random_mask
from tests.nn.peak_memory import peak_bytes

SEEDS = st.integers(0, 2**31)
KERNELS = pytest.mark.parametrize("attend", [linear_attention, reference_linear_attention])
Attend = Callable[..., Tensor]


# The formula


def test_features_are_elu_plus_one() -> None:
    # PyTorch's elu; and far below 0, where elu + 1 is 0 in float32, still e^x.
    x = torch.linspace(-8, 8, 33, dtype=torch.float64).requires_grad_()
    torch.testing.assert_close(feature_map(x), F.elu(x) + 1)
    (slope,) = torch.autograd.grad(feature_map(x).sum(), x)
    torch.testing.assert_close(slope, x.detach().clamp(max=0).exp())
    assert feature_map(torch.tensor(-30.0)).item() == pytest.approx(math.exp(-30), rel=1e-6)


def test_weights_are_products_of_features_over_their_sum() -> None:
    # By hand: phi(1) = 2; phi(0) = 1, phi(1) = 2, phi(2) = 3: weights 2, 4, 6 of 12.
    q, k = torch.tensor([[1.0]]), torch.tensor([[0.0], [1.0], [2.0]])
    weights = linear_attention_weights(q, k, causal=False)
    torch.testing.assert_close(weights, torch.tensor([[1 / 6, 1 / 3, 1 / 2]]))
    hidden = torch.tensor([True, False, True])  # then 2 and 6 of 8
    weights = linear_attention_weights(q, k, hidden, causal=False)
    torch.testing.assert_close(weights, torch.tensor([[1 / 4, 0, 3 / 4]]))


@KERNELS
def test_causal_queries_see_no_later_keys(attend: Attend) -> None:
    # By hand, with features 1 and 3 of the keys: 5, then (1·5 + 3·9) / 4 = 8.
    q, k, v = torch.zeros(2, 1), torch.tensor([[0.0], [2.0]]), torch.tensor([[5.0], [9.0]])
    assert attend(q, k, v, causal=True).tolist() == [[5.0], [8.0]]


@given(
    length=st.sampled_from([1, 2, 5, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 3]),
    causal=st.booleans(),
    masked=st.booleans(),
    seed=SEEDS,
)
def test_linear_attention_agrees_with_reference_forward_and_backward(
    length: int, causal: bool, masked: bool, seed: int
) -> None:
    visible = random_mask((2, 1, length), seed) if masked else None
    upstream = random(2, 3, length, 5, seed=seed)
    leaves = [random(2, 3, length, width, seed=seed + n) for n, width in enumerate((4, 4, 5))]
    results: list[list[Tensor]] = []
    for attend in (linear_attention, reference_linear_attention):
        own = [leaf.clone().requires_grad_() for leaf in leaves]
        output = attend(own[0], own[1], own[2], visible, causal=causal)
        results.append([output, *torch.autograd.grad(output, own, upstream)])
    for fast, slow in zip(*results, strict=True):
        torch.testing.assert_close(fast, slow)


@KERNELS
@pytest.mark.parametrize("causal", [False, True])
def test_query_that_sees_nothing_gives_zeros_and_finite_gradients(
    attend: Attend, causal: bool
) -> None:
    q, k, v = (random(2, 3, 4, 4, seed=n).requires_grad_() for n in range(3))
    visible = torch.tensor([[False] * 4, [False, False, True, True]])[:, None]
    output = attend(q, k, v, visible, causal=causal)
    assert (output[0] == 0).all()
    assert (output[1, :, :2] == 0).all() == causal
    output.square().sum().backward()
    for leaf in (q, k, v):
        assert leaf.grad is not None
        assert leaf.grad.isfinite().all()


def test_hidden_keys_change_nothing_to_the_bit() -> None:
    q, k, v = (random(2, 3, 5, 4, seed=n, dtype=torch.float32) for n in range(3))
    visible = torch.tensor([True, False, True, True, False])
    k_huge, v_huge = k.clone(), v.clone()
    k_huge[..., ~visible, :], v_huge[..., ~visible, :] = 6e4, 6e4
    for causal in (False, True):
        before = linear_attention(q, k, v, visible, causal=causal)
        assert torch.equal(before, linear_attention(q, k_huge, v_huge, visible, causal=causal))


@given(seed=SEEDS, start=st.integers(1, CHUNK + 8))
def test_later_positions_do_not_change_earlier_outputs_to_the_bit(seed: int, start: int) -> None:
    x, other = (random(1, 2, CHUNK + 9, 4, seed=seed + n, dtype=torch.float32) for n in range(2))
    changed = torch.cat((x[..., :start, :], other[..., start:, :]), -2)
    before = linear_attention(x, x, x, causal=True)
    after = linear_attention(changed, changed, changed, causal=True)
    assert torch.equal(before[..., :start, :], after[..., :start, :])


@pytest.mark.parametrize("causal", [False, True])
def test_sums_run_in_float32_under_half_precision(causal: bool) -> None:
    # 4,096 equal weights on ones: a bfloat16 sum of ones stops growing at 256.
    x = torch.zeros(4096, 1, dtype=torch.bfloat16)
    output = linear_attention(x, x, torch.ones_like(x), causal=causal)
    assert output.dtype == torch.bfloat16
    assert (output == 1).all()


@pytest.mark.parametrize("causal", [False, True])
def test_autocast_does_not_lower_the_sums(causal: bool) -> None:
    q, k, v = (random(2, 9, 4, seed=n, dtype=torch.float32) for n in range(3))
    expected = linear_attention(q, k, v, causal=causal)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(linear_attention(q, k, v, causal=causal), expected)


@KERNELS
def test_causal_attention_to_another_number_of_keys_is_refused(attend: Attend) -> None:
    q, k = torch.ones(2, 1), torch.ones(3, 1)
    with pytest.raises(ValueError, match=r"^causal: there are 2 queries, but 3 keys$"):
        attend(q, k, k, causal=True)


@KERNELS
def test_masks_that_are_not_boolean_are_refused(attend: Attend) -> None:
    x = torch.ones(2, 1)
    with pytest.raises(TypeError, match="visible must be boolean"):
        attend(x, x, x, torch.ones(2), causal=False)


# Memory


def needed_bytes(attend: Attend, length: int, width: int, *, causal: bool) -> int:
    q, k, v = (random(1, 1, length, width, seed=n).requires_grad_() for n in range(3))
    return peak_bytes(lambda: attend(q, k, v, causal=causal))


@pytest.mark.parametrize("causal", [False, True])
def test_twice_the_length_needs_twice_the_memory_and_not_four_times(causal: bool) -> None:
    # The reference shows that the meter sees weights: 8 bytes for each query and key at least.
    short, long = (needed_bytes(linear_attention, n, 8, causal=causal) for n in (512, 1024))
    assert long < 2.1 * short
    assert needed_bytes(reference_linear_attention, 512, 8, causal=causal) > 512 * 512 * 8


def test_training_keeps_no_sums_for_each_position() -> None:
    # Sums of 64 x 64 for each of 512 positions would be 16 MiB in float64.
    assert needed_bytes(linear_attention, 512, 64, causal=True) < 512 * 64 * 64 * 8 / 2


# The module


def seeded(
    *,
    kv_heads: int | None = None,
    d_k: int | None = None,
    bias: bool = False,
    causal: bool = False,
) -> LinearAttention:
    torch.manual_seed(3)
    module = LinearAttention(8, 4, kv_heads=kv_heads, d_k=d_k, bias=bias, causal=causal)
    return module.double()


def test_parameters_have_the_names_and_shapes_of_multi_head_attention() -> None:
    for bias in (False, True):
        linear = LinearAttention(8, 4, kv_heads=2, d_k=3, d_v=5, bias=bias)
        softmax = MultiHeadAttention(8, 4, kv_heads=2, d_k=3, d_v=5, bias=bias)
        linear.load_state_dict(softmax.state_dict())
        for block, other in zip(
            linear.projection_blocks(), softmax.projection_blocks(), strict=True
        ):
            assert torch.equal(block, other)


@pytest.mark.parametrize(
    ("heads", "kv_heads", "message"),
    [
        (3, None, "heads: 3 does not divide d_model 8"),
        (4, 3, "kv_heads: 3 does not divide heads 4"),
    ],
)
def test_heads_that_do_not_fit_are_refused(heads: int, kv_heads: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        LinearAttention(8, heads, kv_heads=kv_heads)


@given(
    kv_heads=st.sampled_from([1, 2, 4]),
    causal=st.booleans(),
    masked=st.booleans(),
    seed=SEEDS,
)
def test_each_head_is_linear_attention_on_its_own_columns(
    kv_heads: int, causal: bool, masked: bool, seed: int
) -> None:
    # Query head i reads key and value head i // (heads / kv_heads).
    attention, x = seeded(kv_heads=kv_heads, d_k=3, causal=causal), random(2, 5, 8, seed=seed)
    visible = random_mask((2, 1, 1, 5), seed) if masked else None
    q, k, v = (x @ block.T for block in attention.projection_blocks())
    q, k, v = q.split(3, -1), k.split(3, -1), v.split(3, -1)
    shared = 4 // kv_heads
    keys_visible = None if visible is None else visible[:, 0, 0]
    heads = [
        reference_linear_attention(
            q[i], k[i // shared], v[i // shared], keys_visible, causal=causal
        )
        for i in range(4)
    ]
    expected = attention.output(torch.cat(heads, -1))
    torch.testing.assert_close(attention(x, x, visible), expected)


@given(kv_heads=st.sampled_from([1, 4]), bias=st.booleans(), seed=SEEDS)
def test_reading_from_a_memory_sees_all_its_visible_keys(
    kv_heads: int, bias: bool, seed: int
) -> None:
    # Causality is for a sequence of its own, as in MultiHeadAttention.
    plain, causal = (
        seeded(kv_heads=kv_heads, bias=bias, causal=choice) for choice in (False, True)
    )
    x, visible = random(2, 5, 8, seed=seed), random_mask((2, 1, 1, 5), seed)
    expected = plain(x, x, visible)
    torch.testing.assert_close(causal(x, x.clone(), visible), expected)
    known = causal.project_memory(x, visible)
    assert (known.length, known.products.shape) == (5, (2, kv_heads, 2, 2))
    torch.testing.assert_close(causal.read(x, known, visible), expected)


@given(
    chunks=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    kv_heads=st.sampled_from([1, 2, 4]),
    masked=st.booleans(),
    seed=SEEDS,
)
def test_extending_step_by_step_equals_the_whole_causal_pass(
    chunks: list[int], kv_heads: int, masked: bool, seed: int
) -> None:
    attention = seeded(kv_heads=kv_heads, bias=True, causal=True)
    length = sum(chunks)
    x = random(2, length, 8, seed=seed)
    visible = random_mask((2, 1, 1, length), seed) if masked else None
    whole, past, outputs, sizes = attention(x, x, visible), None, [], set[int]()
    for new in x.split(chunks, 1):
        seen = (0 if past is None else past.length) + new.size(1)
        shown = None if visible is None else visible[..., :seen]
        output, past = attention.extend(new, past, shown)
        outputs.append(output)
        sizes.add(past.products.numel() + past.keys.numel())
    torch.testing.assert_close(torch.cat(outputs, 1), whole)
    assert past is not None
    assert past.length == length
    assert sizes == {2 * kv_heads * (2 * 2 + 2)}  # by hand; the same after any number of steps


def test_new_positions_see_each_other_unless_causal() -> None:
    attention, x = seeded(), random(2, 5, 8, seed=1)
    _, past = attention.extend(x[:, :2], None)
    output, _ = attention.extend(x[:, 2:], past)
    torch.testing.assert_close(output, attention(x, x)[:, 2:])


def test_selected_rows_go_on_by_themselves() -> None:
    attention, x = seeded(causal=True), random(3, 4, 8, seed=1)
    _, past = attention.extend(x[:, :3], None)
    rows = torch.tensor([2, 0, 2])
    output, grown = attention.extend(x[rows, 3:], past.select(rows))
    torch.testing.assert_close(output, attention(x, x)[rows, 3:])
    assert grown.length == 4


def test_state_is_left_as_it_was() -> None:
    attention, x = seeded(causal=True), random(1, 3, 8, seed=1)
    _, past = attention.extend(x, None)
    before = LinearState(past.products.clone(), past.keys.clone(), past.length)
    attention.extend(x, past)
    assert torch.equal(past.products, before.products)
    assert torch.equal(past.keys, before.keys)


def test_half_precision_keeps_its_state_in_float32() -> None:
    attention, x = seeded(causal=True).bfloat16(), random(1, 3, 8, seed=1, dtype=torch.bfloat16)
    output, past = attention.extend(x, None)
    assert (output.dtype, past.products.dtype, past.keys.dtype) == (
        torch.bfloat16,
        torch.float32,
        torch.float32,
    )


@pytest.mark.parametrize("mask", [causal_mask(5), torch.ones(2, 4, 1, 5, dtype=torch.bool)])
def test_masks_that_tell_queries_or_heads_apart_are_refused(mask: Tensor) -> None:
    attention, x = seeded(), random(2, 5, 8, seed=1)
    calls: list[Callable[[], object]] = [
        lambda: attention(x, x, mask),
        lambda: attention.extend(x, None, mask),
        lambda: attention.project_memory(x, mask),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"^visible: .*tells queries or heads apart"):
            call()


def test_masks_for_another_number_of_keys_are_refused() -> None:
    attention, x = seeded(), random(2, 5, 8, seed=1)
    with pytest.raises(ValueError, match=r"^visible: is for 4 keys, not 5$"):
        attention(x, x, torch.ones(2, 1, 1, 4, dtype=torch.bool))


def test_additive_masks_are_refused() -> None:
    attention, x = seeded(), random(2, 5, 8, seed=1)
    with pytest.raises(TypeError, match="visible must be boolean"):
        attention(x, x, torch.zeros(2, 1, 1, 5))
