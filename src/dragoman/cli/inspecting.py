"""What the sub-commands of ``dragoman inspect`` have in common."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

import dragoman
from dragoman.cli.lines import lines_out
from dragoman.errors import ConfigError

RecipeOrModel = Annotated[
    Path, typer.Argument(help="Recipe (TOML), or model or run folder.", metavar="RECIPE|MODEL")
]
Png = Annotated[Path | None, typer.Option("--png", help="Draw a picture here.")]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at: the choices of a model, and the model where there is one.

    Args:
        config: every choice, sizes of vocabularies included.
        model: with its weights; None for a recipe.
        name: of the file or folder.
        assumed: what only data would tell and was assumed; empty if nothing was.
    """

    config: Any  # Any: naming the types loads torch
    model: Any
    name: str
    assumed: str = ""


def read_subject(path: Path, settings: Sequence[str] | None = None) -> Subject:
    """Read a recipe or a model folder.

    Of a recipe, the vocabulary counts with the size that is asked for; little text gives fewer
    pieces. Classes, which only the data knows, count as two.

    Raises:
        ConfigError: the recipe is wrong, or settings are given for a model.
        ModelError: the model folder is.
    """
    if path.is_dir():
        from dragoman.bundle import load_bundle  # loads torch

        if settings:
            raise ConfigError("--set", "changes a recipe, and this is a model", "leave it out")
        bundle = load_bundle(path)
        return Subject(bundle.config, bundle.model, path.resolve().name)
    recipe = dragoman.read_recipe(path, settings or ())
    config = _completed(recipe.model, recipe.tokenizer)
    classes = getattr(recipe.model, "classes", None) != getattr(config, "classes", None)
    assumed = "the data says how many classes there are; two are assumed" if classes else ""
    return Subject(config, None, path.stem, assumed)


def _completed(config: Any, tokenizer: Any) -> Any:  # Any: naming the types loads torch
    known: dict[str, Any] = {}
    if getattr(config, "images", None) is None and config.vocabulary is None:
        known["vocabulary"] = tokenizer.size
        if config.architecture not in ("decoder-only", "encoder-only") and not tokenizer.shared:
            other = tokenizer.size if tokenizer.target is None else tokenizer.target.size
            known["target_vocabulary"] = other
    if getattr(config, "head", None) in ("class", "tags") and config.classes is None:
        known["classes"] = ("one", "other")
    return replace(config, **known)


def check_png(option: str, path: Path | None) -> None:
    """See that a picture is named as one.

    Raises:
        ConfigError: it is not.
    """
    if path is not None and path.suffix.lower() != ".png":
        raise ConfigError(option, f"{path} is not named .png", "pictures are PNG")


def print_lines(lines: Iterable[str]) -> None:
    """Print to standard output."""
    with lines_out(None) as write:
        for line in lines:
            write(line)
