"""Text in other cases: capitals throughout, or the first letter of each word.

The rules are those of Unicode, whatever the language: ß becomes SS, and the i of Turkish I. Strings
that are to stay as they are, such as placeholders, do.
"""

import re
from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import Field

from dragoman.configfile import record
from dragoman.errors import ConfigError

_FIRST_LETTER = re.compile(r"(?<!\S)([^\w\s]*)(\w)")  # of a word, behind quotes and brackets


@record
class CaseAugmentation:
    """The ``data.case_augmentation`` table: pairs that are written in other cases by chance.

    Args:
        upper: share of the pairs that are in ALL CAPS on both sides.
        title: share of the pairs that are in Title Case on both sides.

    Raises:
        ConfigError: no pair would be left as it stands.
    """

    upper: Annotated[float, Field(ge=0, lt=1)] = 0.0
    title: Annotated[float, Field(ge=0, lt=1)] = 0.0

    def __post_init__(self) -> None:
        """Check what no single field can."""
        if self.upper + self.title >= 1:
            problem = f"{self.upper:g} and title {self.title:g} leave no pair as it stands"
            raise ConfigError("upper", problem, "try 0.05 and 0.05")


def has_cases(text: str) -> bool:
    """Whether a text holds a letter that has a capital and a small form."""
    return text.upper() != text.lower()


def all_caps(text: str, whole: Sequence[str] = ()) -> str:
    """Write a text in capitals; what is in ``whole`` stays as it is."""
    return _outside(text, whole, str.upper)


def title_case(text: str, whole: Sequence[str] = ()) -> str:
    """Begin each word between spaces with a capital; what is in ``whole`` stays as it is."""
    return _outside(
        text, whole, lambda part: _FIRST_LETTER.sub(lambda it: it[1] + it[2].title(), part)
    )


def _outside(text: str, whole: Sequence[str], change: Callable[[str], str]) -> str:
    """Change all of a text but some strings in it, the longest first."""
    if not whole:
        return change(text)
    longest_first = sorted(whole, key=len, reverse=True)
    parts = re.split(f"({'|'.join(map(re.escape, longest_first))})", text)
    return "".join(part if place % 2 else change(part) for place, part in enumerate(parts))
