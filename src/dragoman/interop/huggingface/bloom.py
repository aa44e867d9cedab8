"""BLOOM: linear biases (ALiBi) for positions, a norm after the embedding, norms before."""

from collections.abc import Iterator, Sequence

from dragoman.errors import Mistake
from dragoman.interop.huggingface.family import Family, Json, Settings, not_held
from dragoman.interop.huggingface.forms import HeadByHead
from dragoman.interop.huggingface.names import Row, every, linear, norm
from dragoman.interop.huggingface.special import ids_of, padding_of
from dragoman.models import Alibi, ModelConfig, Softmax
from dragoman.tokenization import Tokenizer


def bloom_rows(config: ModelConfig) -> list[Row]:
    """Name every weight."""
    rows = [
        Row("input.embedding.table", ("transformer.word_embeddings.weight",)),
        *norm("input.norm", "transformer.word_embeddings_layernorm"),
        *every(config.layers, _layer(config.heads, "decoder.layers.{i}", "transformer.h.{i}")),
        *norm("decoder.final_norm", "transformer.ln_f"),
    ]
    if config.tied == "none":
        return [*rows, Row("generator.table", ("lm_head.weight",))]
    return [*rows, Row("input.embedding.table", ("lm_head.weight",), tied=True)]


def _layer(heads: int, ours: str, theirs: str) -> Iterator[Row]:
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.input_layernorm")
    form, inner = HeadByHead(heads), f"{theirs}.self_attention"
    yield from linear(
        f"{ours}.attention.query_key_value",
        f"{inner}.query_key_value",
        form=form,
        bias_form=form,
    )
    yield from linear(f"{ours}.attention.output", f"{inner}.dense")
    wiring = f"{ours}.feed_forward_residual.norm"
    yield from norm(wiring, f"{theirs}.post_attention_layernorm")
    yield from linear(f"{ours}.feed_forward.inner", f"{theirs}.mlp.dense_h_to_4h")
    yield from linear(f"{ours}.feed_forward.output", f"{theirs}.mlp.dense_4h_to_h")


def _read(theirs: Settings) -> ModelConfig:
    theirs.only("apply_residual_connection_post_layernorm", default=False)
    # Another order of the same sums: pretraining_tp and slow_but_exact may be anything.
    width = theirs.whole("hidden_size" if "hidden_size" in theirs.table else "n_embed")
    layers = "n_layer" if "n_layer" in theirs.table else "num_hidden_layers"
    heads = "n_head" if "n_head" in theirs.table else "num_attention_heads"
    return theirs.config(
        {
            "architecture": "decoder-only",
            "layers": theirs.whole(layers),
            "d_model": width,
            "heads": theirs.whole(heads),
            "d_ff": 4 * width,
            "activation": "gelu_tanh",
            "dropout": theirs.real("hidden_dropout", 0.0),
            "attention_dropout": theirs.real("attention_dropout", 0.0),
            "attention_bias": True,
            "norm_order": "pre",
            "norm_eps": theirs.real("layer_norm_epsilon", 1e-5),
            "positions": {"kind": "alibi"},
            "embedding_scale": False,
            "embedding_norm": True,
            "tied": "all" if theirs.flag("tie_word_embeddings", default=True) else "none",
            "initialization": "normal",
            "vocabulary": theirs.whole("vocab_size"),
            **padding_of(theirs),
        }
    )


def _write(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    return {
        "model_type": "bloom",
        "architectures": ["BloomForCausalLM"],
        "vocab_size": config.vocabulary,
        "hidden_size": config.d_model,
        "n_layer": config.layers,
        "n_head": config.heads,
        "hidden_dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "layer_norm_epsilon": config.norm_eps,
        "apply_residual_connection_post_layernorm": False,
        "tie_word_embeddings": config.tied != "none",
        **ids_of(config, tokenizers),
    }


def _beyond(config: ModelConfig) -> list[Mistake]:
    attention = isinstance(config.attention, Softmax) and config.attention.scale is None
    return not_held(
        "BLOOM",
        config,
        (
            ("architecture", config.architecture == "decoder-only"),
            ("attention", attention),
            ("kv_heads", config.kv_heads in (None, config.heads)),
            ("d_k", config.head_width * config.heads == config.d_model),
            ("d_v", config.d_v in (None, config.head_width)),
            ("d_ff", config.d_ff == 4 * config.d_model),
            ("feedforward", config.feedforward == "plain"),
            ("activation", config.activation == "gelu_tanh"),
            ("norm", config.norm == "layer"),
            ("norm_order", config.norm_order == "pre"),
            ("final_norm", config.has_final_norm),
            ("positions", isinstance(config.positions, Alibi)),
            ("embedding_width", config.embedding_width in (None, config.d_model)),
            ("embedding_scale", not config.embedding_scale),
            ("embedding_norm", config.embedding_norm),
            ("output_bias", not config.output_bias),
        ),
    )


BLOOM = Family(
    title="BLOOM",
    model_type="bloom",
    architectures=("BloomForCausalLM",),
    read=_read,
    write=_write,
    beyond=_beyond,
    rows=bloom_rows,
    prefix="transformer.",
)
