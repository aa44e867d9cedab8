"""Whole models as graphs: what goes in, what comes out, and what it means.

Sizes that differ from call to call have these names: ``sources`` and ``source_length``; ``rows``,
hypotheses, a multiple of the sources, those of one source side by side; ``new`` positions fed at
once; ``past`` positions fed before; ``present``, both together.
"""

from dragoman.interop.onnx.attention import Known, known_ports
from dragoman.interop.onnx.graph import Graph, ParameterNames, Port, Value
from dragoman.interop.onnx.parts import logits
from dragoman.interop.onnx.places import Places
from dragoman.interop.onnx.stacks import (
    answer,
    decoder_layers,
    embed,
    embed_patches,
    encode,
    project_for,
    step,
)
from dragoman.models import ModelConfig
from dragoman.nn import (
    CausalLM,
    Decoder,
    DecoderLayer,
    EncoderDecoder,
    EncoderOnly,
    InputLayer,
    MultiHeadAttention,
    PatchInput,
)

ENCODER, STEP = "encoder", "decoder_step"


def graphs_of(
    config: ModelConfig, model: EncoderDecoder | CausalLM | EncoderOnly, *, int8: bool = False
) -> dict[str, Graph]:
    """Make the graphs of a model by name.

    Args:
        config: its choices.
        model: its weights.
        int8: whether matrices and tables are kept as integers of 8 bits.

    Raises:
        ModelError: a weight is in none of them.
    """
    parameters = ParameterNames(model)

    def graph() -> Graph:
        return Graph(parameters, int8)

    match model:
        case EncoderDecoder():
            graphs = {ENCODER: _encoder(graph(), model), STEP: _step(graph(), model)}
        case CausalLM():
            graphs = {STEP: _step(graph(), model)}
        case EncoderOnly():
            graphs = {ENCODER: _encoder_only(graph(), model, config)}
    parameters.weights.refuse_left("ONNX")
    return graphs


def _encoder(g: Graph, model: EncoderDecoder) -> Graph:
    meaning = "pieces of each source and the end symbol, padded on the right"
    source = g.feed("source", "int64", ("sources", "source_length"), meaning)
    visible = _real(g, source, model.padding)
    places = _whole_sequence(g, source)
    x = g.mark("source_input", embed(g, model.source_input, source, places))
    x = encode(g, model.encoder, x, g.unsqueeze(visible, 1, 2), places)
    port = Port("source_visible", "bool", ("sources", "source_length"), "which pieces are real")
    g.give(port, visible)
    known = project_for(g, model.decoder, x, g.unsqueeze(visible, 1, 2))
    for number, layer in enumerate(decoder_layers(model.decoder)):
        _give(g, _memory_ports(number, layer), known[number])
    return g


def _step(g: Graph, model: EncoderDecoder | CausalLM) -> Graph:
    meaning = "next pieces of each row, the start symbol first"
    ids = g.feed("ids", "int64", ("rows", "new"), meaning)
    position = g.feed("position", "int64", (), "how many pieces were fed before")
    memory = _memory(g, model.decoder) if isinstance(model, EncoderDecoder) else None
    past = [
        _fed(g, known_ports(layer.attention, f"past.{number}", "rows", "past"))
        for number, layer in enumerate(decoder_layers(model.decoder))
    ]
    inputs = model.target_input if isinstance(model, EncoderDecoder) else model.input
    places = _after(g, ids, position, model.decoder, past)
    x = g.mark("target_input", embed(g, inputs, ids, places))
    x, present = step(g, model.decoder, x, past, places, memory)
    pieces = model.generator.table.size(0)
    meaning = "scores of the piece after each, before the softmax"
    port = Port("logits", "float32", ("rows", "new", pieces), meaning)
    g.give(port, logits(g, model.generator, x))
    for number, layer in enumerate(decoder_layers(model.decoder)):
        ports = known_ports(layer.attention, f"present.{number}", "rows", "present")
        _give(g, ports, present[number])
    return g


def _encoder_only(g: Graph, model: EncoderOnly, config: ModelConfig) -> Graph:
    if isinstance(model.input, PatchInput):
        images = config.images
        assert images is not None
        size = (images.height, images.width)
        meaning = "pixels from 0 to 1, channels last"
        pixels = g.feed("images", "float32", ("texts", *size, images.channels), meaning)
        x = embed_patches(g, model.input, pixels, size)
        count = g.size(x, 1)
        x = encode(g, model.encoder, x, None, Places(g, count, count, g.integer(0)))
    else:
        x = _read_text(g, model, model.input)
    port, value = answer(g, model, x, config.d_model)
    g.give(port, value)
    return g


def _read_text(g: Graph, model: EncoderOnly, inputs: InputLayer) -> Value:
    meaning = "pieces of each text with its symbols, padded on the right"
    ids = g.feed("ids", "int64", ("texts", "length"), meaning)
    segments = None
    if inputs.segments is not None:
        meaning = "which kind of segment each piece lies in, 0 where there is one"
        segments = g.feed("segments", "int64", ("texts", "length"), meaning)
    visible = g.unsqueeze(_real(g, ids, model.padding), 1, 2)
    places = _whole_sequence(g, ids)
    x = embed(g, inputs, ids, places, segments)
    return encode(g, model.encoder, x, visible, places)


def _memory(g: Graph, decoder: Decoder) -> tuple[list[Known], Value]:
    """Take in what the encoder's graph gave."""
    size = ("sources", "source_length")
    visible = g.feed("source_visible", "bool", size, "as the encoder gives it")
    known = [
        _fed(g, _memory_ports(number, layer))
        for number, layer in enumerate(decoder_layers(decoder))
    ]
    return known, g.unsqueeze(visible, 1, 2)


def _memory_ports(number: int, layer: DecoderLayer) -> tuple[Port, Port]:
    assert layer.cross_attention is not None
    return known_ports(layer.cross_attention, f"memory.{number}", "sources", "source_length")


def _fed(g: Graph, ports: tuple[Port, Port]) -> Known:
    first, second = (g.feed(port.name, port.kind, port.shape, port.meaning) for port in ports)
    return first, second


def _give(g: Graph, ports: tuple[Port, Port], known: Known) -> None:
    for port, value in zip(ports, known, strict=True):
        g.give(port, value)


def _real(g: Graph, ids: Value, padding: int) -> Value:
    return g("Not", g("Equal", ids, g.integer(padding)))


def _whole_sequence(g: Graph, ids: Value) -> Places:
    length = g.size(ids, 1)
    return Places(g, length, length, g.integer(0))


def _after(g: Graph, ids: Value, position: Value, decoder: Decoder, past: list[Known]) -> Places:
    """Place new pieces after those that the layers know, who all know as many."""
    new = g.size(ids, 1)
    if not isinstance(decoder_layers(decoder)[0].attention, MultiHeadAttention):
        return Places(g, new, new, position)  # sums do not tell how many, and need not
    return Places(g, new, g("Add", g.size(past[0][0], 2), new), position)
