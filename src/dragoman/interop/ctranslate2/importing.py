"""A CTranslate2 model folder as a bundle of ours, read without that library.

    bundle = import_ctranslate2(Path("ende_ctranslate2"))

Binary versions 1 to 6, weights of every type in float32. A folder that ``write_ctranslate2`` wrote
becomes the model it was written from, to the bit when its weights are in float32.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle, load_tokenizers
from dragoman.configfile import write_record
from dragoman.errors import ConfigError, ModelError
from dragoman.interop.ctranslate2.binary import Binary, read_binary
from dragoman.interop.ctranslate2.deducing import Deduced, deduce
from dragoman.interop.ctranslate2.filling import filled
from dragoman.interop.ctranslate2.settings import Settings, read_settings
from dragoman.interop.ctranslate2.variables import Variables
from dragoman.interop.ctranslate2.vocabulary import Pieces, complete, read_pieces
from dragoman.interop.ctranslate2.writing import weights_digest
from dragoman.interop.special_files import refuse_special_files
from dragoman.interop.vocabulary import tokenizer_of_pieces
from dragoman.models import ModelConfig, read_config
from dragoman.models.build import Model
from dragoman.tokenization import Tokenizer


@dataclass(frozen=True, slots=True)
class Opened:
    """A folder as read, before text comes in.

    Args:
        config: the choices.
        model: with its weights, in evaluation mode.
        sides: pieces and control symbols, of one side or two.
        settings: what else the folder says.
        tokenizers: those that ``write_ctranslate2`` kept; none in folders of other programs.
    """

    config: ModelConfig
    model: Model
    sides: list[Pieces]
    settings: Settings
    tokenizers: tuple[Tokenizer, ...] = ()


def open_folder(folder: Path) -> Opened:
    """Read all of a folder but how text becomes pieces.

    Raises:
        ModelError: a file is missing or damaged, or the model computes what no choice of ours does.
    """
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such model folder")
    refuse_special_files(folder)
    path = folder / "model.bin"
    binary = read_binary(path)
    variables = Variables(path, binary)
    settings = read_settings(folder, binary.version, variables)
    found = deduce(variables, binary.specification, settings)
    one_sided = found.config.architecture != "encoder-decoder"
    pieces = read_pieces(folder, settings, one_sided=one_sided)
    if settings.ours.get("model") is not None:
        return _as_written(folder, binary, variables, settings, found)
    return _as_deduced(folder, variables, settings, found, pieces)


def _as_deduced(
    folder: Path,
    variables: Variables,
    settings: Settings,
    found: Deduced,
    pieces: list[tuple[str, ...]],
) -> Opened:
    """Fill in what only the vocabularies say."""
    one_sided = found.config.architecture != "encoder-decoder"
    alone = found.config.architecture == "decoder-only"
    if not one_sided and settings.target_start is None:
        raise ModelError(
            f"{folder}: leaves it to users how a target begins, and here it is always the same; "
            "set decoder_start_token in config.json"
        )
    sides = complete(folder, pieces, settings, from_zero=found.from_zero, alone=alone)
    if not one_sided and settings.target_start not in sides[-1].names:
        raise ModelError(f"{folder}: has no piece {settings.target_start}, which begins a target")
    _check_sizes(folder, variables, found.config, sides)
    special, before, after = sides[-1].special, None, None
    if settings.source_start and not one_sided:
        before = (_id(folder, sides[0], settings.start),)
    if not settings.source_end and not one_sided:
        after = ()
    elif not one_sided and (end := _id(folder, sides[0], settings.end)) != special.end:
        after = (end,)
    added = {"encoder": sides[0].added, "decoder": sides[-1].added}
    config = replace(
        found.config,
        vocabulary=len(sides[0].names),
        target_vocabulary=len(sides[1].names) if len(sides) == 2 else None,
        padding=special.padding,
        starts_with_padding=found.from_zero or (alone and special.padding == special.end),
        source_before=before,
        source_after=after,
        output_bias=found.config.output_bias
        or (bool(sides[-1].added) and found.config.architecture != "encoder-only"),
        tied=_tied(variables, found, joint=len(sides) == 1),
    )
    model = filled(variables, config, factors=found.factors, added=added)
    return Opened(config, model, sides, settings)


def _id(folder: Path, side: Pieces, name: str) -> int:
    if name not in side.names:
        raise ModelError(f"{folder}: has no piece {name}, which it adds to every source")
    return side.names.index(name)


def _check_sizes(
    folder: Path, variables: Variables, config: ModelConfig, sides: Sequence[Pieces]
) -> None:
    """Hold the rows of the tables to the vocabularies."""
    tables = {"encoder/embeddings_0/weight": sides[0], "decoder/embeddings/weight": sides[-1]}
    for name, side in tables.items():
        if name not in variables and config.architecture != "encoder-decoder":
            continue
        shape = variables.shape(name)
        count = len(side.names) - side.added
        if not shape or shape[0] != count:
            raise ModelError(
                f"{folder}: {name} is {shape} in model.bin, and the vocabulary has {count:,} "
                "pieces; copy the whole folder"
            )


def _tied(variables: Variables, found: Deduced, *, joint: bool) -> Any:
    """Say which tables are one."""
    if found.config.architecture == "encoder-only":
        return None

    def same(one: str, other: str) -> bool:
        factors = [found.factors.get(name, 1.0) for name in (one, other)]
        return factors[0] == factors[1] and variables.same(one, other)

    target, output = "decoder/embeddings/weight", "decoder/projection/weight"
    out = same(target, output)
    if found.config.architecture == "decoder-only":
        return "all" if out else "none"
    both = joint and same("encoder/embeddings_0/weight", target)
    return ("all" if out else "input") if both else ("output" if out else "none")


def _as_written(
    folder: Path, binary: Binary, variables: Variables, settings: Settings, found: Deduced
) -> Opened:
    """Take the choices that ``write_ctranslate2`` wrote down, if the weights agree."""
    where = f"{folder / 'config.json'}: dragoman"
    try:
        table = settings.ours["model"]
        if not isinstance(table, dict):
            raise ModelError(f"{where}.model: is no table of choices; write the folder again")
        config = read_config(table, file=where)  # pyright: ignore[reportUnknownArgumentType]  # as JSON holds it
    except ConfigError as error:
        raise ModelError(f"{error}; write the folder again") from None
    if not isinstance(config, ModelConfig):
        raise ModelError(f"{where}.model: is no Transformer; write the folder again")
    if found.from_zero or found.factors:
        raise ModelError(f"{variables.path}: has factors that {where} knows nothing of")
    _agree(where, config, found.config)
    tokenizers = load_tokenizers(folder)
    sizes = [size for size in (config.vocabulary, config.target_vocabulary) if size is not None]
    found_sizes = [tokenizer.size for tokenizer in tokenizers]
    if found_sizes != sizes and [*dict.fromkeys(found_sizes)] != sizes:
        raise ModelError(f"{folder}: the tokenizers are not of the sizes that {where} says")
    sides = [Pieces(tuple(each.names()), each.special) for each in tokenizers]
    model = filled(variables, config)
    arrays = [variable for variable in binary.variables.values() if variable.shape]
    exact = all(variable.kind == "float32" for variable in arrays)
    digest = settings.ours.get("weights")
    if exact and digest is not None and digest != weights_digest(model):
        raise ModelError(f"{variables.path}: its weights are not those written; copy it again")
    return Opened(config, model, sides, settings, tokenizers)


def _agree(where: str, ours: ModelConfig, found: ModelConfig) -> None:
    """Hold the choices written down to what the weights say."""
    one, other = _essence(ours), _essence(found)
    for key, value in one.items():
        if other[key] != value:
            raise ModelError(
                f"{where}.model: {key}: is {value}, and model.bin says {other[key]}; "
                "write the folder again"
            )


def _essence(config: ModelConfig) -> dict[str, Any]:
    """Say what a file shows of a model's choices, in one way whatever the record leaves unset."""
    gated = config.feedforward == "gated"
    added = ("sinusoidal", "learned", "none")
    positions = [
        "added" if each.kind in added else write_record(each)
        for each in (config.positions, config.target_positions)
    ]
    scale = config.attention_scale
    return {
        "architecture": config.architecture,
        "layers": (config.layers, config.decoder_layers or config.layers),
        "d_model": config.d_model,
        "heads": (config.heads, config.kv_heads or config.heads, config.head_width),
        "embedding_width": config.embedding_width or config.d_model,
        "d_ff": config.inner_width,
        "feedforward": config.feedforward,
        "activation": config.activation or ("silu" if gated else "relu"),
        "attention.scale": None if scale is None else f"{scale:.5g}",
        "norm": (config.norm, config.norm_order, config.has_final_norm, f"{config.norm_eps:.5g}"),
        "positions": positions,
        "embedding_scale": (config.embedding_scale, config.embedding_norm),
        "segments": config.segments,
        "head": config.head if config.architecture == "encoder-only" else None,
    }


def import_ctranslate2(folder: Path, *, tokenizer: Path | None = None) -> Bundle:
    """Read a CTranslate2 model folder as a bundle.

    Args:
        folder: holds ``model.bin``, vocabularies and, from version 6 on, ``config.json``.
        tokenizer: how text is cut into the pieces of the vocabulary, which the folder does not say:
            a SentencePiece model, or codes of subword-nmt or fastBPE. Unless given, text comes as
            pieces between spaces, or as single characters where all pieces are.

    Raises:
        ModelError: a file is missing or damaged, or the model computes what no choice of ours does.
    """
    opened = open_folder(folder)
    if opened.tokenizers:
        return Bundle(opened.config, opened.model, opened.tokenizers)
    made = tuple(
        tokenizer_of_pieces(side.names, side.special, cut=tokenizer, controls=_added(side))
        for side in opened.sides
    )
    return Bundle(opened.config, opened.model, made)


def _added(side: Pieces) -> list[int]:
    """List the ids that only make room."""
    return list(range(len(side.names) - side.added, len(side.names)))
