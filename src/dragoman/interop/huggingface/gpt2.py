"""GPT-2: learned positions, norms before, one table for what is read and written."""

from collections.abc import Iterator, Sequence

from dragoman.errors import Mistake
from dragoman.interop.huggingface.family import ACTIVATIONS, Family, Json, Settings, not_held
from dragoman.interop.huggingface.forms import Transposed
from dragoman.interop.huggingface.names import Row, every, linear, norm
from dragoman.interop.huggingface.special import ids_of, padding_of
from dragoman.models import Learned, ModelConfig, Softmax
from dragoman.tokenization import Tokenizer


def gpt2_rows(config: ModelConfig) -> list[Row]:
    """Name every weight."""
    rows = [
        Row("input.embedding.table", ("transformer.wte.weight",)),
        Row("input.positions.table", ("transformer.wpe.weight",)),
        *every(config.layers, _layer("decoder.layers.{i}", "transformer.h.{i}")),
        *norm("decoder.final_norm", "transformer.ln_f"),
    ]
    if config.tied == "none":
        return [*rows, Row("generator.table", ("lm_head.weight",))]
    return [*rows, Row("input.embedding.table", ("lm_head.weight",), tied=True)]


def _layer(ours: str, theirs: str) -> Iterator[Row]:
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.ln_1")
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.ln_2")
    for part, other in (
        ("attention.query_key_value", "attn.c_attn"),
        ("attention.output", "attn.c_proj"),
        ("feed_forward.inner", "mlp.c_fc"),
        ("feed_forward.output", "mlp.c_proj"),
    ):
        yield from linear(f"{ours}.{part}", f"{theirs}.{other}", form=Transposed())


def _read(theirs: Settings) -> ModelConfig:
    theirs.only("scale_attn_by_inverse_layer_idx", default=False)
    theirs.only("add_cross_attention", default=False)
    # Another order of the same sums in half precision: reorder_and_upcast_attn may be anything.
    width = theirs.whole("n_embd")
    scaled = theirs.flag("scale_attn_weights", default=True)
    settings = {
        "layers": theirs.whole("n_layer"),
        "d_model": width,
        "heads": theirs.whole("n_head"),
        "d_ff": theirs.whole("n_inner", 4 * width),
        "activation": theirs.activation("activation_function", "gelu_new"),
        "dropout": theirs.real("resid_pdrop", 0.1),
        "attention_dropout": theirs.real("attn_pdrop", 0.1),
        "norm_eps": theirs.real("layer_norm_epsilon", 1e-5),
        "positions": {"kind": "learned", "max_length": theirs.whole("n_positions", 1024)},
        "tied": "all" if theirs.flag("tie_word_embeddings", default=True) else "none",
        "vocabulary": theirs.whole("vocab_size"),
        **padding_of(theirs),
    }
    if not scaled:
        settings["attention"] = {"kind": "softmax", "scale": 1.0}
    return theirs.config(
        {
            "architecture": "decoder-only",
            "attention_bias": True,
            "norm_order": "pre",
            "embedding_scale": False,
            "initialization": "normal",
            **settings,
        }
    )


def _write(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    assert isinstance(config.positions, Learned)
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": config.vocabulary,
        "n_positions": config.positions.max_length,
        "n_embd": config.d_model,
        "n_layer": config.layers,
        "n_head": config.heads,
        "n_inner": config.d_ff,
        "activation_function": ACTIVATIONS[config.activation or "relu"][0],
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.attention_dropout,
        "layer_norm_epsilon": config.norm_eps,
        "scale_attn_weights": config.attention_scale is None,
        "tie_word_embeddings": config.tied != "none",
        **ids_of(config, tokenizers),
    }


def _beyond(config: ModelConfig) -> list[Mistake]:
    attention = isinstance(config.attention, Softmax) and config.attention.scale in (None, 1.0)
    return not_held(
        "GPT-2",
        config,
        (
            ("architecture", config.architecture == "decoder-only"),
            ("attention", attention),
            ("kv_heads", config.kv_heads in (None, config.heads)),
            ("d_k", config.head_width * config.heads == config.d_model),
            ("d_v", config.d_v in (None, config.head_width)),
            ("feedforward", config.feedforward == "plain"),
            ("norm", config.norm == "layer"),
            ("norm_order", config.norm_order == "pre"),
            ("final_norm", config.has_final_norm),
            ("positions", isinstance(config.positions, Learned)),
            ("embedding_width", config.embedding_width in (None, config.d_model)),
            ("embedding_scale", not config.embedding_scale),
            ("embedding_norm", not config.embedding_norm),
            ("output_bias", not config.output_bias),
        ),
    )


GPT2 = Family(
    title="GPT-2",
    model_type="gpt2",
    architectures=("GPT2LMHeadModel",),
    read=_read,
    write=_write,
    beyond=_beyond,
    rows=gpt2_rows,
    prefix="transformer.",
    computed=(".attn.bias", ".attn.masked_bias"),
)
