"""A comparison as a TOML file: variants of one recipe, and the budget that each of them gets."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from dragoman.configfile import read_record, read_toml, record, similar_file
from dragoman.errors import ConfigError, Mistake
from dragoman.models import ModelConfig
from dragoman.recipe import Recipe, differences, read_recipe
from dragoman.training import Constant, InverseSqrt

Count = Annotated[int, Field(ge=1)]
Minutes = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]

NO_LIMIT = 10**9  # updates of a run that ends by the clock
# What every variant must see alike: the same data, in the same order, for as long.
_SHARED = (
    "data.",
    "tokenizer.",
    *(
        f"training.{key}"
        for key in (
            "steps",
            "epochs",
            "batch_tokens",
            "accumulate",
            "seed",
            "stop_after",
            "max_minutes",
        )
    ),
)


@record
class Variant:
    """One row of a comparison.

    Args:
        name: what it is called in the table; its folder is made from it.
        set: what differs from the recipe, such as ``model.heads=1``.
        group: rows of the same group stand together under this heading.
    """

    name: str
    set: tuple[str, ...] = ()
    group: str = ""

    def __post_init__(self) -> None:
        """Check what is left of the name in a folder."""
        if not folder_name(self.name):
            raise ConfigError("name", f"{self.name!r} has no letter or digit to name a folder by")


@record
class Comparison:
    """A whole comparison.

    Args:
        recipe: what the variants are variants of; the path starts from the folder of the file.
        set: overrides for all of them.
        updates: how long each is trained; unset, with ``minutes`` unset too, as the recipe says.
        minutes: instead: how long each is trained by the clock, validation not counted.
        seeds: each variant is trained once with each.
        variant: the rows; the others are compared with the first.

    Raises:
        ConfigError: there is no variant, two share a name or a folder, or both budgets are given.
    """

    recipe: str
    set: tuple[str, ...] = ()
    updates: Count | None = None
    minutes: Minutes | None = None
    seeds: tuple[Seed, ...] = (1,)
    variant: tuple[Variant, ...]

    def __post_init__(self) -> None:
        """Check what no single field can."""
        mistakes: list[Mistake] = []
        if self.updates is not None and self.minutes is not None:
            mistakes.append(Mistake("minutes", "updates is given too", "leave one of them out"))
        if not self.variant:
            mistakes.append(Mistake("variant", "there is none", "add a [[variant]] table"))
        if not self.seeds:
            mistakes.append(Mistake("seeds", "there is none", "try seeds = [1]"))
        mistakes += _repeated("seeds", [str(seed) for seed in self.seeds])
        mistakes += _repeated("variant", [folder_name(one.name) for one in self.variant])
        if mistakes:
            raise ConfigError.together(mistakes)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One training of one variant.

    Args:
        variant: which.
        seed: draws weights, order and dropout.
        recipe: all choices, the test set included.
        minutes: when the clock ends it; None when its updates do.
        place: its folder, from that of the comparison.
    """

    variant: Variant
    seed: int
    recipe: Recipe
    minutes: float | None
    place: Path


def read_comparison(
    path: Path, *, minutes: float | None = None, overrides: Sequence[str] = ()
) -> Comparison:
    """Read the file of a comparison.

    Args:
        path: TOML.
        minutes: takes the place of the budget in the file.
        overrides: settings for all variants, after those of the file.

    Raises:
        ConfigError: with every mistake, each at its place.
    """
    found = read_record(Comparison, read_toml(path), file=str(path))
    found = replace(found, set=(*found.set, *overrides))
    if minutes is None:
        return found
    if not (minutes > 0 and math.isfinite(minutes)):
        raise ConfigError("--minutes", f"{minutes:g} is not a time")
    return replace(found, updates=None, minutes=minutes)


