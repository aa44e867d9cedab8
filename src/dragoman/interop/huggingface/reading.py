"""A folder of Hugging Face's as a bundle of ours."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from tokenizers import Tokenizer as Backend
from torch import Tensor

from dragoman.bundle import Bundle, frame_of, load_tensors
from dragoman.configfile import read_record
from dragoman.errors import ConfigError, ModelError
from dragoman.interop.huggingface.families import FAMILIES
from dragoman.interop.huggingface.family import Family, Json, Languages, Settings
from dragoman.interop.huggingface.folder import Weights, read_json
from dragoman.interop.huggingface.names import Row
from dragoman.interop.huggingface.pickles import refuse_pickles
from dragoman.interop.huggingface.symbols import GENERATION, generation_settings
from dragoman.interop.huggingface.weights import read_weights
from dragoman.interop.vocabulary import read_vocabulary
from dragoman.models import Model, ModelConfig, build_model
from dragoman.tokenization import SpecialIds, Tokenizer

OURS = "dragoman"  # the key in config.json under which our choices stand


def read_huggingface(
    folder: Path,
    tokenizers: Sequence[Tokenizer] | None = None,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Bundle:
    """Read a model that ``save_pretrained`` of ``transformers`` or ``write_huggingface`` wrote.

    Nothing in the folder is run; weights in a ``.bin`` are read as tensors or not at all.

    Args:
        folder: with ``config.json``, weights and the files of a tokenizer.
        tokenizers: taken instead of those in the folder.
        source_language: what a model of many languages reads, such as ``de_DE`` or ``de``.
        target_language: what it writes.

    Returns:
        The model in evaluation mode, in float32.

    Raises:
        ModelError: a file is missing, damaged or a program; a weight is missing, left over or of
            another shape.
        ConfigError: the model is of no family that is read, or has an option that Dragoman lacks,
            all of them at once; or a language is not known, or needed and not given.
    """
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such folder")
    refuse_pickles(folder)
    languages = Languages(source_language, target_language)
    path = folder / "config.json"
    table = read_json(path)
    family, architecture = find_family(table, path)
    _refuse_changed(folder, table)
    weights = Weights(folder)
    theirs = Settings(table, path, architecture, weights.shapes.keys())
    config = _config(family, theirs)
    if tokenizers is None:
        tokenizers = read_vocabulary(folder, config)
    if tokenizers:
        config = _padded(config, tokenizers[-1].special)
        config = _framed(config, family, theirs, tokenizers, languages)
    return Bundle(config, _filled(config, family, weights, folder), tuple(tokenizers))


def _refuse_changed(folder: Path, table: Json) -> None:
    """Refuse weights that are not those of the model alone, and programs to be fetched for it.

    Raises:
        ConfigError: weights are packed, or a program is named.
        ModelError: others are added to them.
    """
    if table.get("quantization_config"):
        problem, hint = "weights are packed, which is not read", "take the model as it was before"
        raise ConfigError("quantization_config", problem, hint).inside(
            file=str(folder / "config.json")
        )
    for key in ("attn_implementation", "_attn_implementation"):
        if table.get(key) not in (None, "eager", "sdpa"):
            problem = f"{str(table[key])[:80]!r} is a program to be fetched, which was not done"
            raise ConfigError(key, problem, "remove the key").inside(
                file=str(folder / "config.json")
            )
    adapter = folder / "adapter_config.json"
    if adapter.exists():
        raise ModelError(f"{adapter}: an adapter is added to the weights; merge them first")


def find_family(table: Json, path: Path) -> tuple[Family, str]:
    """Find the family and the class of a ``config.json``.

    Raises:
        ConfigError: it is none of ours, or brings code of its own.
    """
    stated = table.get("model_type")
    families = [family for family in FAMILIES if family.model_type == stated]
    if not families:
        known = ", ".join(sorted({family.model_type for family in FAMILIES}))
        problem = f"{str(stated)[:80]!r} is no family that Dragoman reads"
        raise ConfigError("model_type", problem, f"it reads {known}").inside(file=str(path))
    if table.get("auto_map"):
        problem = "the model brings code of its own, which was not run"
        hint = "remove the key if the model is the usual one without it"
        raise ConfigError("auto_map", problem, hint).inside(file=str(path))
    listed = table.get("architectures") or [families[0].architectures[0]]
    named = str(cast("list[object]", listed)[0]) if isinstance(listed, list) else str(listed)
    for family in families:
        if named in family.architectures and family.when(table):
            return family, named
    known = ", ".join(
        name for name in dict.fromkeys(sum((family.architectures for family in families), ()))
    )
    problem = f"{named[:80]!r} is no class that Dragoman reads"
    raise ConfigError("architectures", problem, f"it reads {known}").inside(file=str(path))


def _config(family: Family, theirs: Settings) -> ModelConfig:
    """Read the choices: ours where we wrote them and they say what theirs says."""
    stated = family.read(theirs)
    own = theirs.table.get(OURS)
    if not isinstance(own, dict):
        return stated
    choices = cast("Json", own).get("model")
    where = f"{theirs.path}: {OURS}.model"
    if not isinstance(choices, dict):
        raise ModelError(f"{where}: is no table of choices")
    config = read_record(ModelConfig, cast("Json", choices), file=where)
    mistakes = family.beyond(config)
    if mistakes:
        raise ConfigError.together(mistakes).inside(file=where)
    for key, value in family.write(config, ()).items():
        said_by_tokenizer = key == "architectures" or key.endswith("_token_id")
        if not said_by_tokenizer and theirs.table.get(key, value) != value:
            problem = f"{key} is {theirs.table[key]!r} beside it, and would be {value!r}"
            raise ModelError(f"{where}: {problem}; remove {OURS} if the rest is right")
    return config


def _padded(config: ModelConfig, special: SpecialIds) -> ModelConfig:
    """Fill batches as the tokenizer says; a language model may have no piece for that alone."""
    config = replace(config, padding=special.padding)
    if config.architecture != "decoder-only":
        return config
    return replace(config, starts_with_padding=special.padding in (special.start, special.end))


def _framed(
    config: ModelConfig,
    family: Family,
    theirs: Settings,
    tokenizers: Sequence[Tokenizer],
    languages: Languages,
) -> ModelConfig:
    """Say what stands around sources and before targets, where our choices do not say it."""
    if family.symbols is None:
        languages.refuse("this model does not translate")
        return config
    if isinstance(theirs.table.get(OURS), dict):
        languages.refuse("the model knows its own; it was written by Dragoman")
        _see_begun(config, theirs, tokenizers)
        _see_framed(config, theirs, tokenizers)
        return config
    symbols: dict[str, Any] = dict(family.symbols(theirs, tokenizers, languages))
    return replace(config, **symbols)


def _see_begun(config: ModelConfig, theirs: Settings, tokenizers: Sequence[Tokenizer]) -> None:
    """See that targets begin as the files beside our choices say.

    Raises:
        ModelError: they do not.
    """
    begun = frame_of(config, tokenizers[-1].special).target_before
    second = begun[1] if len(begun) == 2 else None
    said = generation_settings(theirs)
    for key, ours in (("decoder_start_token_id", begun[0]), ("forced_bos_token_id", second)):
        stated = said.optional_id(key)
        if stated != ours:
            raise ModelError(
                f"{theirs.path}: {OURS}.model: {key} is {stated} beside it or in {GENERATION}, and "
                f"would be {ours}; remove {OURS} if the rest is right"
            )


def _see_framed(config: ModelConfig, theirs: Settings, tokenizers: Sequence[Tokenizer]) -> None:
    """See that the tokenizer of the folder puts around a source what our choices say.

    Raises:
        ModelError: it does not.
    """
    file = theirs.path.with_name("tokenizer.json")
    if not file.is_file():  # the files of Marian add the end symbol, as is usual
        return
    frame = frame_of(config, tokenizers[-1].special)
    ours = [*frame.source_before, *frame.source_after]
    try:
        stated = Backend.from_str(file.read_text(encoding="utf-8")).encode("").ids
    except Exception as error:  # the library raises no narrower class
        raise ModelError(f"{file}: not a tokenizer, or damaged ({error})") from None
    if stated != ours:
        raise ModelError(
            f"{file}: puts the ids {stated} around a source, and {OURS} in config.json says "
            f"{ours}; remove {OURS} there if the rest is right"
        )


def _filled(config: ModelConfig, family: Family, weights: Weights, folder: Path) -> Model:
    """Build the model, once it is known that the weights fill it."""
    path = folder / "config.json"
    try:
        with torch.device("meta"):  # names and shapes alone: a slip costs no memory
            empty = build_model(config)
    except ValueError as error:
        raise ModelError(f"{path}: {error}; it describes no model that Dragoman builds") from None
    shapes = {name: tuple(each.shape) for name, each in empty.named_parameters()}
    rows = family.rows(config)
    theirs = _with_prefix(_renamed(weights.read()), rows, family.prefix)
    beside = (*family.computed, *family.idle)
    read = read_weights(shapes, theirs, rows, str(folder), computed=beside)
    try:
        model = build_model(config)
    except RuntimeError as error:  # more memory than there is
        raise ModelError(f"{path}: cannot be built: {str(error).splitlines()[0]}") from None
    load_tensors(dict(model.named_parameters()), read, str(folder))
    return model.eval()


def _renamed(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Call norms what they are called today: checkpoints of BERT from TensorFlow differ."""
    renamed: dict[str, Tensor] = {}
    for name, weight in theirs.items():
        new = name.replace("LayerNorm.gamma", "LayerNorm.weight")
        renamed[new.replace("LayerNorm.beta", "LayerNorm.bias")] = weight
    return renamed


def _with_prefix(
    theirs: Mapping[str, Tensor], rows: Sequence[Row], prefix: str
) -> Mapping[str, Tensor]:
    """Put the prefix of the bare stack before names, or take it off, as the class at hand has it.

    A checkpoint may be made from the stack alone and read with a head, or the other way round.
    """
    if not prefix:
        return theirs
    known = {name for row in rows for name in row.theirs}
    wanted = any(name.startswith(prefix) for name in known)
    if wanted == any(name.startswith(prefix) for name in theirs):
        return theirs
    if wanted:
        return {name if name in known else prefix + name: each for name, each in theirs.items()}
    return {name.removeprefix(prefix): each for name, each in theirs.items()}
