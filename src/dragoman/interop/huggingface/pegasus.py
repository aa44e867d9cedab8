"""Pegasus: MarianMT with its norms before, and one after each stack.

What is said of features and sinusoids in ``marian.py`` holds here, but that its files hold its
sinusoids too.
"""

from collections.abc import Iterator, Sequence

from dragoman.errors import Mistake
from dragoman.interop.huggingface.family import Family, Json, Settings, not_held
from dragoman.interop.huggingface.marian import POSITIONS, SINUSOIDS, layout_of, position_rows
from dragoman.interop.huggingface.names import Row
from dragoman.interop.huggingface.stacks import (
    Layout,
    beyond_stacks,
    layer_rows,
    norm_rows,
    read_sizes,
    table_rows,
    written_sizes,
)
from dragoman.interop.huggingface.symbols import (
    generation_of,
    padding_of,
    usual_symbols,
    written_ids,
)
from dragoman.models import Learned, ModelConfig
from dragoman.tokenization import Tokenizer


def pegasus_rows(config: ModelConfig) -> list[Row]:
    """Name every weight."""
    layout = layout_of(config)
    return [
        *table_rows(config, layout),
        *position_rows(config, stored=True),
        *layer_rows(config, layout),
        *_last_norms(layout),
    ]


def _last_norms(layout: Layout) -> Iterator[Row]:
    for stack in ("encoder", "decoder"):
        yield from norm_rows(f"{stack}.final_norm", f"model.{stack}.layer_norm", layout)


def _read(theirs: Settings) -> ModelConfig:
    theirs.only("normalize_before", default=True)
    theirs.only("normalize_embedding", default=False)
    theirs.only("add_final_layer_norm", default=True)
    theirs.only("static_position_embeddings", default=True)
    theirs.only("tie_word_embeddings", default=True)
    return theirs.config(
        {
            **read_sizes(theirs),
            "norm_order": "pre",
            "positions": {"kind": "sinusoidal", "layout": "halves"},
            **padding_of(theirs, 0),
        }
    )


def _write(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    return {
        "model_type": "pegasus",
        "architectures": ["PegasusForConditionalGeneration"],
        **written_sizes(config),
        "max_position_embeddings": config.max_length or POSITIONS,
        **written_ids(config, tokenizers),
    }


def _generation(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    return generation_of(config, tokenizers, config.max_length or POSITIONS)


def _beyond(config: ModelConfig) -> list[Mistake]:
    own = (
        ("norm_order", config.norm_order == "pre"),
        ("final_norm", config.norm_order == "post" or config.has_final_norm),
        ("positions", isinstance(config.positions, Learned) or config.positions in SINUSOIDS),
        ("embedding_norm", not config.embedding_norm),
    )
    return [*beyond_stacks("Pegasus", config), *not_held("Pegasus", config, own)]


PEGASUS = Family(
    title="Pegasus",
    model_type="pegasus",
    architectures=("PegasusForConditionalGeneration",),
    read=_read,
    write=_write,
    beyond=_beyond,
    rows=pegasus_rows,
    prefix="model.",
    symbols=usual_symbols,
    generation=_generation,
)
