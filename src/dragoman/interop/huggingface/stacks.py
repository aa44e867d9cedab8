"""The layers that Marian, BART and mBART have in common: biases everywhere, plain networks."""

from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.errors import Mistake
from dragoman.interop.huggingface.family import ACTIVATIONS, Json, Settings, not_held
from dragoman.interop.huggingface.forms import SAME, Form, LeadingOnes
from dragoman.interop.huggingface.names import Row, every, linear
from dragoman.models import ModelConfig, Softmax


@dataclass(frozen=True)
class Layout:
    """How features of the vectors between layers are ordered on their side.

    Args:
        rows: form of a weight whose outputs, or only axis, they are.
        columns: form of a weight whose inputs they are.
    """

    rows: Form = SAME
    columns: Form = SAME


def norm_rows(ours: str, theirs: str, layout: Layout) -> Iterator[Row]:
    """Rows of a norm."""
    yield Row(f"{ours}.gain", (f"{theirs}.weight",), layout.rows)
    yield Row(f"{ours}.bias", (f"{theirs}.bias",), layout.rows)


def layer_rows(config: ModelConfig, layout: Layout) -> Iterator[Row]:
    """Rows of all layers of both stacks."""
    deep = config.layers if config.decoder_layers is None else config.decoder_layers
    for stack, count in (("encoder", config.layers), ("decoder", deep)):
        yield from every(count, _layer(stack, layout))


def _layer(stack: str, layout: Layout) -> Iterator[Row]:
    ours, theirs = f"{stack}.layers.{{i}}", f"model.{stack}.layers.{{i}}"
    yield from _attention(f"{ours}.attention", f"{theirs}.self_attn", layout)
    yield from norm_rows(
        f"{ours}.attention_residual.norm", f"{theirs}.self_attn_layer_norm", layout
    )
    if stack == "decoder":
        yield from _attention(f"{ours}.cross_attention", f"{theirs}.encoder_attn", layout)
        wiring = f"{ours}.cross_attention_residual.norm"
        yield from norm_rows(wiring, f"{theirs}.encoder_attn_layer_norm", layout)
    inner, output = f"{ours}.feed_forward.inner", f"{ours}.feed_forward.output"
    yield from linear(inner, f"{theirs}.fc1", form=layout.columns)
    yield from linear(output, f"{theirs}.fc2", form=layout.rows, bias_form=layout.rows)
    yield from norm_rows(f"{ours}.feed_forward_residual.norm", f"{theirs}.final_layer_norm", layout)


def _attention(ours: str, theirs: str, layout: Layout) -> Iterator[Row]:
    three = (f"{theirs}.{name}" for name in ("q_proj", "k_proj", "v_proj"))
    yield from linear(f"{ours}.query_key_value", *three, form=layout.columns)
    output = f"{theirs}.out_proj"
    yield from linear(f"{ours}.output", output, form=layout.rows, bias_form=layout.rows)


def table_rows(config: ModelConfig, layout: Layout) -> Iterator[Row]:
    """Rows of the one table for sources, targets and the output, and of its bias."""
    first = "source_input.embedding.table"
    yield Row(first, ("model.shared.weight",), layout.columns)
    for name in ("model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        yield Row(first, (f"{name}.weight",), layout.columns, tied=True)
    yield bias_row(config, first)


def bias_row(config: ModelConfig, table: str) -> Row:
    """Row of the biases of the output; ``table`` has as many rows."""
    bias = ("final_logits_bias",)
    missing = not config.output_bias
    return Row("generator.bias", bias, LeadingOnes(), absent=table, optional=missing)


def read_sizes(theirs: Settings) -> Json:
    """Read what the three families say in the same words, as our choices."""
    for ours, other in (
        ("encoder_attention_heads", "decoder_attention_heads"),
        ("encoder_ffn_dim", "decoder_ffn_dim"),
    ):
        wanted = theirs.whole(ours)
        if theirs.whole(other, wanted) != wanted:
            theirs.refuse(other, f"{theirs.table[other]} is not {ours}, {wanted}, as it must be")
    layers = theirs.whole("encoder_layers")
    return {
        "layers": layers,
        "decoder_layers": theirs.whole("decoder_layers", layers),
        "d_model": theirs.whole("d_model"),
        "heads": theirs.whole("encoder_attention_heads"),
        "d_ff": theirs.whole("encoder_ffn_dim"),
        "activation": theirs.activation("activation_function", "gelu"),
        "dropout": theirs.real("dropout", 0.1),
        "attention_dropout": theirs.real("attention_dropout", 0.0),
        "feedforward_dropout": theirs.real("activation_dropout", 0.0),
        "attention_bias": True,
        "norm_eps": 1e-5,
        "embedding_scale": theirs.flag("scale_embedding", default=False),
        "output_bias": "final_logits_bias" in theirs.weights,
        "vocabulary": theirs.whole("vocab_size"),
    }


def written_sizes(config: ModelConfig) -> Json:
    """Say our choices in the words of the three families."""
    deep = config.layers if config.decoder_layers is None else config.decoder_layers
    return {
        "vocab_size": config.vocabulary,
        "d_model": config.d_model,
        "encoder_layers": config.layers,
        "decoder_layers": deep,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "activation_function": ACTIVATIONS[config.activation or "relu"][0],
        "scale_embedding": config.embedding_scale,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.feedforward_dropout,
        "is_encoder_decoder": True,
        "tie_word_embeddings": True,
        "forced_eos_token_id": None,
    }


def beyond_stacks(title: str, config: ModelConfig) -> list[Mistake]:
    """List what none of the three families has a place for."""
    begun = config.target_before
    attention = isinstance(config.attention, Softmax) and config.attention.scale is None
    held = (
        ("architecture", config.architecture == "encoder-decoder"),
        ("attention", attention),
        ("kv_heads", config.kv_heads in (None, config.heads)),
        ("d_k", config.head_width * config.heads == config.d_model),
        ("d_v", config.d_v in (None, config.head_width)),
        ("feedforward", config.feedforward == "plain"),
        ("norm", config.norm == "layer"),
        ("norm_eps", config.norm_eps <= 1e-4),  # theirs is always 1e-5
        ("initialization", config.initialization != "deepnorm"),
        ("decoder_positions", config.target_positions == config.positions),
        ("embedding_width", config.embedding_width in (None, config.d_model)),
        ("tied", config.tied in (None, "all")),
        ("target_vocabulary", config.target_vocabulary is None),
        ("target_before", begun is None or len(begun) <= 2),
    )
    return not_held(title, config, held)
