"""BART and mBART: learned positions, and a norm after the sum with them.

BART has its norms after the sum of each layer, mBART before, and one after each stack. Their tables
of positions begin with two rows that nobody reads. ``eps`` of their norms is 1e-5 whatever
``config.json`` says.
"""

from collections.abc import Iterator, Sequence

from dragoman.errors import Mistake
from dragoman.interop.huggingface.family import Family, Json, Settings, not_held
from dragoman.interop.huggingface.forms import Offset
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
    bart_symbols,
    generation_of,
    mbart_symbols,
    padding_of,
    written_ids,
)
from dragoman.models import Learned, ModelConfig
from dragoman.tokenization import Tokenizer

_UNREAD = 2  # rows of theirs before the first position


def bart_rows(config: ModelConfig) -> list[Row]:
    """Name every weight of BART, and of mBART where stacks end with a norm."""
    layout = Layout()
    return [*table_rows(config, layout), *_around(config, layout), *layer_rows(config, layout)]


def _around(config: ModelConfig, layout: Layout) -> Iterator[Row]:
    """Rows of what stands before and after the layers."""
    for stack, side in (("encoder", "source"), ("decoder", "target")):
        positions = (f"model.{stack}.embed_positions.weight",)
        yield Row(f"{side}_input.positions.table", positions, Offset(_UNREAD))
        norm = f"model.{stack}.layernorm_embedding"
        yield from norm_rows(f"{side}_input.norm", norm, layout)
        if config.has_final_norm:
            yield from norm_rows(f"{stack}.final_norm", f"model.{stack}.layer_norm", layout)


def _read_bart(theirs: Settings) -> ModelConfig:
    theirs.only("normalize_before", default=False)
    theirs.only("add_final_layer_norm", default=False)
    return _read(theirs, {})


def _read_mbart(theirs: Settings) -> ModelConfig:
    theirs.only("normalize_before", default=True)
    theirs.only("add_final_layer_norm", default=True)
    return _read(theirs, {"norm_order": "pre"})


def _read(theirs: Settings, order: Json) -> ModelConfig:
    theirs.only("normalize_embedding", default=True)
    theirs.only("static_position_embeddings", default=False)
    theirs.only("extra_pos_embeddings", default=_UNREAD)
    theirs.only("tie_word_embeddings", default=True)
    longest = theirs.whole("max_position_embeddings", 1024)
    return theirs.config(
        {
            **read_sizes(theirs),
            **order,
            "positions": {"kind": "learned", "max_length": longest},
            "embedding_norm": True,
            **padding_of(theirs, 1),
        }
    )


def _write_bart(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    kind = {"model_type": "bart", "architectures": ["BartForConditionalGeneration"]}
    return {**kind, **_written(config, tokenizers)}


def _write_mbart(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    kind = {"model_type": "mbart", "architectures": ["MBartForConditionalGeneration"]}
    return {**kind, **_written(config, tokenizers)}


def _written(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    assert isinstance(config.positions, Learned)
    rows = {"max_position_embeddings": config.positions.max_length}
    return {**written_sizes(config), **rows, **written_ids(config, tokenizers)}


def _generation(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    return generation_of(config, tokenizers, config.max_length)


def _beyond_bart(config: ModelConfig) -> list[Mistake]:
    own = (
        ("norm_order", config.norm_order == "post"),
        ("final_norm", config.norm_order == "pre" or not config.has_final_norm),
        *_own(config),
    )
    return [*beyond_stacks("BART", config), *not_held("BART", config, own)]


def _beyond_mbart(config: ModelConfig) -> list[Mistake]:
    own = (
        ("norm_order", config.norm_order == "pre"),
        ("final_norm", config.norm_order == "post" or config.has_final_norm),
        *_own(config),
    )
    return [*beyond_stacks("mBART", config), *not_held("mBART", config, own)]


def _own(config: ModelConfig) -> Iterator[tuple[str, bool]]:
    yield "positions", isinstance(config.positions, Learned)
    yield "embedding_norm", config.embedding_norm


BART = Family(
    title="BART",
    model_type="bart",
    architectures=("BartForConditionalGeneration", "BartModel"),
    read=_read_bart,
    write=_write_bart,
    beyond=_beyond_bart,
    rows=bart_rows,
    prefix="model.",
    symbols=bart_symbols,
    generation=_generation,
)
MBART = Family(
    title="mBART",
    model_type="mbart",
    architectures=("MBartForConditionalGeneration", "MBartModel"),
    read=_read_mbart,
    write=_write_mbart,
    beyond=_beyond_mbart,
    rows=bart_rows,
    prefix="model.",
    symbols=mbart_symbols,
    generation=_generation,
)
