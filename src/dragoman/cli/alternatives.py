"""Alternatives at a word of each translation: when to ask for them, and how they are written."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import dragoman
from dragoman.errors import ConfigError, DragomanError

Find = Callable[[Any], list[Any]]  # Any: naming translations loads torch


def check_alternatives(
    count: int | None, at: int | None, search: dict[str, Any], *, n_best: int, text: bool
) -> None:
    """See that alternatives go with what else was asked for.

    Args:
        count: how many; None for none.
        at: number of the word.
        search: options of a translation.
        n_best: translations of each line.
        text: whether lines of text are translated and not explained.

    Raises:
        ConfigError: they do not.
    """
    if count is None:
        if at is not None:
            problem = "says where --alternatives stand, and none are asked for"
            raise ConfigError("--at", problem, "add --alternatives 5")
        return
    if n_best > 1:
        raise ConfigError("--alternatives", "each completes one translation", "leave out --n-best")
    if not text:
        problem = "are of lines of text, without --explain"
        raise ConfigError("--alternatives", problem, "leave one of them out")
    if any(search[name] for name in ("prefix", "banned_words", "required", "glossary")):
        problem = "are found without --prefix, --ban, --require and --glossary"
        raise ConfigError("--alternatives", problem, "leave these out")


def finder(translator: Any, count: int, at: int, options: dict[str, Any]) -> Find:
    """Make what finds the alternatives at a word of a translation.

    Args:
        translator: made the translation.
        count: most of them.
        at: number of the word, from 1; at the end of translations with fewer.
        options: those the translation was made with.
    """
    names = {field.name for field in fields(dragoman.BeamSearch)}
    search = dragoman.BeamSearch(**{key: options[key] for key in names & options.keys()})

    def find(translation: Any) -> list[Any]:
        whole = translation.parts == 1 and not translation.shortened
        if translation.copied or not whole or not translation.hypotheses:
            return []
        try:
            return translator.alternatives(
                translation.source,
                translation.text,
                dragoman.word_place(translation.text, at),
                count,
                search=search,
                target_language=options["target_language"],
            )
        except DragomanError:  # the limit leaves no room behind the word; the line stays
            return []

    return find


def written(translation: Any, found: list[Any]) -> str:
    """Put the completed translations on a line, tabs between; the translation if there are none."""
    texts = [each.text for each in found] or [translation.text]
    return "\t".join(dragoman.one_line(text, tabs=not found) for text in texts)
