"""Translating lines of text: what is written for each, and what is said of the odd ones."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import dragoman
from dragoman.cli.alternatives import Find, written
from dragoman.cli.lines import say

_MOST_NAMED = 20  # lines of one kind of flag


@dataclass(kw_only=True)
class Segments:
    """How translations become lines, and what came of them.

    Args:
        name: what messages call the input.
        too_long: what becomes of a line longer than the model takes.
        sentences: whether every sentence is translated on its own.
        tabs: whether tabs of a translation stay; they separate several.
        json_lines: write objects.
        explain: write what each score is made of and how the search went.
        alternatives: finds what else could stand in a translation, which is then written.
        named: whether to name lines whose translation looks wrong.
        beside: what else JSON says of the translation in hand.
        flagged: how many lines have a flag, by flag.
        unfinished: lines of which only a part was translated, or nothing.
    """

    name: str
    too_long: str
    sentences: bool
    tabs: bool
    json_lines: bool
    explain: bool
    named: bool
    beside: Callable[[], dict[str, Any]] = dict  # Any: values of JSON
    alternatives: Find | None = None
    flagged: Counter[str] = field(default_factory=Counter[str])
    odd: int = 0
    lines: int = 0
    unfinished: int = 0

    def write(self, translations: Iterable[Any], write: Callable[[str], None]) -> None:
        """Write all translations, and say which lines are odd as they come."""
        for number, translation in enumerate(translations, start=1):
            self.lines = number
            self._remark(number, translation)
            others = self.alternatives(translation) if self.alternatives else []
            if self.json_lines:
                said = {"line": number, **_plain(translation, self.explain), **self.beside()}
                if self.alternatives:
                    said["alternatives"] = [_without(asdict(each), "ids") for each in others]
                write(json.dumps(said, ensure_ascii=False))
            elif self.alternatives:
                write(written(translation, others))
            elif self.explain:
                for line in dragoman.explanation(translation):
                    write(line if line.startswith(" ") else f"line {number}: {line}")
            else:
                texts = [candidate.text for candidate in translation.hypotheses]
                write("\t".join(dragoman.one_line(text, tabs=self.tabs) for text in texts))

    def sum_up(self) -> None:
        """Say how many lines have which flag."""
        if self.named and self.odd:
            counts = [f"{flag} {count:,}" for flag, count in self.flagged.most_common()]
            share = f"{self.odd:,} of {self.lines:,} lines look wrong"
            say(f"{self.name}: {share}: {', '.join(counts)}")

    def _remark(self, number: int, translation: Any) -> None:
        where = f"{self.name}: line {number}"
        if translation.parts > 1 and not self.sentences:
            say(f"{where}: longer than the model takes; in {translation.parts} parts")
        if translation.shortened:
            self.unfinished += 1
            say(f"{where}: longer than the model takes; {self.too_long}")
        if translation.error:
            self.unfinished += 1
            say(f"{where}: {translation.error}")
        if not self.named or not (flags := translation.flags):
            return
        self.odd += 1
        new = [flag for flag in flags if self.flagged[flag] < _MOST_NAMED]
        self.flagged.update(flags)
        if new:
            say(f"{where}: {', '.join(flags)}")
        for flag in new:
            if self.flagged[flag] == _MOST_NAMED:
                say(f"{self.name}: more lines with {flag} are only counted; --json has all")


def _plain(translation: Any, traces: bool) -> dict[str, Any]:  # Any: naming the type loads torch
    names = ("text", "score", "truncated", "flags", "missing")
    plain = {**{name: getattr(translation, name) for name in names}, **asdict(translation)}
    plain["hypotheses"] = [_without(each, "written") for each in plain["hypotheses"]]
    return _without(plain, "read", *(() if traces else ("traces",)))


def _without(record: dict[str, Any], *names: str) -> dict[str, Any]:  # Any: values of JSON
    """Leave out what only the vocabulary of the model makes sense of."""
    return {name: value for name, value in record.items() if name not in names}
