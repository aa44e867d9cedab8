"""Put the weights of a case into modules. ``y = x W + b``: ``W`` is [in, out], ours [out, in]."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.nn import (
    AttentionKernel,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    NormOrder,
    Residual,
    attention_scores,
    attention_weights,
    fused_attention,
)

Weights = Mapping[str, Tensor]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": F.gelu,  # exact
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class Recorder:
    """An attention kernel that remembers what it last saw and gave, of the first sentence."""

    def __init__(self, kernel: AttentionKernel, scale: float | None = None) -> None:
        self.kernel, self.scale = kernel, scale
        self.seen: dict[str, Tensor] = {}

    def __call__(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        visible: Tensor | None = None,
        *,
        scale: float | None = None,
        bias: Tensor | None = None,
        dropout: float = 0.0,
    ) -> Tensor:
        scale = self.scale if scale is None else scale
        z = self.kernel(q, k, v, visible, scale=scale, bias=bias, dropout=dropout)
        scores = attention_scores(q, k, scale=scale, bias=bias)
        weights = attention_weights(q, k, visible, scale=scale, bias=bias)
        seen = {"q": q, "k": k, "v": v, "scores": scores, "weights": weights, "z": z}
        self.seen = {name: value[0] for name, value in seen.items()}
        return z

    def named(self) -> dict[str, Tensor]:
        """Give what the only head did."""
        return {name: value[0] for name, value in self.seen.items()}


def fill_linear(linear: nn.Linear, weight: Tensor, bias: Tensor | None) -> None:
    linear.weight.data.copy_(weight.T)
    fill_bias(linear, bias)


def fill_bias(linear: nn.Linear, bias: Tensor | None) -> None:
    """Fill a bias; a case that names none has none, so ours is zero if it exists."""
    if isinstance(linear.bias, nn.Parameter):  # None where there is no bias
        linear.bias.data.copy_(torch.zeros_like(linear.bias) if bias is None else bias)
    else:
        assert bias is None


def fill_attention(module: MultiHeadAttention, weights: Weights) -> None:
    blocks = dict(zip("qkv", module.projection_blocks(), strict=True))
    for name, block in blocks.items():
        block.data.copy_(weights[f"W_{name}"].T)
    biases = [
        weights.get(f"b_{name}", block.new_zeros(len(block))) for name, block in blocks.items()
    ]
    given = any(f"b_{name}" in weights for name in blocks)
    fill_bias(module.query_key_value, torch.cat(biases) if given else None)
    fill_linear(module.output, weights["W_o"], weights.get("b_o"))


def attention_from(
    weights: Weights,
    *,
    heads: int,
    kv_heads: int | None = None,
    kernel: AttentionKernel = fused_attention,
) -> MultiHeadAttention:
    kv_heads = heads if kv_heads is None else kv_heads
    module = MultiHeadAttention(
        weights["W_q"].size(0),
        heads,
        kv_heads=kv_heads,
        d_k=weights["W_q"].size(1) // heads,
        d_v=weights["W_v"].size(1) // kv_heads,
        bias=any(name.startswith("b_") for name in weights),
        kernel=kernel,
    ).to(weights["W_q"].dtype)
    fill_attention(module, weights)
    return module


def fill_feed_forward(module: FeedForward, weights: Weights) -> None:
    fill_linear(module.inner, weights["W_1"], weights.get("b_1"))
    fill_linear(module.output, weights["W_2"], weights.get("b_2"))


def feed_forward_from(weights: Weights, activation: str = "relu") -> FeedForward:
    d_model, d_ff = weights["W_1"].shape
    module = FeedForward(
        d_model, d_ff, activation=ACTIVATIONS[activation], bias="b_1" in weights or "b_2" in weights
    ).to(weights["W_1"].dtype)
    fill_feed_forward(module, weights)
    return module


def fill_norm(module: LayerNorm, weights: Weights) -> None:
    module.gain.data.copy_(weights["gain"])
    module.bias.data.copy_(weights["bias"])


def norm_from(weights: Weights, eps: float) -> LayerNorm:
    module = LayerNorm(weights["gain"].size(0), eps=eps).to(weights["gain"].dtype)
    fill_norm(module, weights)
    return module


def encoder_layer_from(inputs: Mapping[str, Any], layer: Mapping[str, Weights]) -> EncoderLayer:
    """Build a layer from the fields ``heads``, ``order``, ``eps``, ``activation`` and ``layer``."""
    return EncoderLayer(
        attention_from(layer["self_attn"], heads=inputs["heads"]),
        feed_forward_from(layer["ffn"], inputs["activation"]),
        (_residual(inputs, layer["norm_1"]), _residual(inputs, layer["norm_2"])),
    )


def decoder_layer_from(inputs: Mapping[str, Any], layer: Mapping[str, Weights]) -> DecoderLayer:
    norms = [_residual(inputs, layer[f"norm_{number}"]) for number in (1, 2, 3)]
    return DecoderLayer(
        attention_from(layer["self_attn"], heads=inputs["heads"]),
        attention_from(layer["cross_attn"], heads=inputs["heads"]),
        feed_forward_from(layer["ffn"], inputs["activation"]),
        (norms[0], norms[1], norms[2]),
    )


def _residual(inputs: Mapping[str, Any], norm: Weights) -> Residual:
    order: NormOrder = inputs["order"]
    return Residual(norm_from(norm, inputs["eps"]), dropout=0.0, order=order)


def use_kernel(module: nn.Module, kernel: AttentionKernel) -> None:
    """Let every attention inside ``module`` attend through ``kernel``."""
    for part in module.modules():
        if isinstance(part, MultiHeadAttention):
            part.kernel = kernel
