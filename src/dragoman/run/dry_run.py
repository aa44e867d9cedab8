"""``dragoman train --dry-run``: what a run would learn from and what it needs, before it begins.

No text is read. Batches of random pieces stand in for it, as large as the recipe says, and go
forward and backward through the recipe's own model on PyTorch's meta device, as in ``plan``.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dragoman.data import AnyCorpus, Dataset, ImageFile, Several, Text, corpus_files
from dragoman.errors import DataError
from dragoman.inspection import Plan, PlanReport
from dragoman.models import ModelConfig
from dragoman.recipe import Recipe, recipe_toml
from dragoman.run.plan import plan

SETS = ("train", "validation", "test")
# Millions of weights in table 3 of the paper, by layers, d_model, heads and d_ff.
_TABLE_3 = {(6, 512, 8, 2048): 65, (6, 1024, 16, 4096): 213}


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a run would be.

    Args:
        recipe: all choices.
        text: what is known of each file without reading it, in lines.
        report: memory, time and cost.
        printed: weights of a model of this size by the paper's table 3; None when it has none.
    """

    recipe: Recipe
    text: tuple[str, ...]
    report: PlanReport
    printed: int | None

    def lines(self) -> list[str]:
        """Say all of it as a recipe that can be trained, with what it needs in comments."""
        said = [*self.text, "", *self._needs()]
        comments = [f"# {line}".rstrip() for line in said]
        return [*recipe_toml(self.recipe).splitlines(), "", *comments]

    def _needs(self) -> list[str]:
        lines = self.report.lines()
        if self.printed is not None:
            size = f"table 3 prints {self.printed} million for this size, English to German"
            lines.insert(1, f"paper       {size}; docs/guides/paper.md says why")
        if self.report.steps is None:
            lines += [
                "",
                "the data says how many updates there are",
                *map(_some, self.report.plans),
            ]
        return lines


SOME = 1_000  # updates


def _some(plan: Plan) -> str:
    """Say what a thousand updates take, where nobody knows how many there will be."""
    seconds = SOME * plan.time.total
    hours = seconds * plan.count / 3600
    cost = "" if plan.price is None else f", {hours * plan.price:.2g} at {plan.price:g} an hour"
    return f"{plan.name}:{plan.count}  {SOME:,} updates: {seconds:.3g} s{cost}"


def dry_run(
    recipe: Recipe,
    hardware: Sequence[str] = (),
    *,
    title: str = "recipe",
    price: float | None = None,
) -> DryRun:
    """Look at what a run would need.

    Args:
        recipe: all choices.
        hardware: such as ``h100:8``; the cores of this machine and one H100 unless given.
        title: names the recipe.
        price: of one device for an hour.

    Raises:
        ConfigError: no such hardware, or it cannot compute as the recipe asks.
    """
    report = plan(recipe, hardware or _usual(), title=title, price=price)
    return DryRun(recipe, tuple(_text(recipe)), report, _printed(recipe))


def _usual() -> tuple[str, ...]:
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return (f"cpu:{cores}", "h100:1")


def _text(recipe: Recipe) -> Iterator[str]:
    """Say of each file of each set whether it is there."""
    missing = False
    for name in SETS:
        corpus: AnyCorpus | None = getattr(recipe.data, name)
        for path, problem in _files(corpus):
            yield f"{name:<10}  {path}: {problem or 'is there'}"
            missing |= bool(problem)
    if recipe.data.validation is None:
        held = recipe.data.hold_out
        yield f"validation  {held:,} taken out of train" if held else "validation  none"
    yield "stand-in    no text was read: below, random pieces stand in for it, rows without padding"
    if missing:
        yield "            a training needs the files that are missing"


def _files(corpus: AnyCorpus | None) -> Iterator[tuple[str, str]]:
    """Give the files of a corpus, each with what is wrong with it."""
    match corpus:
        case None:
            return
        case Several(parts=parts):
            for part in parts:
                yield from _files(part)
            return
        case Text(text=path) | ImageFile(images=path):
            paths = [path]
        case Dataset(dataset=name):
            yield name, "is not looked for, as it may lie on the network"
            return
        case _:
            try:
                paths = corpus_files(corpus)
            except DataError as error:
                yield str(error), "is not there"
                return
    for path in paths:
        yield str(path), "" if path.is_file() else "is not there"


def _printed(recipe: Recipe) -> int | None:
    """Find a model of this size in the paper."""
    model = recipe.model
    if not isinstance(model, ModelConfig) or model.architecture != "encoder-decoder":
        return None
    return _TABLE_3.get((model.layers, model.d_model, model.heads, model.d_ff))
