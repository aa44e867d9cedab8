"""ALBERT (arXiv 1909.11942): BERT with one layer for all, and narrow tables (section 3.1).

Each of our layers gets a copy of the one; it is written back only while all of them are equal.
"""

from collections.abc import Iterator, Sequence

from dragoman.errors import Mistake
from dragoman.interop.huggingface.bert import (
    beyond_encoder,
    head_of,
    read_classes,
    read_encoder,
    write_encoder,
)
from dragoman.interop.huggingface.encoder_heads import encoder_head
from dragoman.interop.huggingface.family import Family, Json, Settings, not_held
from dragoman.interop.huggingface.names import Row, attention, every, linear, norm
from dragoman.models import ModelConfig
from dragoman.tokenization import Tokenizer

# Of the pretraining: whether two sentences stand in their order.
ORDER = ("sop_classifier.classifier.weight", "sop_classifier.classifier.bias")
CLASSES = {
    "pieces": "AlbertForMaskedLM",
    "class": "AlbertForSequenceClassification",
    "tags": "AlbertForTokenClassification",
    "pooled": "AlbertModel",
    "none": "AlbertModel",
}


def albert_rows(config: ModelConfig) -> list[Row]:
    """Name every weight."""
    prefix = "" if CLASSES[config.head] == "AlbertModel" else "albert."
    inputs, width = f"{prefix}embeddings", config.input_width
    segments = f"{inputs}.token_type_embeddings.weight"
    return [
        Row("input.embedding.table", (f"{inputs}.word_embeddings.weight",)),
        Row("input.positions.table", (f"{inputs}.position_embeddings.weight",)),
        Row("input.segments", (segments,), absent=(2, width)),
        *norm("input.norm", f"{inputs}.LayerNorm"),
        *linear("input.projection", f"{prefix}encoder.embedding_hidden_mapping_in"),
        *every(config.layers, _layer(f"{prefix}encoder.albert_layer_groups.0.albert_layers.0")),
        *_head(config, prefix),
    ]


def _layer(theirs: str) -> Iterator[Row]:
    ours = "encoder.layers.{i}"
    yield from attention(f"{ours}.attention", f"{theirs}.attention", "query key value dense")
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.attention.LayerNorm")
    yield from linear(f"{ours}.feed_forward.inner", f"{theirs}.ffn")
    yield from linear(f"{ours}.feed_forward.output", f"{theirs}.ffn_output")
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.full_layer_layer_norm")


def _head(config: ModelConfig, prefix: str) -> Iterator[Row]:
    return encoder_head(
        config,
        prefix=prefix,
        stack="albert.",
        pooler="pooler",
        predictions="predictions",
        transform="predictions",
    )


def _read(theirs: Settings) -> ModelConfig:
    theirs.only("num_hidden_groups", 1, default=1)
    theirs.only("inner_group_num", 1, default=1)
    theirs.only("position_embedding_type", "absolute", default="absolute")
    theirs.only("is_decoder", default=False)
    theirs.only("net_structure_type", 0)
    longest = theirs.whole("max_position_embeddings", 512)
    return theirs.config(
        {
            **read_encoder(theirs, activation="gelu_new"),
            "embedding_norm": True,
            "embedding_width": theirs.whole("embedding_size", 128),
            "embedding_projection": "last",
            "head": head_of(theirs, CLASSES),
            "output_bias": theirs.architecture == "AlbertForMaskedLM",
            "positions": {"kind": "learned", "max_length": longest},
            **read_classes(theirs),
        }
    )


def _write(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    return {
        "model_type": "albert",
        "architectures": [CLASSES[config.head]],
        "embedding_size": config.embedding_width,
        "num_hidden_groups": 1,
        "inner_group_num": 1,
        **write_encoder(config, tokenizers),
    }


def _beyond(config: ModelConfig) -> list[Mistake]:
    late = ("embedding_projection", config.embedding_projection == "last")
    return [*beyond_encoder("ALBERT", config), *not_held("ALBERT", config, (late,))]


ALBERT = Family(
    title="ALBERT",
    model_type="albert",
    architectures=tuple(dict.fromkeys(CLASSES.values())),
    read=_read,
    write=_write,
    beyond=_beyond,
    rows=albert_rows,
    prefix="albert.",
    computed=("embeddings.position_ids",),
    idle=("albert.pooler.weight", "albert.pooler.bias", *ORDER),
)
