"""T5 and mT5: which weight is which.

Version 1.0 has one table for everything and divides the output by √D; ours is that table divided by
√D, so that what is read is multiplied. Where √D is no power of two, that has no inverse to the last
bit, and a model of ours is written as version 1.1, which has two tables and divides nothing.
"""

import math
from collections.abc import Iterator

from dragoman.interop.huggingface.forms import SAME, Divided
from dragoman.interop.huggingface.names import Row, attention, every, linear, norm
from dragoman.models import ModelConfig

_TABLE = "source_input.embedding.table"


def t5_rows(config: ModelConfig) -> list[Row]:
    """Name every weight of version 1.0."""
    form = Divided(math.sqrt(config.d_model))
    tables = [Row(_TABLE, ("shared.weight",), form)]
    for name in ("encoder.embed_tokens", "decoder.embed_tokens", "lm_head"):
        tables.append(Row(_TABLE, (f"{name}.weight",), form, tied=True))
    return [*tables, *_stacks(config)]


def t5_1_1_rows(config: ModelConfig) -> list[Row]:
    """Name every weight of version 1.1, and of mT5."""
    if config.embedding_scale:  # one table of ours, multiplied where it is read
        form = Divided(math.sqrt(config.d_model))
        tables = [Row(_TABLE, ("lm_head.weight",))]
        tables.append(Row(_TABLE, ("shared.weight",), form, derived=True))
    else:
        form = SAME
        tables = [Row(_TABLE, ("shared.weight",))]
        if config.tied == "input":
            tables.append(Row("generator.table", ("lm_head.weight",)))
        else:
            tables.append(Row(_TABLE, ("lm_head.weight",), derived=True, optional=True))
    for name in ("encoder.embed_tokens", "decoder.embed_tokens"):
        tables.append(Row(_TABLE, (f"{name}.weight",), form, tied=True))
    return [*tables, *_stacks(config)]


def _stacks(config: ModelConfig) -> Iterator[Row]:
    deep = config.layers if config.decoder_layers is None else config.decoder_layers
    for stack, count in (("encoder", config.layers), ("decoder", deep)):
        bias = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        yield Row(f"{stack}.layers.0.attention.positions.table", (bias,))
        yield from norm(f"{stack}.final_norm", f"{stack}.final_layer_norm", bias=False)
        yield from every(count, _layer(stack, gated=config.feedforward == "gated"))


def _layer(stack: str, *, gated: bool) -> Iterator[Row]:
    ours, theirs, last = f"{stack}.layers.{{i}}", f"{stack}.block.{{i}}.layer", 1
    yield from attention(f"{ours}.attention", f"{theirs}.0.SelfAttention", "q k v o", bias=False)
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.0.layer_norm", bias=False)
    if stack == "decoder":
        source, last = f"{theirs}.1.EncDecAttention", 2
        yield from attention(f"{ours}.cross_attention", source, "q k v o", bias=False)
        wiring = f"{ours}.cross_attention_residual.norm"
        yield from norm(wiring, f"{theirs}.1.layer_norm", bias=False)
    inner = f"{theirs}.{last}.DenseReluDense"
    if gated:
        pair = (f"{inner}.wi_0", f"{inner}.wi_1")
        yield from linear(f"{ours}.feed_forward.gate_up", *pair, bias=False)
    else:
        yield from linear(f"{ours}.feed_forward.inner", f"{inner}.wi", bias=False)
    yield from linear(f"{ours}.feed_forward.output", f"{inner}.wo", bias=False)
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.{last}.layer_norm", bias=False)
