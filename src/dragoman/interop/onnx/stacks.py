"""Inputs, stacks and heads as operators (figure 1).

Shapes: B sentences, L positions, D model width.
"""

from torch import nn

from dragoman.interop.onnx.attention import (
    Known,
    attend_to_self,
    extend,
    project_memory,
    read,
)
from dragoman.interop.onnx.graph import Graph, Port, Value
from dragoman.interop.onnx.parts import (
    activate,
    closed,
    feed_forward,
    linear,
    logits,
    look_up,
    norm,
    opened,
)
from dragoman.interop.onnx.places import Places
from dragoman.nn import (
    ClassHead,
    Decoder,
    DecoderLayer,
    Embedding,
    Encoder,
    EncoderLayer,
    EncoderOnly,
    InputLayer,
    PatchInput,
    PieceHead,
    PooledHead,
    Residual,
    TagHead,
)


def embed(
    g: Graph, layer: InputLayer, ids: Value, places: Places, segments: Value | None = None
) -> Value:
    """Map ids (B, L) to (B, L, D): embedding plus position (sections 3.4, 3.5)."""
    x = _vectors(g, layer.embedding, ids)
    if layer.segments is not None and segments is not None:
        x = g("Add", x, g("Gather", g.weight(layer.segments), segments, axis=0))
    x = x if layer.positions is None else g("Add", x, places.added(layer.positions))
    x = x if layer.norm is None else norm(g, layer.norm, x)
    return linear(g, layer.projection, x) if isinstance(layer.projection, nn.Linear) else x


def embed_patches(g: Graph, layer: PatchInput, images: Value, size: tuple[int, int]) -> Value:
    """Map images (B, height, width, C) of this ``size`` to (B, 1 + N, D)."""
    patch, channels = layer.embedding.patch, layer.embedding.channels
    rows, columns = (pixels // patch for pixels in size)
    cut = g.reshape(images, 0, rows, patch, columns, patch * channels)
    flat = g.reshape(g.transpose(cut, 0, 1, 3, 2, 4), 0, rows * columns, patch * patch * channels)
    patches = linear(g, layer.embedding.projection, flat)
    shape = g.concat(0, g.size(images, 0), g.integers(1, 1))
    x = g.concat(1, g("Expand", g.weight(layer.first), shape), patches)
    if layer.positions is not None:
        count = g.integers(1 + rows * columns)
        places = Places(g, count, count, g.integer(0))
        x = g("Add", x, places.added(layer.positions))
    return x if layer.norm is None else norm(g, layer.norm, x)


def encode(g: Graph, encoder: Encoder, x: Value, visible: Value | None, places: Places) -> Value:
    """Transform (B, L, D) by the left stack."""
    for number, layer in enumerate(encoder.layers):
        assert isinstance(layer, EncoderLayer)
        h = opened(g, layer.attention_residual, x)
        y = attend_to_self(g, layer.attention, h, visible, places)
        x = closed(g, layer.attention_residual, x, y)
        x = g.mark(f"encoder.layers.{number}", _position_wise(g, layer, x))
    return x if encoder.final_norm is None else norm(g, encoder.final_norm, x)


def project_for(g: Graph, decoder: Decoder, memory: Value, visible: Value) -> list[Known]:
    """Project the encoder's output (B, L, D) once for every layer of a decoder."""
    return [
        project_memory(g, layer.cross_attention, memory, visible)
        for layer in decoder_layers(decoder)
        if layer.cross_attention is not None
    ]


def step(
    g: Graph,
    decoder: Decoder,
    x: Value,
    past: list[Known],
    places: Places,
    memory: tuple[list[Known], Value] | None,
) -> tuple[Value, list[Known]]:
    """Transform new positions (B, L, D) by the right stack.

    Args:
        g: the graph.
        decoder: the stack.
        x: new positions; B is a multiple of the number of sources.
        past: what each layer knows of the positions before.
        places: where they stand.
        memory: what each layer knows of the sources, and which of their positions are real,
            (sources, 1, 1, S); None where there are no sources.

    Returns:
        The output (B, L, D), and what each layer knows afterwards.
    """
    present: list[Known] = []
    for number, (layer, known) in enumerate(zip(decoder_layers(decoder), past, strict=True)):
        h = opened(g, layer.attention_residual, x)
        y, after = extend(g, layer.attention, h, known, places)
        x = closed(g, layer.attention_residual, x, y)
        present.append(after)
        if layer.cross_attention is not None and memory is not None:
            assert isinstance(layer.cross_attention_residual, Residual)
            h = opened(g, layer.cross_attention_residual, x)
            # The hypotheses of one source become queries side by side, as in ``DecoderLayer``.
            shape = g.concat(0, g.size(memory[1], 0), g.integers(-1), g("Shape", h, start=2))
            side_by_side = g("Reshape", h, shape)
            y = read(g, layer.cross_attention, side_by_side, memory[0][number], memory[1])
            y = g("Reshape", y, g("Shape", x))
            x = closed(g, layer.cross_attention_residual, x, y)
        x = g.mark(f"decoder.layers.{number}", _position_wise(g, layer, x))
    x = x if decoder.final_norm is None else norm(g, decoder.final_norm, x)
    return x, present


def decoder_layers(decoder: Decoder) -> list[DecoderLayer]:
    """List the layers."""
    return [layer for layer in decoder.layers if isinstance(layer, DecoderLayer)]


def answer(g: Graph, model: EncoderOnly, x: Value, d_model: int) -> tuple[Port, Value]:
    """Run the head of an encoder that stands alone, over (B, L, D) with D = ``d_model``."""
    name, each = "logits", True  # one result for each position
    match model.head:
        case None:
            name, value, width = "states", x, d_model
        case PieceHead() as head:
            y = activate(g, head.activation, linear(g, head.layer, x))
            value = logits(g, head.generator, norm(g, head.norm, y))
            width = head.generator.table.size(0)
        case TagHead(output=output):
            value, width = linear(g, output, x), output.out_features
        case PooledHead(pooler=pooler):
            name, each = "vectors", False
            value, width = g("Tanh", linear(g, pooler, _first(g, x))), pooler.out_features
        case ClassHead(pooler=pooler, output=output):
            each, y = False, _first(g, x)
            y = y if pooler is None else g("Tanh", linear(g, pooler, y))
            value, width = linear(g, output, y), output.out_features
    shape = ("texts", "length", width) if each else ("texts", width)
    meaning = f"{name} of each {'position' if each else 'text'}"
    return Port(name, "float32", shape, meaning), value


def _first(g: Graph, x: Value) -> Value:
    return g("Gather", x, g.integer(0), axis=1)


def _vectors(g: Graph, embedding: Embedding, ids: Value) -> Value:
    x = look_up(g, embedding.table, ids)
    x = x if embedding.projection is None else linear(g, embedding.projection, x)
    return x if embedding.scale == 1 else g("Mul", x, g.constant(embedding.scale))


def _position_wise(g: Graph, layer: EncoderLayer | DecoderLayer, x: Value) -> Value:
    wiring = layer.feed_forward_residual
    return closed(g, wiring, x, feed_forward(g, layer.feed_forward, opened(g, wiring, x)))
