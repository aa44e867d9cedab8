"""A stand-in for a translator, and what is asked of every filled document."""

from collections.abc import Sequence

from dragoman.documents import DocumentFormat, Filled, FillOptions, fill_document
from dragoman.translator import Fragment, Tag


def swapped(fragments: Sequence[Fragment]) -> list[Fragment]:
    """Translate by changing the case of every letter; tags stay where they are."""
    return [
        tuple(part if isinstance(part, Tag) else part.swapcase() for part in fragment)
        for fragment in fragments
    ]


def undone(made: bytes, filled: Filled) -> bytes:
    """Take out of a filled document what was put in, and put back what was replaced by it."""
    for changes in reversed(filled.changes):
        parts: list[bytes] = []
        read = place = 0  # in the new file, in the old one
        for change in changes:
            kept = change.start - place
            parts += [made[read : read + kept], change.old]
            assert made[read + kept : read + kept + len(change.new)] == change.new
            read += kept + len(change.new)
            place = change.end
        made = b"".join([*parts, made[read:]])
    return made


def fill(data: bytes, format: DocumentFormat, **options: object) -> tuple[bytes, Filled]:
    """Fill a document by ``swapped`` and see that nothing else changed."""
    made, filled = fill_document(data, format, swapped, options=FillOptions(**options))  # type: ignore[arg-type]  # fields
    assert undone(made, filled) == data
    return made, filled
