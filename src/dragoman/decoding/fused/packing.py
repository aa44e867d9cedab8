"""A Transformer with its weights packed for decoding, and what it cannot be.

Only what the paper's model and its common variants need is here: softmax attention to everything,
positions that are added to embeddings, layer or RMS norm before or after, plain or gated networks,
shared key heads. Other models are decoded by their own modules.

Shapes: H heads, G groups of heads that share keys and values, E width of a key, F of a value, D
model width.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dragoman.decoding.fused.products import Kind, Product
from dragoman.decoding.fused.room import as_array
from dragoman.decoding.fused.sublayers import GELU, GELU_TANH, RELU, SILU
from dragoman.nn import (
    ACTIVATIONS,
    Causal,
    ChosenAttention,
    DecoderLayer,
    EncoderDecoder,
    EncoderLayer,
    FeedForward,
    GatedFeedForward,
    InputLayer,
    LayerNorm,
    MultiHeadAttention,
    Residual,
    RMSNorm,
    batched_attention,
    fused_attention,
    reference_attention,
)

_KINDS = {"relu": RELU, "gelu": GELU, "gelu_tanh": GELU_TANH, "silu": SILU}


class CannotPack(Exception):
    """A model has a part that is not known here; the message names it."""


@dataclass(frozen=True, slots=True)
class PackedNorm:
    """Gain, shift, eps, and whether no mean is taken off."""

    gain: Any
    shift: Any
    eps: np.float32
    rms: bool

    @classmethod
    def of(cls, norm: nn.Module | None) -> "PackedNorm":
        """Pack a norm."""
        if isinstance(norm, LayerNorm):
            return cls(_floats(norm.gain), _floats(norm.bias), np.float32(norm.eps), False)
        if isinstance(norm, RMSNorm):
            gain = _floats(norm.gain)
            return cls(gain, np.zeros_like(gain), np.float32(norm.eps), True)
        raise CannotPack(f"a norm of the kind {type(norm).__name__}")


@dataclass(frozen=True, slots=True)
class PackedAttention:
    """The products of an attention.

    Args:
        first: queries, keys and values of self-attention; queries of the other.
        memory: keys and values of a source; None of self-attention.
        output: back to D.
        shape: H, G, E, F.
        scale: factor on dot products.
    """

    first: Product
    memory: Product | None
    output: Product
    shape: tuple[int, int, int, int]
    scale: np.float32


@dataclass(frozen=True, slots=True)
class PackedNetwork:
    """The two products of a position-wise network, its activation, and whether it is gated."""

    inner: Product
    output: Product
    activation: int
    gated: bool


@dataclass(frozen=True, slots=True)
class Join:
    """How the output of a sub-layer joins what went in: factor times x, sum, norm.

    Args:
        factor: on x.
        norm: of the sum, whose result the next sub-layer reads.
        post: x becomes the norm, otherwise it stays the sum.
    """

    factor: np.float32
    norm: PackedNorm
    post: bool


@dataclass(frozen=True, slots=True)
class PackedLayer:
    """Sub-layers in order, each with how it joins."""

    own: PackedAttention
    source: PackedAttention | None
    network: PackedNetwork
    joins: tuple[Join, ...]


@dataclass(frozen=True, slots=True)
class PackedStack:
    """A stack with the layer that feeds it.

    Args:
        embedding: (V, D), float32.
        scale: on embeddings.
        layer: the module that knows the positions.
        first: norm of what the first sub-layer reads, if it is not the embedding itself.
        layers: in order.
    """

    embedding: Any
    scale: np.float32
    layer: InputLayer
    first: PackedNorm | None
    layers: tuple[PackedLayer, ...]

    def positions(self, count: int) -> Any:
        """Give what is added at the first positions, (count, D), float32."""
        width = self.embedding.shape[1]
        nothing = torch.zeros(1, count, width)
        if self.layer.positions is None:
            return as_array(nothing[0])
        with torch.inference_mode():
            return as_array(self.layer.positions(nothing)[0].float().contiguous())


@dataclass(frozen=True, slots=True)
class PackedModel:
    """Both stacks and the way back to pieces.

    Args:
        kind: of the numbers that are multiplied.
        encoder: the left stack.
        decoder: the right stack.
        generator: to logits.
    """

    kind: Kind
    encoder: PackedStack
    decoder: PackedStack
    generator: Product

    @classmethod
    def pack(cls, model: nn.Module, kind: Kind) -> "PackedModel":
        """Pack a model; it may be dropped afterwards.

        Raises:
            CannotPack: it has a part that is not known here.
        """
        if not isinstance(model, EncoderDecoder):
            raise CannotPack(f"models of the kind {type(model).__name__}")
        if model.generator.projection is not None:
            raise CannotPack("an embedding narrower than the model")
        encoder = _stack(model.source_input, model.encoder, EncoderLayer, kind)
        decoder = _stack(model.target_input, model.decoder, DecoderLayer, kind)
        generator = Product.pack(model.generator.table, model.generator.bias, kind)
        return cls(kind, encoder, decoder, generator)


def _floats(tensor: Tensor) -> Any:
    return as_array(tensor.detach().float().contiguous())


def _stack(
    layer: InputLayer, stack: nn.Module, of: type[EncoderLayer] | type[DecoderLayer], kind: Kind
) -> PackedStack:
    for part, name in ((layer.norm, "a norm of embeddings"), (layer.segments, "segments")):
        if part is not None:
            raise CannotPack(name)
    if layer.embedding.projection is not None:
        raise CannotPack("an embedding narrower than the model")
    layers = [each for each in stack.layers if isinstance(each, of)]  # pyright: ignore  # torch does not say of what
    if len(layers) != len(stack.layers):  # pyright: ignore  # as above
        raise CannotPack("layers of another kind")
    first, joins = _joins([_residuals(each) for each in layers], stack.final_norm)  # pyright: ignore  # as above
    packed = [_layer(each, join, kind) for each, join in zip(layers, joins, strict=True)]
    table = _floats(layer.embedding.table)
    return PackedStack(table, np.float32(layer.embedding.scale), layer, first, tuple(packed))


def _residuals(layer: EncoderLayer | DecoderLayer) -> list[Residual]:
    found = [layer.attention_residual]
    if isinstance(layer, DecoderLayer) and layer.cross_attention_residual is not None:
        found.append(layer.cross_attention_residual)
    return [*found, layer.feed_forward_residual]


def _joins(
    residuals: list[list[Residual]], final: nn.Module | None
) -> tuple[PackedNorm | None, list[tuple[Join, ...]]]:
    """Say how sub-layers join: after the one, the norm is its own; before, that of the next."""
    flat = [each for layer in residuals for each in layer]
    orders = {each.order for each in flat}
    if len(orders) != 1 or (orders == {"post"}) != (final is None):
        raise CannotPack("norms both before and after sub-layers, or none at the end")
    post = orders == {"post"}
    norms = [PackedNorm.of(each.norm) for each in flat]
    first = None if post else norms[0]
    after = norms if post else [*norms[1:], PackedNorm.of(final)]
    joins = [
        Join(np.float32(each.scale), norm, post) for each, norm in zip(flat, after, strict=True)
    ]
    width = len(residuals[0])
    return first, [tuple(joins[i : i + width]) for i in range(0, len(joins), width)]


def _layer(layer: EncoderLayer | DecoderLayer, joins: tuple[Join, ...], kind: Kind) -> PackedLayer:
    causal = isinstance(layer, DecoderLayer)
    source = None
    if isinstance(layer, DecoderLayer):
        source = _attention(layer.cross_attention, kind, memory=True, causal=False)
    return PackedLayer(
        _attention(layer.attention, kind, memory=False, causal=causal),
        source,
        _network(layer.feed_forward, kind),
        joins,
    )


def _attention(attention: object, kind: Kind, *, memory: bool, causal: bool) -> PackedAttention:
    if not isinstance(attention, MultiHeadAttention):
        raise CannotPack(f"attention of the kind {type(attention).__name__}")
    if attention.positions is not None:
        raise CannotPack(f"positions of the kind {type(attention.positions).__name__}")
    if attention.pattern is not None and not (causal and isinstance(attention.pattern, Causal)):
        raise CannotPack(f"attention of the pattern {type(attention.pattern).__name__}")
    kernel = attention.kernel
    if kernel not in (fused_attention, reference_attention, batched_attention) and not isinstance(
        kernel, ChosenAttention
    ):
        raise CannotPack("attention with a kernel of its own")
    matrix, shape = attention.query_key_value, attention.shape
    cut = shape.widths[0] if memory else matrix.weight.size(0)
    bias = matrix.bias
    rest = None
    if memory:
        rest = Product.pack(matrix.weight[cut:], _part(bias, cut, None), kind)
    scale = attention.shape.d_k**-0.5 if attention.scale is None else attention.scale
    return PackedAttention(
        Product.pack(matrix.weight[:cut], _part(bias, 0, cut), kind),
        rest,
        Product.pack(attention.output.weight, attention.output.bias, kind),
        (shape.heads, shape.kv_heads, shape.d_k, shape.d_v),
        np.float32(scale),
    )


def _part(bias: Tensor | None, start: int, end: int | None) -> Tensor | None:
    return None if bias is None else bias[start:end]


def _network(network: nn.Module, kind: Kind) -> PackedNetwork:
    if not isinstance(network, FeedForward | GatedFeedForward):
        raise CannotPack(f"a network of the kind {type(network).__name__}")
    names = [name for name, known in ACTIVATIONS.items() if known is network.activation]
    if not names:
        raise CannotPack("an activation of its own")
    gated = isinstance(network, GatedFeedForward)
    inner = network.gate_up if isinstance(network, GatedFeedForward) else network.inner
    return PackedNetwork(
        Product.pack(inner.weight, inner.bias, kind),
        Product.pack(network.output.weight, network.output.bias, kind),
        _KINDS[names[0]],
        gated,
    )
