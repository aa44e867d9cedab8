"""T5 and mT5: RMS norms before, no biases, offsets in buckets, scores without 1 / √E.

Of the two versions, see ``t5_names.py`` for what tells them apart.
"""

import math
from collections.abc import Sequence

from dragoman.errors import Mistake
from dragoman.interop.huggingface.family import ACTIVATIONS, Family, Json, Settings, not_held
from dragoman.interop.huggingface.symbols import (
    generation_of,
    padding_of,
    usual_symbols,
    written_ids,
)
from dragoman.interop.huggingface.t5_names import t5_1_1_rows, t5_rows
from dragoman.models import T5 as Buckets
from dragoman.models import ModelConfig, Softmax
from dragoman.tokenization import Tokenizer

# "gated-gelu" means the tanh form there; the exact one goes by another of its names.
_GATED = {"gelu_tanh": "gelu", "gelu": "gelu_python", "silu": "silu", "relu": "relu"}
# An older release stored a table that nobody reads.
_UNREAD = ("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",)


def _divides(table: Json) -> bool:
    """Say whether the output is divided by √D: version 1.0."""
    stated = table.get("scale_decoder_outputs")
    return table.get("tie_word_embeddings") is not False if stated is None else stated is True


def _read(theirs: Settings) -> ModelConfig:
    return _choices(theirs, "relu", {"tied": "all"})


def _read_1_1(theirs: Settings) -> ModelConfig:
    return _choices(theirs, "relu", _two_tables(theirs))


def _read_mt5(theirs: Settings) -> ModelConfig:
    return _choices(theirs, "gated-gelu", _two_tables(theirs))


def _two_tables(theirs: Settings) -> Json:
    tied = "input" if "lm_head.weight" in theirs.weights else "all"
    return {"tied": tied, "embedding_scale": False}


def _choices(theirs: Settings, network: str, tables: Json) -> ModelConfig:
    layers, dropout = theirs.whole("num_layers"), theirs.real("dropout_rate", 0.1)
    buckets = theirs.whole("relative_attention_num_buckets", 32)
    distance = theirs.whole("relative_attention_max_distance", 128)
    return theirs.config(
        {
            "layers": layers,
            "decoder_layers": theirs.whole("num_decoder_layers", layers),
            "d_model": theirs.whole("d_model"),
            "heads": theirs.whole("num_heads"),
            "d_k": theirs.whole("d_kv", 64),
            "d_ff": theirs.whole("d_ff"),
            **_network(theirs, network),
            "feedforward_bias": False,
            "dropout": dropout,
            "attention_dropout": dropout,
            "feedforward_dropout": dropout,
            "attention": {"kind": "softmax", "scale": 1.0},
            "norm": "rms",
            "norm_order": "pre",
            "norm_eps": theirs.real("layer_norm_epsilon", 1e-6),
            "positions": {"kind": "t5", "buckets": buckets, "max_distance": distance},
            **tables,
            "vocabulary": theirs.whole("vocab_size"),
            **padding_of(theirs, 0),
        }
    )


def _network(theirs: Settings, default: str) -> Json:
    """Read ``feed_forward_proj``, such as ``relu`` or ``gated-gelu``."""
    named = theirs.text("feed_forward_proj", default)
    gate, _, activation = named.rpartition("-")
    if gate not in ("", "gated"):
        theirs.refuse("feed_forward_proj", f"{named[:80]!r} is no network that Dragoman has")
    by_name = {other: ours for ours, names in ACTIVATIONS.items() for other in names}
    if gate:
        by_name |= {other: ours for ours, other in _GATED.items()}
    if activation not in by_name:
        known = ", ".join(by_name)
        problem = f"{activation[:80]!r} is no activation that Dragoman has"
        theirs.refuse("feed_forward_proj", problem, f"it has {known}")
    kind = "gated" if gate else "plain"
    return {"feedforward": kind, "activation": by_name.get(activation, "relu")}


