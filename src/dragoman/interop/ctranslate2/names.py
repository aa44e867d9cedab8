"""What the weights of a Transformer are called in the CTranslate2 format, read in both directions.

Variables have the paths of the current specification: ``encoder/layer_0/ffn/linear_0/weight``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.models import T5, Learned, ModelConfig, Positions, Shaw


@dataclass(frozen=True, slots=True)
class Place:
    """A variable and the weight of ours whose rows it holds.

    Args:
        theirs: path of the variable.
        ours: name of the weight.
        start: first of its rows.
        end: one past the last; None is the end.
    """

    theirs: str
    ours: str
    start: int = 0
    end: int | None = None


def places(config: ModelConfig) -> Iterator[Place]:
    """List every variable that holds weights of a model with these choices."""
    if config.architecture == "encoder-decoder":
        yield from _stack(config, "encoder", "source_input", config.positions)
        yield from _stack(config, "decoder", "target_input", config.target_positions)
    else:
        name = "decoder" if config.architecture == "decoder-only" else "encoder"
        yield from _stack(config, name, "input", config.positions)
    if config.architecture == "encoder-only":
        if config.head == "pooled":
            yield from _linear("pooler_dense", "head.pooler", bias=True)
        return
    yield Place("decoder/projection/weight", "generator.table")
    if config.output_bias:
        yield Place("decoder/projection/bias", "generator.bias")


def _stack(config: ModelConfig, name: str, inputs: str, positions: Positions) -> Iterator[Place]:
    """List an encoder or decoder and what feeds it."""
    table = "embeddings" if name == "decoder" else "embeddings_0"
    yield Place(f"{name}/{table}/weight", f"{inputs}.embedding.table")
    if config.embedding_width not in (None, config.d_model):  # has a place in decoders alone
        yield Place(f"{name}/project_in/weight", f"{inputs}.embedding.projection.weight")
        yield Place(f"{name}/project_out/weight", "generator.projection.weight")
    if config.segments:
        yield Place(f"{name}/embeddings_1/weight", f"{inputs}.segments")
    if isinstance(positions, Learned):
        yield Place(f"{name}/position_encodings/encodings", f"{inputs}.positions.table")
    if config.embedding_norm:
        yield from _norm(config, f"{name}/layernorm_embedding", f"{inputs}.norm")
    if config.has_final_norm:
        yield from _norm(config, f"{name}/layer_norm", f"{name}.final_norm")
    layers = config.layers
    if name == "decoder" and config.decoder_layers is not None:
        layers = config.decoder_layers
    for number in range(layers):
        theirs, ours = f"{name}/layer_{number}", f"{name}.layers.{number}"
        yield from _self_attention(config, theirs, ours, positions)
        if name == "decoder" and config.architecture == "encoder-decoder":
            yield from _cross_attention(config, theirs, ours)
        yield from _network(config, theirs, ours)


def _self_attention(
    config: ModelConfig, layer: str, own: str, positions: Positions
) -> Iterator[Place]:
    theirs, ours = f"{layer}/self_attention", f"{own}.attention"
    whole, joined = f"{ours}.query_key_value", f"{ours}.output"
    yield from _linear(f"{theirs}/linear_0", whole, bias=config.attention_bias)
    yield from _linear(f"{theirs}/linear_1", joined, bias=config.has_attention_output_bias)
    yield from _norm(config, f"{theirs}/layer_norm", f"{ours}_residual.norm")
    match positions:
        case Shaw(values=values):
            yield Place(f"{theirs}/relative_position_keys", f"{ours}.positions.keys")
            if values:
                yield Place(f"{theirs}/relative_position_values", f"{ours}.positions.values")
        case T5():
            yield Place(f"{theirs}/relative_attention_bias", f"{ours}.positions.table")
        case _:
            pass


def _cross_attention(config: ModelConfig, layer: str, own: str) -> Iterator[Place]:
    """Queries in one product, keys and values in another."""
    theirs, ours = f"{layer}/attention", f"{own}.cross_attention"
    bias, cut = config.attention_bias, config.heads * config.head_width
    whole = f"{ours}.query_key_value"
    yield from _linear(f"{theirs}/linear_0", whole, bias=bias, end=cut)
    yield from _linear(f"{theirs}/linear_1", whole, bias=bias, start=cut)
    joined = f"{ours}.output"
    yield from _linear(f"{theirs}/linear_2", joined, bias=config.has_attention_output_bias)
    yield from _norm(config, f"{theirs}/layer_norm", f"{ours}_residual.norm")


def _network(config: ModelConfig, layer: str, own: str) -> Iterator[Place]:
    theirs, ours = f"{layer}/ffn", f"{own}.feed_forward"
    bias, cut = config.has_feedforward_bias, config.inner_width
    if config.feedforward == "gated":
        yield from _linear(f"{theirs}/linear_0", f"{ours}.gate_up", bias=bias, end=cut)
        yield from _linear(f"{theirs}/linear_0_noact", f"{ours}.gate_up", bias=bias, start=cut)
    else:
        yield from _linear(f"{theirs}/linear_0", f"{ours}.inner", bias=bias)
    yield from _linear(f"{theirs}/linear_1", f"{ours}.output", bias=bias)
    yield from _norm(config, f"{theirs}/layer_norm", f"{ours}_residual.norm")


def _linear(
    theirs: str, ours: str, *, bias: bool, start: int = 0, end: int | None = None
) -> Iterator[Place]:
    yield Place(f"{theirs}/weight", f"{ours}.weight", start, end)
    if bias:
        yield Place(f"{theirs}/bias", f"{ours}.bias", start, end)


def _norm(config: ModelConfig, theirs: str, ours: str) -> Iterator[Place]:
    yield Place(f"{theirs}/gamma", f"{ours}.gain")
    if config.norm == "layer":
        yield Place(f"{theirs}/beta", f"{ours}.bias")
