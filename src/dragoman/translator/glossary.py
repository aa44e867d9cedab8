"""Terms and how they are to be translated: which of them a segment holds.

A term is found as words of its own (``whole_words``), wherever it stands. One written all in lower
case is found whatever the case of the text, any other only as it is written. Where terms overlap,
the one that begins first is found, of those the longest. Each side of an entry may list
alternatives with ``|`` between: ``Wärmepumpe|Wärmepumpen`` and ``heat pump|heat pumps``.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.data import read_lines
from dragoman.errors import ConfigError, DataError
from dragoman.translator.required_words import Phrase, Ways
from dragoman.translator.whole_words import is_letter

Normalize = Callable[[str], str]


def alternatives_of(text: str, normalize: Normalize) -> Ways:
    """Take apart what stands between ``|``; blanks around it do not count, nor does nothing.

    Raises:
        ValueError: nothing else is there.
    """
    ways = [way for part in normalize(text).split("|") if (way := part.strip())]
    if not ways:
        raise ValueError("blank")
    return tuple(dict.fromkeys(ways))


def read_glossary(path: Path) -> list[tuple[str, str]]:
    """Read a file of one entry a line: source term, tab, target term.

    Blank lines and those that begin with ``#`` are left out.

    Args:
        path: UTF-8; may be packed.

    Raises:
        DataError: the file cannot be read, a line has not two columns or a blank one, or no line
            has an entry.
    """
    entries: list[tuple[str, str]] = []
    hint = "write the source term, a tab and the target term"
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != 2:
            count = f"{len(columns)} column{'s' * (len(columns) != 1)}"
            raise DataError(path, f"{count} in place of 2", hint, line=number)
        for column in columns:
            if not column.replace("|", "").strip():
                raise DataError(path, "a term is blank", hint, line=number)
        entries.append((columns[0], columns[1]))
    if not entries:
        raise DataError(path, "holds no terms", hint)
    return entries


@dataclass(frozen=True, slots=True)
class _Entry:
    """A source term and what must stand in the translation."""

    term: str
    any_case: bool
    target: Phrase


class Glossary:
    """Finds terms in segments.

    A term that is given twice asks for any of its targets. A target may begin with a capital, as
    at the beginning of a sentence.

    Args:
        entries: source and target term.
        source: brings text to the normal form of the source side.
        target: the same for the target side.

    Raises:
        ConfigError: a term is blank.
    """

    def __init__(
        self, entries: Iterable[tuple[str, str]], source: Normalize, target: Normalize
    ) -> None:
        self._normalize = source
        found: dict[str, Ways] = {}
        for number, (term, translation) in enumerate(entries, start=1):
            try:
                ways = alternatives_of(translation, target)
                terms = alternatives_of(term, source)
            except ValueError:
                problem = f"entry {number} has a blank term"
                raise ConfigError("glossary", problem, "leave the entry out") from None
            for each in terms:
                found[each] = tuple(dict.fromkeys([*found.get(each, ()), *ways]))
        self._entries: dict[str, list[_Entry]] = {}  # by the lower case
        for term, ways in found.items():
            wanted = Phrase("|".join(ways), with_capitals(ways))
            entry = _Entry(term, term == lower(term), wanted)
            self._entries.setdefault(lower(term), []).append(entry)
        for entries_of_one in self._entries.values():  # as written comes first
            entries_of_one.sort(key=lambda entry: entry.any_case)
        self._lengths = sorted({len(term) for term in self._entries}, reverse=True)

    def find(self, text: str) -> tuple[Phrase, ...]:
        """Give what the translation of a text must hold, in the order of the terms, each once."""
        text = self._normalize(text)
        low = lower(text)
        found: dict[Phrase, None] = {}
        place = 0
        while place < len(text):
            entry = self._at(text, low, place)
            if entry is None:
                place += 1
                continue
            found[entry.target] = None
            place += len(entry.term)
        return tuple(found)

    def _at(self, text: str, low: str, place: int) -> _Entry | None:
        """Find the longest term that stands at a place."""
        inside = place > 0 and is_letter(text[place - 1])
        if inside and is_letter(text[place]):
            return None
        for length in self._lengths:
            end = place + length
            if end > len(text) or (is_letter(text[end - 1]) and is_letter(text[end : end + 1])):
                continue
            for entry in self._entries.get(low[place:end], ()):
                if entry.any_case or entry.term == text[place:end]:
                    return entry
        return None


def with_capitals(ways: Sequence[str]) -> Ways:
    """Add each alternative with its first letter as a capital, if that is one letter too."""
    capital = (way[0].upper() + way[1:] for way in ways if len(way[0].upper()) == 1)
    return tuple(dict.fromkeys([*ways, *capital]))


def lower(text: str) -> str:
    """Write letters in lower case, but for those that would become several."""
    if len(low := text.lower()) == len(text):
        return low
    return "".join(each if len(each.lower()) > 1 else each.lower() for each in text)
