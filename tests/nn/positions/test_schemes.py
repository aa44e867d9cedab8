"""What every scheme of positions owes to attention."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from dragoman.nn import (
    AttentionKernel,
    KeyValues,
    MultiHeadAttention,
    attention_weights,
    fused_attention,
    reference_attention,
)
from dragoman.nn.patterns import Causal, Local, Pattern
from tests.nn.positions.schemes import (
    D_MODEL,
    HEADS,
    KV_HEADS,
    SCHEMES,
    WIDTH,
    attention_with,
    random,
)

EVERY_SCHEME = pytest.mark.parametrize("scheme", SCHEMES)
BOTH_KERNELS = pytest.mark.parametrize("kernel", [fused_attention, reference_attention])
PATTERNS = st.one_of(
    st.just(Causal()), st.builds(Local, half_width=st.integers(0, 4), causal=st.just(True))
)


def fed(attention: MultiHeadAttention, x: Tensor, lengths: list[int]) -> Tensor:
    """Feed ``x`` piece by piece."""
    past: KeyValues | None = None
    outputs: list[Tensor] = []
    for piece in x.split(lengths, dim=1):
        output, past = attention.extend(piece, past)
        outputs.append(output)
    return torch.cat(outputs, dim=1)


@EVERY_SCHEME
@settings(max_examples=8)
@given(length=st.integers(1, 12), pattern=PATTERNS, seed=st.integers(0, 2**31))
def test_positions_fed_one_by_one_equal_the_whole_sequence_at_once(
    scheme: str, length: int, pattern: Pattern, seed: int
) -> None:
    attention = attention_with(scheme, pattern=pattern)
    x = random(2, length, D_MODEL, seed=seed)
    one_by_one = fed(attention, x, [1] * length)
    torch.testing.assert_close(one_by_one, attention(x, x), atol=1e-5, rtol=0)


@EVERY_SCHEME
@settings(max_examples=8)
@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4), pattern=PATTERNS)
def test_positions_fed_in_pieces_of_any_length_equal_the_whole_sequence_at_once(
    scheme: str, lengths: list[int], pattern: Pattern
) -> None:
    attention = attention_with(scheme, pattern=pattern)
    x = random(2, sum(lengths), D_MODEL, seed=5)
    torch.testing.assert_close(fed(attention, x, lengths), attention(x, x), atol=1e-5, rtol=0)


@EVERY_SCHEME
@settings(max_examples=6)
@given(shift=st.integers(0, 40), seed=st.integers(0, 2**31))
def test_only_relative_places_count(scheme: str, shift: int, seed: int) -> None:
    # The window has forgotten the past, so the same pieces later give the same output.
    attention = attention_with(scheme, pattern=Local(2, causal=True))
    before, x = random(2, shift + 2, D_MODEL, seed=seed), random(2, 6, D_MODEL, seed=seed + 1)
    early, late = fed(attention, x, [6]), fed(attention, torch.cat((before, x), 1), [shift + 8])
    torch.testing.assert_close(late[:, shift + 4 :], early[:, 2:])


@EVERY_SCHEME
def test_order_matters(scheme: str) -> None:
    # Without positions, two keys that change places change nothing for the third query.
    attention, x = attention_with(scheme), random(1, 3, D_MODEL, seed=1)
    moved = x[:, [1, 0, 2]]
    assert not torch.allclose(attention(x, x)[:, 2], attention(moved, moved)[:, 2], atol=1e-3)
    attention.positions = None
    torch.testing.assert_close(attention(x, x)[:, 2], attention(moved, moved)[:, 2])


@EVERY_SCHEME
@given(keys=st.integers(1, 7), seed=st.integers(0, 2**31))
@settings(max_examples=8)
def test_the_kernels_agree_under_any_mask(scheme: str, keys: int, seed: int) -> None:
    visible = torch.rand(2, 1, keys, keys, generator=torch.Generator().manual_seed(seed)) < 0.6
    x = random(2, keys, D_MODEL, seed=seed)
    outputs: list[Tensor] = []
    for kernel in (fused_attention, reference_attention):
        attention = attention_with(scheme, kernel=kernel)
        outputs.append(attention(x, x, visible))
    torch.testing.assert_close(*outputs)


@EVERY_SCHEME
@BOTH_KERNELS
@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str
)
def test_a_query_that_sees_nothing_gets_zeros_and_finite_gradients(
    scheme: str, kernel: AttentionKernel, dtype: torch.dtype
) -> None:
    attention = attention_with(scheme, kernel=kernel, dtype=dtype)
    visible = torch.ones(2, 1, 5, 5, dtype=torch.bool).tril()
    visible[0, :, 2] = False  # one query of the first sentence
    visible[1] = False  # a sentence that is all padding
    x = random(2, 5, D_MODEL, seed=2, dtype=dtype).requires_grad_()
    output = attention(x, x, visible)
    assert output.dtype == dtype
    assert output.isfinite().all()
    assert (output[0, 2] == 0).all()
    assert (output[1] == 0).all()
    assert (output[0, [0, 1, 3, 4]] != 0).any(-1).all()
    output.float().square().sum().backward()
    for leaf in (x, *attention.parameters()):
        assert leaf.grad is not None
        assert leaf.grad.isfinite().all()
        assert (leaf.grad != 0).any()


@EVERY_SCHEME
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_stays_near_the_exact_result(scheme: str, dtype: torch.dtype) -> None:
    attention = attention_with(scheme, pattern=Causal(), dtype=dtype)
    x = random(2, 40, D_MODEL, seed=3, dtype=dtype)
    rough, exact_x = attention(x, x), x.double()
    exact = attention.double()(exact_x, exact_x)  # of the same rounded weights
    gap = 4 * torch.finfo(dtype).eps * exact.abs().max().item()
    torch.testing.assert_close(rough.double(), exact, atol=gap, rtol=0)


@EVERY_SCHEME
def test_a_kernel_that_records_sees_the_weights_of_every_scheme(scheme: str) -> None:
    seen: list[Tensor] = []

    def recording(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        visible: Tensor | None = None,
        *,
        scale: float | None = None,
        bias: Tensor | None = None,
        dropout: float = 0.0,
    ) -> Tensor:
        seen.append(attention_weights(q, k, visible, scale=scale, bias=bias))
        return fused_attention(q, k, v, visible, scale=scale, bias=bias, dropout=dropout)

    attention = attention_with(scheme, pattern=Causal(), kernel=recording)
    x = random(2, 5, D_MODEL, seed=4)
    output = attention(x, x)
    (weights,) = seen  # the kernel is called once
    assert weights.shape == (2, HEADS, 5, 5)
    torch.testing.assert_close(output, attention_with(scheme, pattern=Causal())(x, x))


@EVERY_SCHEME
@BOTH_KERNELS
def test_a_single_new_query_costs_no_more_than_its_keys(
    scheme: str, kernel: AttentionKernel
) -> None:
    # Biases are made for the queries there are: (…, 1, K), never (…, K, K).
    shapes: list[torch.Size] = []

    def looking(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        visible: Tensor | None = None,
        *,
        scale: float | None = None,
        bias: Tensor | None = None,
        dropout: float = 0.0,
    ) -> Tensor:
        if bias is not None:
            shapes.append(bias.shape)
        return kernel(q, k, v, visible, scale=scale, bias=bias, dropout=dropout)

    attention = attention_with(scheme, pattern=Causal(), kernel=looking)
    _, past = attention.extend(random(2, 9, D_MODEL, seed=6), None)
    shapes.clear()
    attention.extend(random(2, 1, D_MODEL, seed=7), past)
    assert all(shape[-2:] == (1, 10) for shape in shapes)
    assert len(shapes) == (0 if scheme.startswith("rotary") else 1)


@EVERY_SCHEME
def test_what_was_decoded_in_inference_mode_can_be_trained(scheme: str) -> None:
    # Tables that grow while decoding must not poison gradients.
    attention = attention_with(scheme, pattern=Local(3, causal=True), dtype=torch.float32)
    with torch.inference_mode():
        attention(*[random(1, 300, D_MODEL, seed=8, dtype=torch.float32)] * 2)
    x = random(1, 4, D_MODEL, seed=9, dtype=torch.float32).requires_grad_()
    attention(x, x).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


@EVERY_SCHEME
def test_grouped_keys_are_turned_like_queries(scheme: str) -> None:
    # As many keys as heads, each group's copied, is the same attention.
    grouped, x = attention_with(scheme, pattern=Causal()), random(2, 6, D_MODEL, seed=10)
    full = MultiHeadAttention(
        D_MODEL, HEADS, d_k=WIDTH, pattern=Causal(), positions=grouped.positions
    ).double()
    q, *keys_and_values = grouped.projection_blocks()
    copied = [
        block.view(KV_HEADS, WIDTH, D_MODEL).repeat_interleave(HEADS // KV_HEADS, 0).flatten(0, 1)
        for block in keys_and_values
    ]
    full.query_key_value.weight.data = torch.cat((q, *copied)).detach()
    full.output = grouped.output
    torch.testing.assert_close(full(x, x), grouped(x, x))


@EVERY_SCHEME
def test_learned_values_are_drawn_anew_from_the_generator(scheme: str) -> None:
    positions = SCHEMES[scheme]()
    assert isinstance(positions, nn.Module)
    learned = list(positions.parameters())
    if not learned:
        assert not hasattr(positions, "reset")  # nothing to draw
        return
    positions.reset(torch.Generator().manual_seed(1))  # pyright: ignore[reportCallIssue]  # a module's attribute
    first = [parameter.detach().clone() for parameter in learned]
    positions.reset(torch.Generator().manual_seed(2))  # pyright: ignore[reportCallIssue]  # as above
    assert not any(torch.equal(*pair) for pair in zip(first, learned, strict=True))
    positions.reset(torch.Generator().manual_seed(1))  # pyright: ignore[reportCallIssue]  # as above
    assert all(torch.equal(*pair) for pair in zip(first, learned, strict=True))
    for table in learned:  # Glorot and Bengio 2010: uniform within ±√(6 / (rows + columns))
        limit = (6 / sum(table.shape)) ** 0.5
        assert 0.6 * limit < table.abs().max() <= limit
