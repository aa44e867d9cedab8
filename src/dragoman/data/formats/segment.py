"""What every format reader yields: a numbered piece of text and its translation."""

from typing import NamedTuple


class Segment(NamedTuple):
    """One row, unit or entry of a file; whitespace inside a text is kept as the file has it."""

    number: int  # line, row or unit in the file, from 1; the reader says which
    source: str  # "" when the file has none
    target: str  # "" when the file has none
    context: str = ""  # what tells equal sources apart, such as a gettext context or a unit's id
    notes: str = ""  # remarks for translators
