"""What whoever imports a checkpoint says about it, and how its tensors are counted."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any, Literal

from dragoman.configfile import read_record, write_record
from dragoman.errors import ConfigError, Mistake, ModelError
from dragoman.interop.checkpoints.tables import State, Tables
from dragoman.interop.checkpoints.vocabulary import Cut
from dragoman.models import ModelConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a checkpoint may not tell; what it does tell is not asked.

    Args:
        heads: of every attention.
        norm_order: where the norms stand.
        vocabulary: files with the pieces, one for both sides or one for each; those beside the
            checkpoint unless given.
        tokenizer: files that say how text is cut, one for both sides or one for each: a
            SentencePiece model, or merges of subword-nmt or fastBPE.
        cut: how text is cut where no file says it; pieces between spaces unless the checkpoint says
            another, so that text has to come as it was cut for training.
    """

    heads: int | None = None
    norm_order: Literal["post", "pre"] | None = None
    vocabulary: tuple[Path, ...] = ()
    tokenizer: tuple[Path, ...] = ()
    cut: Cut | None = None

    def of_sides(self, name: Literal["vocabulary", "tokenizer"]) -> tuple[Path, Path] | None:
        """Give the files of both sides; None where none are given.

        Raises:
            ConfigError: there are more than two.
        """
        files: tuple[Path, ...] = getattr(self, name)
        if len(files) > 2:
            hint = "give one for both sides, or that of the source and that of the target"
            raise ConfigError(name, f"{len(files)} files are too many", hint)
        return (files[0], files[-1]) if files else None


def must_say(asked: Asked, *needed: Literal["heads", "norm_order"]) -> None:
    """See that whoever imports has said what a checkpoint does not.

    Raises:
        ConfigError: something is missing, all of which is named.
    """
    hints = {
        "heads": "give it, such as --heads 8",
        "norm_order": "give it: --norm-order post or pre",
    }
    mistakes = [
        Mistake(each, "cannot be told from this checkpoint", hints[each])
        for each in needed
        if getattr(asked, each) is None
    ]
    if mistakes:
        raise ConfigError.together(mistakes)


def count_layers(state: State, prefix: str, path: Path) -> int:
    """Count layers by the names of their weights, ``prefix`` before the number.

    Raises:
        ModelError: there are none, or some between are missing.
    """
    pattern = re.compile(re.escape(prefix) + r"(\d{1,4})\.")
    numbers = {int(match[1]) for name in state if (match := pattern.match(name))}
    if not numbers or len(numbers) != max(numbers) + 1:
        found = ", ".join(map(str, sorted(numbers))) or "none"
        raise ModelError(f"{path}: {prefix}0 and on: layers are missing; there are {found}")
    return len(numbers)


def shape_of(state: State, name: str, path: Path, dimensions: int = 2) -> tuple[int, ...]:
    """Give the shape of a weight that sizes are taken from.

    Raises:
        ModelError: it is missing, or no matrix.
    """
    if name not in state:
        raise ModelError(f"{path}: {name} is missing, from which sizes are taken")
    shape = tuple(state[name].shape)
    if len(shape) != dimensions or 0 in shape:
        raise ModelError(f"{path}: {name} is {shape}; {dimensions} sizes are expected")
    return shape


def table_choices(tables: Tables, state: State, path: Path) -> dict[str, Any]:
    """Tell from the tables which of them are one, how many pieces they have, and their width.

    Raises:
        ModelError: one is missing.
    """
    tied = tables.tied_in(state)
    pieces, width = shape_of(state, tables.source, path)
    choices: dict[str, Any] = {"tied": tied, "vocabulary": pieces, "d_model": width}
    if tied not in ("all", "input"):
        choices["target_vocabulary"] = shape_of(state, tables.target, path)[0]
    return choices


def read_choices(choices: Mapping[str, Any], path: Path) -> ModelConfig:
    """Make the record of a model of what a checkpoint and its tensors say.

    Raises:
        ConfigError: they say what cannot be, all of it at once.
    """
    table = {
        key: write_record(value) if is_dataclass(value) else value for key, value in choices.items()
    }
    return read_record(ModelConfig, table, file=str(path))


def see_agreed(asked: Asked, config: ModelConfig) -> None:
    """See that whoever imports says nothing else than the checkpoint does.

    Raises:
        ConfigError: they differ.
    """
    for name in ("heads", "norm_order"):
        said, found = getattr(asked, name), getattr(config, name)
        if said not in (None, found):
            raise ConfigError(
                name, f"{said} was given, and the checkpoint says {found}", "leave it out"
            )


def refuse_all(mistakes: Iterable[Mistake], path: Path) -> None:
    """Raise every choice that has no place here at once.

    Raises:
        ConfigError: there are any.
    """
    found = list(mistakes)
    if found:
        raise ConfigError.together(found).inside(file=str(path))
