"""T5: names of its weights."""

from collections.abc import Iterator

from dragoman.interop.huggingface.forms import Divided, Same
from dragoman.interop.huggingface.names import Row, attention, every, linear, norm


def t5_rows(layers: int, d_model: int, *, gated: bool) -> list[Row]:
    """Version 1.0 ties the output to the input and divides it by √D; 1.1, ``gated``, does not."""
    form = Same() if gated else Divided(d_model**0.5)
    tables = [Row("source_input.embedding.table", ("shared.weight",), form)]
    if gated:
        tables.append(Row("generator.table", ("lm_head.weight",)))
    for stack in ("encoder", "decoder"):
        bias = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        tables.append(Row(f"{stack}.layers.0.attention.positions.table", (bias,)))
        tables += norm(f"{stack}.final_norm", f"{stack}.final_layer_norm", bias=False)
        tables += every(layers, _layer(stack, gated=gated))
    return tables


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
