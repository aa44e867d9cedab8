"""All choices of one run in one frozen record: data, tokenizer, model, training, decoding."""

import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, cast

from pydantic import Field

from dragoman.configfile import (
    Table,
    override,
    read_record,
    read_toml,
    record,
    to_toml,
    write_record,
)
from dragoman.data import (
    AnyCorpus,
    CaseAugmentation,
    Filters,
    LengthRule,
    ParallelCorpus,
    Several,
    parts_of,
)
from dragoman.decoding import BeamSearch
from dragoman.errors import ConfigError, Mistake
from dragoman.evaluation import METRICS, MetricName
from dragoman.models import Linear, ModelChoice, ModelConfig
from dragoman.recipe.tables import (
    CORPORA,
    anchor,
    expand_preset,
    fill_model,
    leave_one_length,
    name_kinds,
)
from dragoman.tokenization import TokenizerConfig
from dragoman.training import TrainingConfig, ValidationConfig

SITTING_KEYS = frozenset(
    f"training.{key}" for key in ("stop_after", "max_minutes", "process_timeout", "tensorboard")
)


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
        filters: which pairs of ``train`` are left out, or mended.
        case_augmentation: how many pairs are shown in ALL CAPS or Title Case.
        prepared: folder where ids of parallel text are kept, which runs may share; ``data`` in the
            folder of the run unless given.
    """

    train: AnyCorpus
    validation: AnyCorpus | None = None
    test: AnyCorpus | None = None
    hold_out: Annotated[int, Field(ge=0)] = 0
    max_length: Annotated[int, Field(ge=2)] | None = None
    too_long: LengthRule = "drop"
    context: Annotated[int, Field(ge=1, le=1_000_000)] = 256
    masked: Annotated[float, Field(gt=0, lt=1)] = 0.15
    filters: Filters | None = None
    case_augmentation: CaseAugmentation | None = None
    prepared: Path | None = None

    @property
    def target_languages(self) -> tuple[str, ...]:
        """Languages that the training text is translated into, as far as it says so, by name."""
        if not isinstance(self.train, ParallelCorpus | Several):
            return ()
        named = {part.target_language for part in parts_of(self.train)}
        return tuple(sorted(name for name in named if name is not None))


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
        mistakes = [*_wrong_data(self), *_wrong_languages(self)]
        mistakes += [*_wrong_metrics(self), *_wrong_tables(self), *_wrong_search(self)]
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
    anchor(table, path.parent)
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
        leave_one_length(table, setting)
        override(table, setting)
    anchor(table, Path.cwd())
    name_kinds(table)
    if model is not None:
        fill_model(table, model)
    expand_preset(table, file)
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


_GIVEN = {"pairs": "source and target", "text": "plain text", "images": "images"}


def _wrong_data(recipe: Recipe) -> Iterator[Mistake]:
    """Find corpora of a kind that the model does not learn from."""
    model = recipe.model
    wanted, hint = "pairs", "give source and target, or a file of pairs"
    if isinstance(model, ModelConfig) and model.images is not None:
        wanted, hint = "images", 'give images: { images = "FILE.npz" }'
    elif model.architecture == "decoder-only" or (
        model.architecture == "encoder-only" and model.head == "pieces"
    ):
        wanted, hint = "text", 'give plain text: { text = "FILE" }'
    for name in CORPORA:
        corpus = cast("AnyCorpus | None", getattr(recipe.data, name))
        if corpus is None:
            continue
        kind = "pairs" if isinstance(corpus, ParallelCorpus | Several) else str(corpus.kind)
        if kind != wanted:
            problem = f"{_GIVEN[kind]}, from which {model.architecture} does not learn here"
            yield Mistake(f"data.{name}", problem, hint)
        elif isinstance(corpus, Several) and not _translates(recipe):
            problem = "several corpora are for models that translate"
            yield Mistake(f"data.{name}", problem, "put the text into one file")
    if isinstance(model, ModelConfig) and model.head in ("none", "pooled"):
        yield Mistake("model.head", f"{model.head} has nothing to learn", "try pieces or class")


def _wrong_languages(recipe: Recipe) -> Iterator[Mistake]:
    """Find corpora without a language where the model learns to tell languages apart."""
    languages = recipe.data.target_languages
    if len(languages) < 2:
        return
    for name in CORPORA:
        corpus = cast("AnyCorpus | None", getattr(recipe.data, name))
        if not isinstance(corpus, ParallelCorpus | Several):
            continue
        for number, part in enumerate(parts_of(corpus), start=1):
            if part.target_language is None:
                place = f"data.{name}"
                if isinstance(corpus, Several):
                    place += f".parts.{number}"
                hint = f"set it, as for the others: {', '.join(languages)}"
                yield Mistake(f"{place}.target_language", "is not given", hint)


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
    if not _translates(recipe):
        given = {
            "tokenizer.sampling": recipe.tokenizer.sampling,
            "data.filters": recipe.data.filters,
            "data.case_augmentation": recipe.data.case_augmentation,
            "data.prepared": recipe.data.prepared,
        }
        for key, value in given.items():
            if value is not None:
                yield Mistake(key, "is for models that translate", "leave it out")
    if not isinstance(model, ModelConfig) or model.architecture != "encoder-decoder":
        return  # there is one vocabulary
    if model.tied in ("all", "input") and not recipe.tokenizer.shared:
        hint = "set tokenizer.joint = true without a tokenizer.target, or try output"
        yield Mistake("model.tied", f"{model.tied} needs one vocabulary for both sides", hint)


def _wrong_search(recipe: Recipe) -> Iterator[Mistake]:
    """Find a coverage penalty of models that form no attention weights over a source."""
    model = recipe.model
    softmax = isinstance(model, ModelConfig) and not isinstance(model.attention, Linear)
    if recipe.decoding.coverage and not (softmax and _translates(recipe)):
        problem = "needs attention weights over the source, and this model forms none"
        yield Mistake("decoding.coverage", problem, "set it to 0")


def _translates(recipe: Recipe) -> bool:
    model = recipe.model
    return not isinstance(model, ModelConfig) or model.architecture == "encoder-decoder"


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
