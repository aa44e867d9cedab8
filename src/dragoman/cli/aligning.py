"""Word links beside translations: lines of a file, or a field of JSON."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dragoman
from dragoman.cli.lines import lines_out
from dragoman.errors import ConfigError


class Links:
    """Aligns translations on their way to where they are written, if that is asked for.

    Args:
        file: where lines such as ``0-0 2-1`` go; None for nowhere.
        fields: whether JSON holds the links.
        heads: as ``LAYER:HEAD,...``; None for the default.
        json_lines: whether JSON is written.
        document: whether a document is translated.

    Raises:
        ConfigError: the options do not go together.
    """

    def __init__(
        self,
        file: Path | None,
        fields: bool,
        heads: str | None,
        *,
        json_lines: bool,
        document: bool,
    ) -> None:
        asked = file is not None or fields
        option = "--align" if fields else "--alignment"
        if asked and document:
            raise ConfigError(option, "is for lines of text", "leave it out")
        if fields and not json_lines:
            hint = "add --json, or give --alignment FILE"
            raise ConfigError("--align", "links are a field of JSON", hint)
        if heads is not None and not asked:
            hint = "add --alignment FILE, or --align and --json"
            raise ConfigError("--alignment-heads", "no words are aligned", hint)
        self._file, self._fields, self._asked = file, fields, asked
        self._heads = [] if heads is None else _heads(heads)
        self._last: Any = None  # Any: naming the type loads torch

    @contextmanager
    def following(
        self,
        translator: Any,  # Any: naming the types loads torch
        translations: Iterable[Any],
        *,
        target_language: str | None,
        at_once: int,
    ) -> Generator[Iterable[Any]]:
        """Give the translations as they are; ``fields`` is about the one given last."""
        if not self._asked:
            yield translations
            return
        pairs = dragoman.align_translations(
            translator,
            translations,
            heads=self._heads,
            target_language=target_language,
            at_once=at_once or 256,
        )
        if self._file is None:
            yield self._noting(pairs)
            return
        with lines_out(self._file) as write:
            yield self._noting(pairs, write)

    def fields(self) -> dict[str, Any]:  # Any: values of JSON
        """Say what JSON has of the translation given last."""
        if not self._fields:
            return {}
        return {
            "source_words": self._last.source_words,
            "target_words": self._last.target_words,
            "alignment": self._last.links,
        }

    def _noting(self, pairs: Iterable[tuple[Any, Any]], write: Any = None) -> Iterator[Any]:
        for translation, self._last in pairs:
            if write is not None:
                write(self._last.pharaoh())
            yield translation


def _heads(text: str) -> list[tuple[int, int]]:
    """Read ``3:0,4:2``."""
    try:
        pairs = [[int(number) for number in each.split(":")] for each in text.split(",")]
        return [(layer, head) for layer, head in pairs]
    except ValueError:
        problem = f"{text!r} is not LAYER:HEAD, with commas between several"
        raise ConfigError("--alignment-heads", problem, "such as 4:0,4:7") from None
