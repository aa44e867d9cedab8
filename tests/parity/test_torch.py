"""Our attention and layers against PyTorch's own with the same weights."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.nn import (
    Activation,
    Causal,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    Residual,
    causal_mask,
    gelu,
    relu,
)

WIDTH, HEADS, INNER, EPS = 24, 4, 40, 1e-5
ACTIVATIONS: dict[str, tuple[Activation, Callable[[Tensor], Tensor]]] = {
    "relu": (relu, F.relu),
    "gelu": (gelu, F.gelu),
}


def draw(module: nn.Module) -> None:
    """Draw every weight anew: PyTorch's first biases are zero and its gains one."""
    rng = torch.Generator().manual_seed(5)
    for weight in module.parameters():
        weight.data.normal_(std=0.3, generator=rng)


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def assert_same(got: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


def hidden_keys(rows: int, keys: int) -> Tensor:
    """Mark padding as PyTorch does, True = hidden: none in the first row, more in each other."""
    return torch.arange(keys) >= keys - 2 * torch.arange(rows)[:, None]


def attention_like(theirs: nn.MultiheadAttention, *, causal: bool = False) -> MultiHeadAttention:
    ours = MultiHeadAttention(
        WIDTH,
        HEADS,
        bias=theirs.in_proj_bias is not None,
        pattern=Causal() if causal else None,
    )
    assert theirs.in_proj_weight is not None
    ours.query_key_value.weight.data.copy_(theirs.in_proj_weight)
    if theirs.in_proj_bias is not None:
        ours.query_key_value.bias.data.copy_(theirs.in_proj_bias)
    ours.output.load_state_dict(theirs.out_proj.state_dict())
    return ours


def feed_forward_like(theirs: nn.Module, activation: Activation) -> FeedForward:
    ours = FeedForward(WIDTH, INNER, activation=activation)
    ours.inner.load_state_dict(theirs.get_submodule("linear1").state_dict())
    ours.output.load_state_dict(theirs.get_submodule("linear2").state_dict())
    return ours


def residual_like(theirs: nn.Module, *, norm_first: bool) -> Residual:
    assert isinstance(theirs, nn.LayerNorm)
    norm = LayerNorm(WIDTH, eps=theirs.eps)
    norm.gain.data.copy_(theirs.weight)
    norm.bias.data.copy_(theirs.bias)
    return Residual(norm, dropout=0.0, order="pre" if norm_first else "post")


@pytest.mark.parametrize("bias", [True, False])
def test_self_attention_is_that_of_torch(bias: bool) -> None:
    theirs = nn.MultiheadAttention(WIDTH, HEADS, bias=bias, batch_first=True)
    draw(theirs)
    x, hidden = randn(3, 7, WIDTH), hidden_keys(3, 7)
    expected, _ = theirs(
        x, x, x, key_padding_mask=hidden, attn_mask=~causal_mask(7), need_weights=False
    )
    ours = attention_like(theirs, causal=True)
    assert_same(ours(x, x, ~hidden[:, None, None]), expected)


@pytest.mark.parametrize("bias", [True, False])
def test_attention_to_a_source_is_that_of_torch(bias: bool) -> None:
    theirs = nn.MultiheadAttention(WIDTH, HEADS, bias=bias, batch_first=True)
    draw(theirs)
    x, memory, hidden = randn(3, 7, WIDTH), randn(3, 9, WIDTH, seed=1), hidden_keys(3, 9)
    expected, _ = theirs(x, memory, memory, key_padding_mask=hidden, need_weights=False)
    assert_same(attention_like(theirs)(x, memory, ~hidden[:, None, None]), expected)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_encoder_layer_is_that_of_torch(name: str, norm_first: bool) -> None:
    activation, function = ACTIVATIONS[name]
    theirs = nn.TransformerEncoderLayer(
        WIDTH, HEADS, INNER, 0.0, function, EPS, batch_first=True, norm_first=norm_first
    )
    draw(theirs)
    ours = EncoderLayer(
        attention_like(theirs.self_attn),
        feed_forward_like(theirs, activation),
        (
            residual_like(theirs.norm1, norm_first=norm_first),
            residual_like(theirs.norm2, norm_first=norm_first),
        ),
    )
    x, hidden = randn(3, 7, WIDTH), hidden_keys(3, 7)
    expected = theirs(x, src_key_padding_mask=hidden)
    assert_same(ours(x, ~hidden[:, None, None]), expected)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_decoder_layer_is_that_of_torch(name: str, norm_first: bool) -> None:
    activation, function = ACTIVATIONS[name]
    theirs = nn.TransformerDecoderLayer(
        WIDTH, HEADS, INNER, 0.0, function, EPS, batch_first=True, norm_first=norm_first
    )
    draw(theirs)
    ours = DecoderLayer(
        attention_like(theirs.self_attn, causal=True),
        attention_like(theirs.multihead_attn),
        feed_forward_like(theirs, activation),
        [
            residual_like(norm, norm_first=norm_first)
            for norm in (theirs.norm1, theirs.norm2, theirs.norm3)
        ],
    )
    x, memory, hidden = randn(3, 7, WIDTH), randn(3, 9, WIDTH, seed=1), hidden_keys(3, 9)
    expected = theirs(x, memory, tgt_mask=~causal_mask(7), memory_key_padding_mask=hidden)
    assert_same(ours(x, memory, None, ~hidden[:, None, None]), expected)
