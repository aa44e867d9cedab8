"""LLaMA and those that differ from it by biases or by what they see: Mistral and Qwen2.

RMS norms before, gated networks, rotary positions; keys may be fewer than queries.

What is read as Qwen2 is written as LLaMA, whose output bias is then zero: ``AutoTokenizer`` cuts
the text of a Qwen2 in its own way, whatever ``tokenizer.json`` says.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from dragoman.errors import Mistake
from dragoman.interop.huggingface.family import ACTIVATIONS, Family, Json, Settings, not_held
from dragoman.interop.huggingface.names import Row, attention, every, linear, norm
from dragoman.interop.huggingface.special import ids_of, padding_of
from dragoman.models import Local, ModelConfig, Rotary, Softmax
from dragoman.tokenization import Tokenizer

_WINDOW = 4_096  # that a Mistral has whose config.json does not say another
_POSITIONS = 131_072  # written where config.json must say a number; rotation has no end


def llama_rows(config: ModelConfig, *, output_bias: bool = True) -> list[Row]:
    """Name every weight.

    Args:
        config: our choices.
        output_bias: whether what joins the heads has a bias where queries, keys and values have.
    """
    layer = _layer(config, "decoder.layers.{i}", "model.layers.{i}", output_bias=output_bias)
    rows = [
        Row("input.embedding.table", ("model.embed_tokens.weight",)),
        *every(config.layers, layer),
        *norm("decoder.final_norm", "model.norm", bias=False),
    ]
    if config.tied == "none":
        return [*rows, Row("generator.table", ("lm_head.weight",))]
    return [*rows, Row("input.embedding.table", ("lm_head.weight",), tied=True)]


def _layer(config: ModelConfig, ours: str, theirs: str, *, output_bias: bool) -> Iterator[Row]:
    keys = (config.kv_heads or config.heads) * config.head_width
    yield from attention(
        f"{ours}.attention",
        f"{theirs}.self_attn",
        "q_proj k_proj v_proj o_proj",
        bias=config.attention_bias,
        output_bias=config.attention_bias and output_bias,
        sizes=(config.heads * config.head_width, keys, keys),
    )
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.input_layernorm", bias=False)
    inner, bias = f"{theirs}.mlp", config.has_feedforward_bias
    pair = (f"{inner}.gate_proj", f"{inner}.up_proj")
    yield from linear(f"{ours}.feed_forward.gate_up", *pair, bias=bias)
    yield from linear(f"{ours}.feed_forward.output", f"{inner}.down_proj", bias=bias)
    wiring = f"{ours}.feed_forward_residual.norm"
    yield from norm(wiring, f"{theirs}.post_attention_layernorm", bias=False)


def _read(theirs: Settings) -> ModelConfig:
    theirs.only("pretraining_tp", 1, default=1)
    biased = theirs.flag("attention_bias", default=False)
    return theirs.config(
        {
            **_common(theirs),
            "attention_bias": biased,
            "feedforward_bias": theirs.flag("mlp_bias", default=False),
        }
    )


def _read_mistral(theirs: Settings) -> ModelConfig:
    choices = _common(theirs)
    stated = "sliding_window" in theirs.table
    window = theirs.whole("sliding_window", 0 if stated else _WINDOW)  # null is none
    if window:
        choices["attention"] = {"kind": "local", "keys": 2 * window - 1}
    return theirs.config(choices)


def _read_qwen2(theirs: Settings) -> ModelConfig:
    theirs.only("use_sliding_window", default=False)
    kinds = theirs.table.get("layer_types")
    if kinds is not None and set(kinds) != {"full_attention"}:
        theirs.refuse("layer_types", "layers that differ are not supported")
    choices = {**_common(theirs), "attention_bias": True, "attention_output_bias": False}
    return theirs.config(choices)


def _common(theirs: Settings) -> Json:
    width, heads = theirs.whole("hidden_size"), theirs.whole("num_attention_heads")
    return {
        "architecture": "decoder-only",
        "layers": theirs.whole("num_hidden_layers"),
        "d_model": width,
        "heads": heads,
        "kv_heads": theirs.whole("num_key_value_heads", heads),
        "d_k": theirs.whole("head_dim", width // max(heads, 1)),
        "d_ff": theirs.whole("intermediate_size"),
        "feedforward": "gated",
        "activation": theirs.activation("hidden_act", "silu"),
        "dropout": 0.0,
        "attention_dropout": theirs.real("attention_dropout", 0.0),
        "norm": "rms",
        "norm_order": "pre",
        "norm_eps": theirs.real("rms_norm_eps", 1e-6),
        "positions": {"kind": "rotary", "base": _base(theirs)},
        "embedding_scale": False,
        "tied": "all" if theirs.flag("tie_word_embeddings", default=False) else "none",
        "initialization": "normal",
        "vocabulary": theirs.whole("vocab_size"),
        **padding_of(theirs),
    }


def _base(theirs: Settings) -> float:
    """Read how fast positions turn, and refuse every way to stretch them."""
    theirs.only("rope_scaling")
    theirs.only("partial_rotary_factor", 1.0, default=1.0)
    parameters = theirs.table.get("rope_parameters")
    if parameters is None:
        return theirs.real("rope_theta", 10_000.0)
    inner = theirs.inside("rope_parameters")
    for key in ("rope_type", "type"):  # the older name is read where the newer one is missing
        inner.only(key, "default", default="default")
    inner.only("partial_rotary_factor", 1.0, default=1.0)
    return inner.real("rope_theta", 10_000.0)


def _write(config: ModelConfig, tokenizers: Sequence[Tokenizer], model: str, name: str) -> Json:
    assert isinstance(config.positions, Rotary)
    written: Json = {
        "model_type": model,
        "architectures": [name],
        "vocab_size": config.vocabulary,
        "hidden_size": config.d_model,
        "intermediate_size": config.inner_width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads or config.heads,
        "head_dim": config.head_width,
        "hidden_act": ACTIVATIONS[config.activation or "silu"][0],
        "max_position_embeddings": _POSITIONS,
        "rms_norm_eps": config.norm_eps,
        "rope_theta": config.positions.base,  # read by releases before 5
        "rope_parameters": {"rope_type": "default", "rope_theta": config.positions.base},
        "attention_dropout": config.attention_dropout,
        "tie_word_embeddings": config.tied != "none",
        **ids_of(config, tokenizers),
    }
    return written


def _write_llama(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    return {
        **_write(config, tokenizers, "llama", "LlamaForCausalLM"),
        "attention_bias": config.attention_bias,
        "mlp_bias": config.has_feedforward_bias,
    }


def _write_mistral(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    window = config.attention.keys // 2 + 1 if isinstance(config.attention, Local) else None
    written = _write(config, tokenizers, "mistral", "MistralForCausalLM")
    return {**written, "sliding_window": window}


def _write_qwen2(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    return {
        **_write(config, tokenizers, "qwen2", "Qwen2ForCausalLM"),
        "use_sliding_window": False,
        "layer_types": ["full_attention"] * config.layers,
    }


def _beyond(title: str, config: ModelConfig) -> list[Mistake]:
    rotary = isinstance(config.positions, Rotary) and config.positions.layout == "half"
    return not_held(
        title,
        config,
        (
            ("architecture", config.architecture == "decoder-only"),
            ("heads", config.d_model % config.heads == 0),  # whatever their width
            ("d_v", config.d_v in (None, config.head_width)),
            ("feedforward", config.feedforward == "gated"),
            ("norm", config.norm == "rms"),
            ("norm_order", config.norm_order == "pre"),
            ("final_norm", config.has_final_norm),
            ("positions", rotary),
            ("embedding_width", config.embedding_width in (None, config.d_model)),
            ("embedding_scale", not config.embedding_scale),
            ("embedding_norm", not config.embedding_norm),
            ("output_bias", not config.output_bias),
        ),
    )


def _beyond_llama(config: ModelConfig) -> list[Mistake]:
    full = isinstance(config.attention, Softmax) and config.attention.scale is None
    biased = config.attention_bias or not config.has_attention_output_bias
    own = (("attention", full), ("attention_output_bias", biased))
    return [*_beyond("LLaMA", config), *not_held("LLaMA", config, own)]


def _beyond_mistral(config: ModelConfig) -> list[Mistake]:
    choice = config.attention
    held = isinstance(choice, Softmax | Local) and choice.scale is None
    own = (
        ("attention", held),
        ("attention_bias", not config.attention_bias),
        ("attention_output_bias", not config.has_attention_output_bias),
        ("feedforward_bias", not config.has_feedforward_bias),
    )
    return [*_beyond("Mistral", config), *not_held("Mistral", config, own)]


def _beyond_qwen2(config: ModelConfig) -> list[Mistake]:
    full = isinstance(config.attention, Softmax) and config.attention.scale is None
    own = (
        ("attention", full),
        ("d_k", config.head_width * config.heads == config.d_model),
        ("attention_bias", config.attention_bias),
        ("attention_output_bias", not config.has_attention_output_bias),
        ("feedforward_bias", not config.has_feedforward_bias),
    )
    return [*_beyond("Qwen2", config), *not_held("Qwen2", config, own)]


LLAMA = Family(
    title="LLaMA",
    model_type="llama",
    architectures=("LlamaForCausalLM",),
    read=_read,
    write=_write_llama,
    beyond=_beyond_llama,
    rows=llama_rows,
    prefix="model.",
    computed=(".rotary_emb.inv_freq",),
)
MISTRAL = Family(
    title="Mistral",
    model_type="mistral",
    architectures=("MistralForCausalLM",),
    read=_read_mistral,
    write=_write_mistral,
    beyond=_beyond_mistral,
    rows=llama_rows,
    prefix="model.",
    computed=(".rotary_emb.inv_freq",),
)
QWEN2 = Family(
    title="Qwen2",
    model_type="qwen2",
    architectures=("Qwen2ForCausalLM",),
    read=_read_qwen2,
    write=_write_qwen2,
    beyond=_beyond_qwen2,
    rows=partial(llama_rows, output_bias=False),
    prefix="model.",
    computed=(".rotary_emb.inv_freq",),
)
