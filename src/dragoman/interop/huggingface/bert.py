"""BERT: norms after the sum, learned positions, kinds of segment, and what reads the output.

What ``BertModel`` gives is ours with the head ``pooled`` (its pooled vector) or ``none``.
"""

from collections.abc import Iterator, Mapping, Sequence

from dragoman.errors import Mistake
from dragoman.interop.huggingface.encoder_heads import encoder_head
from dragoman.interop.huggingface.family import ACTIVATIONS, Family, Json, Settings, not_held
from dragoman.interop.huggingface.names import Row, attention, every, linear, norm
from dragoman.interop.huggingface.special import ids_of
from dragoman.models import Learned, ModelConfig, Softmax
from dragoman.tokenization import Tokenizer

SENTENCES = ("cls.seq_relationship.weight", "cls.seq_relationship.bias")  # of the pretraining
CLASSES = {
    "pieces": "BertForMaskedLM",
    "class": "BertForSequenceClassification",
    "tags": "BertForTokenClassification",
    "pooled": "BertModel",
    "none": "BertModel",
}


def bert_rows(config: ModelConfig) -> list[Row]:
    """Name every weight."""
    prefix = "" if CLASSES[config.head] == "BertModel" else "bert."
    inputs, width = f"{prefix}embeddings", config.d_model
    segments = f"{inputs}.token_type_embeddings.weight"
    return [
        Row("input.embedding.table", (f"{inputs}.word_embeddings.weight",)),
        Row("input.positions.table", (f"{inputs}.position_embeddings.weight",)),
        Row("input.segments", (segments,), absent=(2, width)),
        *norm("input.norm", f"{inputs}.LayerNorm"),
        *every(config.layers, _layer(f"{prefix}encoder.layer.{{i}}")),
        *_head(config, prefix),
    ]


def _layer(theirs: str) -> Iterator[Row]:
    ours, four = "encoder.layers.{i}", "self.query self.key self.value output.dense"
    yield from attention(f"{ours}.attention", f"{theirs}.attention", four)
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.attention.output.LayerNorm")
    yield from linear(f"{ours}.feed_forward.inner", f"{theirs}.intermediate.dense")
    yield from linear(f"{ours}.feed_forward.output", f"{theirs}.output.dense")
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.output.LayerNorm")


def _head(config: ModelConfig, prefix: str) -> Iterator[Row]:
    return encoder_head(
        config,
        prefix=prefix,
        stack="bert.",
        pooler="pooler.dense",
        predictions="cls.predictions",
        transform="cls.predictions.transform",
    )


def _read(theirs: Settings) -> ModelConfig:
    theirs.only("position_embedding_type", "absolute", default="absolute")
    theirs.only("is_decoder", default=False)
    theirs.only("add_cross_attention", default=False)
    return theirs.config(
        {
            **read_encoder(theirs),
            "embedding_norm": True,
            "head": head_of(theirs, CLASSES),
            "output_bias": theirs.architecture == "BertForMaskedLM",
            "positions": {
                "kind": "learned",
                "max_length": theirs.whole("max_position_embeddings", 512),
            },
            **read_classes(theirs),
        }
    )


def head_of(theirs: Settings, classes: Mapping[str, str]) -> str:
    """Say which of our heads a class has; the bare model may come with a pooled vector or not.

    Args:
        theirs: its settings.
        classes: the class of each of our heads.
    """
    heads = [head for head, name in classes.items() if name == theirs.architecture]
    if heads != ["pooled", "none"]:
        return heads[0]
    return "pooled" if any("pooler." in name for name in theirs.weights) else "none"


