import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.nn import (
    MultiHeadAttention,
    causal_mask,
    fused_attention,
    reference_attention,
)
from tests.nn.draws import random, random_mask

BOTH_KERNELS = pytest.mark.parametrize("kernel", [fused_attention, reference_attention])
SEEDS = st.integers(0, 2**31)


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
