"""MarianMT: names of its weights."""

from collections.abc import Iterator

from dragoman.interop.huggingface.forms import LeadingOnes
from dragoman.interop.huggingface.names import Row, attention, every, linear, norm


def marian_rows(layers: int) -> list[Row]:
    """Name every weight."""
    return [
        Row("source_input.embedding.table", ("model.shared.weight",)),
        Row("generator.bias", ("final_logits_bias",), LeadingOnes()),
        *every(layers, _layer("encoder")),
        *every(layers, _layer("decoder")),
    ]


def _layer(stack: str) -> Iterator[Row]:
    ours, theirs, four = f"{stack}.layers.{{i}}", f"model.{stack}.layers.{{i}}", "q_proj k_proj"
    four += " v_proj out_proj"
    yield from attention(f"{ours}.attention", f"{theirs}.self_attn", four)
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.self_attn_layer_norm")
    if stack == "decoder":
        yield from attention(f"{ours}.cross_attention", f"{theirs}.encoder_attn", four)
        wiring = f"{ours}.cross_attention_residual.norm"
        yield from norm(wiring, f"{theirs}.encoder_attn_layer_norm")
    yield from linear(f"{ours}.feed_forward.inner", f"{theirs}.fc1")
    yield from linear(f"{ours}.feed_forward.output", f"{theirs}.fc2")
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.final_layer_norm")