def read_encoder(theirs: Settings, *, activation: str = "gelu") -> Json:
    """Read what BERT and its kin have in common.

    Args:
        theirs: the settings.
        activation: what is meant where none is named.
    """
    if theirs.architecture.endswith("MaskedLM"):
        theirs.only("tie_word_embeddings", default=True)
    theirs.only("chunk_size_feed_forward", default=0)
    return {
        "architecture": "encoder-only",
        "layers": theirs.whole("num_hidden_layers"),
        "d_model": theirs.whole("hidden_size"),
        "heads": theirs.whole("num_attention_heads"),
        "d_ff": theirs.whole("intermediate_size"),
        "dropout": theirs.real("hidden_dropout_prob", 0.1),
        "attention_dropout": theirs.real("attention_probs_dropout_prob", 0.1),
        "attention_bias": True,
        "activation": theirs.activation("hidden_act", activation),
        "norm_eps": theirs.real("layer_norm_eps", 1e-12),
        "embedding_scale": False,
        "initialization": "normal",
        "segments": theirs.whole("type_vocab_size", 2),
        "vocabulary": theirs.whole("vocab_size"),
        "padding": theirs.optional_id("pad_token_id") or 0,
    }


def read_classes(theirs: Settings) -> Json:
    """Read the names of classes, in the order of their numbers, where there are any."""
    if "Classification" not in theirs.architecture:
        return {}
    theirs.only("problem_type", "single_label_classification")
    names = theirs.table.get("id2label")
    if names is None:
        count = min(theirs.whole("num_labels", 2), 1_000_000)  # more have no weights
        return {"classes": [f"LABEL_{number}" for number in range(count)]}
    table = theirs.inside("id2label")
    classes = [table.text(str(number)) for number in range(len(table.table))]
    if len(set(classes)) < len(classes):
        theirs.refuse("id2label", "two classes have one name", "give each a name of its own")
    return {"classes": classes}


def write_encoder(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    """Say what BERT and its kin have in common."""
    assert isinstance(config.positions, Learned)
    written: Json = {
        "vocab_size": config.vocabulary,
        "hidden_size": config.d_model,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.d_ff,
        "hidden_act": ACTIVATIONS[config.activation or "relu"][0],
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "max_position_embeddings": config.positions.max_length,
        "type_vocab_size": config.segments or 2,
        "layer_norm_eps": config.norm_eps,
        **ids_of(config, tokenizers),
    }
    if config.classes is not None:
        written["id2label"] = {str(number): name for number, name in enumerate(config.classes)}
        written["label2id"] = {name: number for number, name in enumerate(config.classes)}
    return written


def _write(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    return {
        "model_type": "bert",
        "architectures": [CLASSES[config.head]],
        **write_encoder(config, tokenizers),
    }


def beyond_encoder(title: str, config: ModelConfig) -> list[Mistake]:
    """List the choices that BERT and its kin have no place for."""
    attention = isinstance(config.attention, Softmax) and config.attention.scale is None
    # The layer before the pieces has an activation of its own here, GELU, where none is chosen.
    activation = config.head != "pieces" or config.activation is not None
    return not_held(
        title,
        config,
        (
            ("architecture", config.architecture == "encoder-only"),
            ("images", config.images is None),
            ("attention", attention),
            ("kv_heads", config.kv_heads in (None, config.heads)),
            ("d_k", config.head_width * config.heads == config.d_model),
            ("d_v", config.d_v in (None, config.head_width)),
            ("feedforward", config.feedforward == "plain"),
            ("activation", activation),
            ("norm", config.norm == "layer"),
            ("norm_order", config.norm_order == "post"),
            ("final_norm", not config.has_final_norm),
            ("initialization", config.initialization != "deepnorm"),
            ("positions", isinstance(config.positions, Learned)),
            ("embedding_scale", not config.embedding_scale),
            ("embedding_norm", config.embedding_norm),
            ("output_bias", not config.output_bias or config.head == "pieces"),
            ("tied", config.tied != "none" or config.head != "pieces"),
            ("pooled", config.pooled or config.head != "class"),
        ),
    )


def _beyond(config: ModelConfig) -> list[Mistake]:
    own = (
        ("embedding_width", config.embedding_width in (None, config.d_model)),
        ("embedding_projection", config.embedding_projection == "first"),
    )
    return [*beyond_encoder("BERT", config), *not_held("BERT", config, own)]


BERT = Family(
    title="BERT",
    model_type="bert",
    architectures=tuple(dict.fromkeys(CLASSES.values())),
    read=_read,
    write=_write,
    beyond=_beyond,
    rows=bert_rows,
    prefix="bert.",
    computed=("embeddings.position_ids",),
    idle=("bert.pooler.dense.weight", "bert.pooler.dense.bias", *SENTENCES),
)