def plan_runs(comparison: Comparison, file: Path) -> tuple[PlannedRun, ...]:
    """Resolve every variant before any is trained.

    Args:
        comparison: what ``read_comparison`` gave.
        file: where it was read.

    Returns:
        The runs, variant by variant, and seed by seed within.

    Raises:
        ConfigError: with every mistake of every variant, each at its place.
    """
    base = file.parent / comparison.recipe
    if not base.exists():
        problem = f"there is no file {base}"
        raise ConfigError("recipe", problem, similar_file(base)).inside(file=str(file))
    shared = read_recipe(base, comparison.set)  # its mistakes are those of every variant
    mistakes = [*_impossible(shared, comparison)]
    recipes: list[Recipe] = []
    for variant in comparison.variant:
        place = f"variant {variant.name!r}"
        try:
            recipe = read_recipe(base, [*comparison.set, *variant.set])
        except ConfigError as error:
            mistakes += [replace(one, place=f"{place}: {one.place}") for one in error.mistakes]
            continue
        recipes.append(recipe)
        wrong = [*_not_shared(shared, recipe), *_impossible(recipe, comparison)]
        mistakes += [
            replace(one, place=f"{place}: {one.place}")
            for one in wrong
            if one not in mistakes  # said of all variants already
        ]
    if mistakes:
        raise ConfigError.together(replace(one, file=str(file)) for one in dict.fromkeys(mistakes))
    return tuple(
        _planned(comparison, variant, recipe, seed)
        for variant, recipe in zip(comparison.variant, recipes, strict=True)
        for seed in comparison.seeds
    )


def folder_name(name: str) -> str:
    """Name the folder of a variant: letters and digits, lower case, hyphens between."""
    return "-".join(re.findall(r"\w+", name.casefold()))


def _planned(comparison: Comparison, variant: Variant, recipe: Recipe, seed: int) -> PlannedRun:
    place = Path(folder_name(variant.name))
    if len(comparison.seeds) > 1:
        place /= f"seed-{seed}"
    return PlannedRun(
        variant=variant,
        seed=seed,
        recipe=_with_budget(recipe, comparison, seed),
        minutes=comparison.minutes,
        place=place,
    )


def _with_budget(recipe: Recipe, comparison: Comparison, seed: int) -> Recipe:
    """Give a recipe the budget and nothing else that could end it."""
    training = replace(
        recipe.training,
        seed=seed,
        stop_after=None,
        max_minutes=None,
        # A line of progress before every validation tells training time from other time.
        log_every=math.gcd(recipe.training.log_every, recipe.validation.every),
    )
    if comparison.minutes is not None:
        training = replace(training, steps=NO_LIMIT, epochs=None)
    elif comparison.updates is not None:
        training = replace(training, steps=comparison.updates, epochs=None)
    validation = replace(recipe.validation, patience=None)
    return replace(recipe, training=training, validation=validation)


def _not_shared(shared: Recipe, recipe: Recipe) -> Iterator[Mistake]:
    """Find what a variant changes that all must have alike."""
    for difference in differences(shared, recipe):
        key, _, what = difference.partition(": ")
        if key.startswith(_SHARED):
            hint = "set it for all variants, above the first [[variant]]"
            yield Mistake(key, f"{what}, and all variants share it", hint)


def _impossible(recipe: Recipe, comparison: Comparison) -> Iterator[Mistake]:
    model, data = recipe.model, recipe.data
    if isinstance(model, ModelConfig) and model.architecture != "encoder-decoder":
        problem = f"{model.architecture} does not translate, and a comparison is by BLEU"
        yield Mistake("model.architecture", problem, "compare translators")
    if len(data.target_languages) > 1:
        problem = f"{len(data.target_languages)} target languages have no common measure"
        yield Mistake("data.train", problem, "compare on one of them")
    if data.test is None and data.validation is None and not data.hold_out:
        yield Mistake("data", "there is nothing to measure on", "give test, validation or hold_out")
    schedule = recipe.training.schedule
    if comparison.minutes is not None and not isinstance(schedule, InverseSqrt | Constant):
        problem = (
            f"{schedule.kind} ends at the last update, which a budget in minutes does not know"
        )
        hint = "try inverse_sqrt or constant, or give updates"
        yield Mistake("training.schedule", problem, hint)


def _repeated(place: str, names: Sequence[str]) -> Iterator[Mistake]:
    for name, count in Counter(names).items():
        if count > 1:
            yield Mistake(place, f"{count} are called {name}", "give each a name of its own")
