"""MarianMT: the Transformer of the paper with biases everywhere.

Its sinusoids are computed, sines before cosines. A model of ours whose sinusoids are interleaved is
written with its features in that order, so that nothing has to be put in place of theirs. ``eps``
of its norms is 1e-5 whatever ``config.json`` says.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from dragoman.errors import Mistake
from dragoman.interop.huggingface.family import Family, Json, Settings, not_held
from dragoman.interop.huggingface.forms import SAME, InHalves
from dragoman.interop.huggingface.names import Row, Shape
from dragoman.interop.huggingface.stacks import (
    Layout,
    beyond_stacks,
    bias_row,
    layer_rows,
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
from dragoman.models import Learned, ModelConfig, Sinusoidal
from dragoman.nn import sinusoids
from dragoman.tokenization import Tokenizer

SINUSOIDS = (Sinusoidal(), Sinusoidal(layout="halves"))
POSITIONS = 2048  # sinusoids that theirs has, where ours have no end


def marian_rows(config: ModelConfig) -> list[Row]:
    """Name every weight."""
    layout = layout_of(config)
    return [
        *(table_rows if config.target_vocabulary is None else _two_tables)(config, layout),
        *position_rows(config),
        *layer_rows(config, layout),
    ]


def layout_of(config: ModelConfig) -> Layout:
    """Order features as their sinusoids are."""
    if isinstance(config.positions, Sinusoidal) and config.positions.layout == "interleaved":
        return Layout(InHalves(0), InHalves(1))
    return Layout()


def _two_tables(config: ModelConfig, layout: Layout) -> Iterator[Row]:
    source, target = "source_input.embedding.table", "target_input.embedding.table"
    yield Row(source, ("model.encoder.embed_tokens.weight",), layout.columns)
    yield Row(target, ("model.decoder.embed_tokens.weight",), layout.columns)
    yield Row(target, ("lm_head.weight",), layout.columns, tied=True)
    yield bias_row(config, target)


def position_rows(config: ModelConfig, *, stored: bool = False) -> Iterator[Row]:
    """Rows of positions: learned ones stand where their sinusoids are.

    Args:
        config: of the model.
        stored: whether sinusoids are written; they may stand there in any case.
    """
    learned = isinstance(config.positions, Learned)
    shape = (POSITIONS, config.d_model) if stored else None
    for stack, side in (("encoder", "source"), ("decoder", "target")):
        theirs = (f"model.{stack}.embed_positions.weight",)
        fixed = None if learned else _sinusoids
        yield Row(f"{side}_input.positions.table", theirs, SAME, absent=shape, fixed=fixed)


def _sinusoids(shape: Shape) -> Tensor:
    return sinusoids(torch.arange(shape[0]), shape[1], layout="halves").float()


def _read(theirs: Settings) -> ModelConfig:
    theirs.only("normalize_before", default=False)
    theirs.only("normalize_embedding", default=False)
    theirs.only("add_final_layer_norm", default=False)
    theirs.only("static_position_embeddings", default=True)
    joint = theirs.flag("share_encoder_decoder_embeddings", default=True)
    if not joint:
        theirs.only("tie_word_embeddings", default=True)
    sizes = read_sizes(theirs)
    vocabulary = sizes["vocabulary"]
    other = theirs.whole("decoder_vocab_size", vocabulary)
    if joint and other != vocabulary:
        theirs.refuse("decoder_vocab_size", f"{other} is not vocab_size, {vocabulary}")
    return theirs.config(
        {
            **sizes,
            "positions": {"kind": "sinusoidal", "layout": "halves"},
            "target_vocabulary": None if joint else other,
            **padding_of(theirs, 58_100),
        }
    )


def _write(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    rows = config.positions.max_length if isinstance(config.positions, Learned) else POSITIONS
    return {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        **written_sizes(config),
        "decoder_vocab_size": config.vocabulary,
        "share_encoder_decoder_embeddings": True,
        "max_position_embeddings": rows,
        **written_ids(config, tokenizers),
    }


def _generation(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    return generation_of(config, tokenizers, config.max_length or POSITIONS)


def _beyond(config: ModelConfig) -> list[Mistake]:
    own = (
        ("norm_order", config.norm_order == "post"),
        ("final_norm", config.norm_order == "pre" or not config.has_final_norm),
        ("positions", isinstance(config.positions, Learned) or config.positions in SINUSOIDS),
        ("embedding_norm", not config.embedding_norm),
    )
    return [*beyond_stacks("MarianMT", config), *not_held("MarianMT", config, own)]


MARIAN = Family(
    title="MarianMT",
    model_type="marian",
    architectures=("MarianMTModel",),
    read=_read,
    write=_write,
    beyond=_beyond,
    rows=marian_rows,
    prefix="model.",
    symbols=usual_symbols,
    generation=_generation,
)