def _write(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    return {**_written(config, tokenizers), "tie_word_embeddings": True}


def _write_1_1(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    return {**_written(config, tokenizers), "tie_word_embeddings": False}


def _written(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    assert isinstance(config.positions, Buckets)
    gated = config.feedforward == "gated"
    activation = config.activation or ("silu" if gated else "relu")
    network = f"gated-{_GATED[activation]}" if gated else ACTIVATIONS[activation][0]
    return {
        "model_type": "t5",
        "architectures": ["T5ForConditionalGeneration"],
        "vocab_size": config.vocabulary,
        "d_model": config.d_model,
        "d_kv": config.head_width,
        "d_ff": config.inner_width,
        "num_layers": config.layers,
        "num_decoder_layers": (
            config.layers if config.decoder_layers is None else config.decoder_layers
        ),
        "num_heads": config.heads,
        "relative_attention_num_buckets": config.positions.buckets,
        "relative_attention_max_distance": config.positions.max_distance,
        "dropout_rate": config.dropout,
        "layer_norm_epsilon": config.norm_eps,
        "feed_forward_proj": network,
        "is_encoder_decoder": True,
        **written_ids(config, tokenizers),
    }


def _generation(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    return generation_of(config, tokenizers, None)


def _beyond(config: ModelConfig) -> list[Mistake]:
    exact = math.log2(config.d_model) % 2 == 0
    own = (
        ("tied", config.tied in (None, "all")),
        ("embedding_scale", config.embedding_scale and exact),
    )
    return [*_beyond_stacks(config), *not_held("T5", config, own)]


def _beyond_1_1(config: ModelConfig) -> list[Mistake]:
    tied = config.tied in (None, "all")
    own = (("tied", tied or (config.tied == "input" and not config.embedding_scale)),)
    return [*_beyond_stacks(config), *not_held("T5", config, own)]


def _beyond_stacks(config: ModelConfig) -> list[Mistake]:
    begun = config.target_before
    attention = isinstance(config.attention, Softmax) and config.attention.scale == 1.0
    held = (
        ("architecture", config.architecture == "encoder-decoder"),
        ("attention", attention),
        ("attention_bias", not config.attention_bias),
        ("attention_output_bias", not config.has_attention_output_bias),
        ("feedforward_bias", not config.has_feedforward_bias),
        ("output_bias", not config.output_bias),
        ("kv_heads", config.kv_heads in (None, config.heads)),
        ("d_v", config.d_v in (None, config.head_width)),
        ("norm", config.norm == "rms"),
        ("norm_order", config.norm_order == "pre"),
        ("final_norm", config.has_final_norm),
        ("positions", isinstance(config.positions, Buckets)),
        ("decoder_positions", config.target_positions == config.positions),
        ("embedding_norm", not config.embedding_norm),
        ("embedding_width", config.embedding_width in (None, config.d_model)),
        ("target_vocabulary", config.target_vocabulary is None),
        ("target_before", begun is None or len(begun) <= 2),
    )
    return not_held("T5", config, held)


_CLASS = ("T5ForConditionalGeneration",)
T5 = Family(
    title="T5",
    model_type="t5",
    architectures=_CLASS,
    read=_read,
    write=_write,
    beyond=_beyond,
    rows=t5_rows,
    computed=_UNREAD,
    when=_divides,
    symbols=usual_symbols,
    generation=_generation,
)
T5_1_1 = Family(
    title="T5 1.1",
    model_type="t5",
    architectures=_CLASS,
    read=_read_1_1,
    write=_write_1_1,
    beyond=_beyond_1_1,
    rows=t5_1_1_rows,
    computed=_UNREAD,
    when=lambda table: not _divides(table),
    symbols=usual_symbols,
    generation=_generation,
)
MT5 = Family(
    title="mT5",
    model_type="mt5",
    architectures=("MT5ForConditionalGeneration",),
    read=_read_mt5,
    write=_write_1_1,
    beyond=_beyond_1_1,
    rows=t5_1_1_rows,
    computed=_UNREAD,
    symbols=usual_symbols,
    generation=_generation,
)
