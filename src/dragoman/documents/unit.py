"""What is to be done to a document: places in its text, and what is translated to fill them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from dragoman.configfile import record
from dragoman.documents.encoded import EncodedText
from dragoman.translator import Fragment

Writer = Callable[[Fragment], str]  # raises Unwritable


class Unwritable(ValueError):
    """A translation holds what the format or its encoding cannot; the text says what."""


@record
class FillOptions:
    """How a document is filled.

    Args:
        overwrite: translate units again that have a translation.
        review: mark what was filled as not yet seen by a person, where the format can say so:
            ``fuzzy`` in PO, ``needs-review-translation`` in XLIFF 1, ``translated`` (not yet
            ``reviewed``) in XLIFF 2, ``unfinished`` in Qt TS.
        source_language: of a translation memory; what the file names unless given.
        target_language: of a translation memory; the other language of the file unless given.
    """

    overwrite: bool = False
    review: bool = True
    source_language: str | None = None
    target_language: str | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters ``start`` to ``end`` of a text become ``pieces``.

    A number among the pieces stands for the translation of that source of the unit, as ``write``
    spells it.
    """

    start: int
    end: int
    pieces: tuple[str | int, ...]
    write: Writer | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """Sources that are translated, and the edits that need all of them; done together or not."""

    line: int  # where it begins in the file, from 1
    sources: tuple[Fragment, ...]
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one pass over a document does."""

    document: EncodedText
    units: list[Unit] = field(default_factory=list[Unit])
    left: Counter[str] = field(default_factory=Counter[str])  # targets not filled, by reason

    def leave(self, reason: str) -> None:
        """Count a target that stays as it is."""
        self.left[reason] += 1
