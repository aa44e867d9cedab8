"""All choices of one run in one frozen record: data, tokenizer, model, training, decoding."""

import copy
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from dragoman.configfile import (
    Table,
    override,
    read_record,
    read_toml,
    record,
    suggest,
    to_toml,
    write_record,
)
from dragoman.data import AnyCorpus, LengthRule
from dragoman.decoding import BeamSearch
from dragoman.errors import ConfigError, Mistake
from dragoman.evaluation import METRICS, MetricName
from dragoman.models import PRESETS, ModelChoice, ModelConfig
from dragoman.tokenization import TokenizerConfig
from dragoman.training import TrainingConfig, ValidationConfig

SITTING_KEYS = frozenset(
    f"training.{key}" for key in ("stop_after", "max_minutes", "process_timeout", "tensorboard")
)
_CORPORA: tuple[Literal["train", "validation", "test"], ...] = ("train", "validation", "test")


@record
class DataConfig:
    """The ``[data]`` table: which text, and what to do with odd pairs.

    Args:
        train: learned from.
        validation: decides which weights are best.
        test: looked at once, when the run is done.
        hold_out: pairs taken out of ``train`` at random to validate on, when there is no
            ``validation``.
        max_length: most pieces on a side, the end symbol included; the token budget is a limit too.
        too_long: what happens to a longer pair: it is dropped, refused, cut, or (when only the
            budget is exceeded) makes a batch alone.
        context: pieces that a language model sees at once.
        masked: share of the pieces that an encoder has to fill in.
    """

    train: AnyCorpus
    validation: AnyCorpus | None = None
    test: AnyCorpus | None = None
    hold_out: Annotated[int, Field(ge=0)] = 0
    max_length: Annotated[int, Field(ge=2)] | None = None
    too_long: LengthRule = "drop"
    context: Annotated[int, Field(ge=1, le=1_000_000)] = 256
    masked: Annotated[float, Field(gt=0, lt=1)] = 0.15


@record
class Recipe:
    """Everything that defines a run."""

    data: DataConfig
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: ModelChoice = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    validation: ValidationConfig = ValidationConfig()
    decoding: BeamSearch = BeamSearch()

    def __post_init__(self) -> None:
        """Check what no single table can."""
        mistakes = [*_wrong_data(self), *_wrong_metrics(self), *_wrong_tables(self)]
        if mistakes:
            raise ConfigError.together(mistakes)


def read_recipe(
    path: str | Path, settings: Sequence[str] = (), *, model: Table | None = None
) -> Recipe:
    """Read a recipe file.

    Args:
        path: TOML; relative paths in it start from its folder.
        settings: overrides such as ``training.steps=100``; paths in them start from here.
        model: as in ``parse_recipe``.

    Raises:
        ConfigError: with every mistake, each at its place.
    """
    path = Path(path)
    table = read_toml(path)
    _anchor(table, path.parent)
    return parse_recipe(table, settings, file=str(path), model=model)


def parse_recipe(
    table: Table, settings: Sequence[str] = (), *, file: str = "", model: Table | None = None
) -> Recipe:
    """Turn a table, as TOML would hold it, into a recipe.

    Args:
        table: is not changed.
        settings: overrides such as ``training.steps=100``.
        file: name for messages.
        model: what ``[model]`` leaves out, unless it names a preset or another architecture; the
            defaults unless given.

    Raises:
        ConfigError: with every mistake, each at its place.
    """
    table = copy.deepcopy(table)
    for setting in settings:
        _leave_one_length(table, setting)
        override(table, setting)
    _anchor(table, Path.cwd())
    _name_kinds(table)
    if model is not None:
        _fill_model(table, model)
    _expand_preset(table, file)
    return read_record(Recipe, table, file=file)


def recipe_toml(recipe: Recipe) -> str:
    """Write a recipe out in full, every default included."""
    return to_toml(write_record(recipe))


def differences(old: Recipe, new: Recipe) -> list[str]:
    """List what makes two recipes different runs: ``training.warmup: 400 was 200``."""
    before, after = _flat(write_record(old)), _flat(write_record(new))
    return [
        f"{key}: {_shown(after.get(key))} was {_shown(before.get(key))}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key) and key not in SITTING_KEYS
    ]


_GIVEN = {
    "files": "source and target",
    "tsv": "a file of two columns",
    "text": "plain text",
    "images": "images",
}
_PAIRS = (("files", "tsv"), "give source and target, or a file of two columns")


def _wrong_data(recipe: Recipe) -> Iterator[Mistake]:
    """Find corpora of a kind that the model does not learn from."""
    model = recipe.model
    wanted, hint = _PAIRS
    if isinstance(model, ModelConfig) and model.images is not None:
        wanted, hint = ("images",), 'give images: { images = "FILE.npz" }'
    elif model.architecture == "decoder-only" or (
        model.architecture == "encoder-only" and model.head == "pieces"
    ):
        wanted, hint = ("text",), 'give plain text: { text = "FILE" }'
    for name in _CORPORA:
        corpus = getattr(recipe.data, name)
        if corpus is not None and corpus.kind not in wanted:
            problem = f"{_GIVEN[corpus.kind]}, from which {model.architecture} does not learn here"
            yield Mistake(f"data.{name}", problem, hint)
    if isinstance(model, ModelConfig) and model.head in ("none", "pooled"):
        yield Mistake("model.head", f"{model.head} has nothing to learn", "try pieces or class")


def _wrong_metrics(recipe: Recipe) -> Iterator[Mistake]:
    """Find metrics that do not measure this kind of model."""
    architecture = recipe.model.architecture
    match architecture:
        case "decoder-only":
            measured: tuple[MetricName, ...] = ("bits",)
        case "encoder-only":
            measured = ("accuracy",)
        case _:
            measured = METRICS
    for name in recipe.validation.metrics or ():
        if name not in measured:
            problem = f"{name} does not measure a model of the kind {architecture}"
            yield Mistake("validation.metrics", problem, f"choose from {', '.join(measured)}")


def _wrong_tables(recipe: Recipe) -> Iterator[Mistake]:
    """Find ties between tables with vocabularies of their own, and what training cannot use."""
    model = recipe.model
    if recipe.tokenizer.sampling is not None:
        hint = "leave it out; dragoman.tokenization.SubwordSampler samples from Python"
        yield Mistake("tokenizer.sampling", "is not part of training yet", hint)
    if not isinstance(model, ModelConfig) or model.architecture != "encoder-decoder":
        return  # there is one vocabulary
    if model.tied in ("all", "input") and not recipe.tokenizer.shared:
        hint = "set tokenizer.joint = true without a tokenizer.target, or try output"
        yield Mistake("model.tied", f"{model.tied} needs one vocabulary for both sides", hint)


def _shown(value: object) -> str:
    return "unset" if value is None else repr(value)


def _flat(table: Table, prefix: str = "") -> Table:
    flat: Table = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _flat(cast("Table", value), f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _leave_one_length(table: Table, setting: str) -> None:
    """Let ``training.steps`` take the place of ``epochs``, and the other way round."""
    other = {"training.steps": "epochs", "training.epochs": "steps"}
    training, key = table.get("training"), setting.partition("=")[0].strip()
    if key in other and isinstance(training, dict):
        cast("Table", training).pop(other[key], None)


def _fill_model(table: Table, model: Table) -> None:
    chosen = table.setdefault("model", {})
    if isinstance(chosen, dict) and "preset" not in chosen:
        named = cast("Table", chosen)
        if named.get("architecture", model["architecture"]) == model["architecture"]:
            table["model"] = copy.deepcopy(model) | named


def _expand_preset(table: Table, file: str) -> None:
    model = table.setdefault("model", {})
    if not isinstance(model, dict):
        return
    chosen = cast("Table", model)
    chosen.setdefault("architecture", "encoder-decoder")
    if "preset" not in chosen:
        return
    preset = chosen.pop("preset")
    if not isinstance(preset, str) or preset not in PRESETS:
        hint = suggest(str(preset), list(PRESETS))
        raise ConfigError("model.preset", f"{preset!r} is not a preset", hint).inside(file=file)
    table["model"] = copy.deepcopy(PRESETS[preset]) | chosen


def _name_kinds(table: Table) -> None:
    """Let ``{ source, target }`` and ``"pairs.tsv"`` stand for a corpus without naming its kind."""
    for data, name in _each_corpus(table):
        value = data[name]
        if isinstance(value, str):
            value = {"file": value}
        if isinstance(value, dict) and "kind" not in value:
            keys = {"file": "tsv", "text": "text", "images": "images"}
            kind = next((keys[key] for key in keys if key in value), "files")
            value = {"kind": kind, **cast("Table", value)}
        data[name] = value
    # A form without settings may be named by its kind alone.
    for section, key in (
        ("model", "positions"),
        ("model", "decoder_positions"),
        ("model", "attention"),
        ("training", "schedule"),
        ("training", "optimizer"),
    ):
        inner = table.get(section)
        if isinstance(inner, dict) and isinstance(cast("Table", inner).get(key), str):
            inner[key] = {"kind": inner[key]}
    training = table.get("training")
    optimizer = cast("Table", training).get("optimizer") if isinstance(training, dict) else None
    if isinstance(optimizer, dict):  # constants alone are those of the paper's
        cast("Table", optimizer).setdefault("kind", "adam")


def _anchor(table: Table, folder: Path) -> None:
    """Make relative paths of the corpora start from ``folder``, and absolute.

    A recipe kept in a run folder then means the same files wherever it is read.
    """
    _anchor_tokenizers(table, folder)
    for data, name in _each_corpus(table):
        value = data[name]
        if isinstance(value, str):
            data[name] = os.path.abspath(folder / value)
        elif isinstance(value, dict):
            files = cast("Table", value)
            for key in ("source", "target", "file", "text", "images"):
                if isinstance(files.get(key), str):
                    files[key] = os.path.abspath(folder / files[key])


def _anchor_tokenizers(table: Table, folder: Path) -> None:
    """Make paths of existing tokenizers start from ``folder``, as those of the corpora do."""
    tokenizer = table.get("tokenizer")
    while isinstance(tokenizer, dict):
        chosen = cast("Table", tokenizer)
        if isinstance(chosen.get("file"), str):
            chosen["file"] = os.path.abspath(folder / chosen["file"])
        tokenizer = chosen.get("target")


def _each_corpus(table: Table) -> list[tuple[dict[str, Any], str]]:  # Any: not yet validated
    data = table.get("data")
    if not isinstance(data, dict):
        return []
    found = cast("dict[str, Any]", data)
    return [(found, name) for name in _CORPORA if name in found]
