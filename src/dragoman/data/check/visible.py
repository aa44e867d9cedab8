"""Texts that cannot be read: bad bytes, characters lost earlier, nothing to see."""

import numpy as np

from dragoman.data.check.characters import Mark
from dragoman.data.check.chunk import Chunk
from dragoman.data.check.finding import Collector, Side
from dragoman.data.check.mending import name_characters


def find_unreadable(chunk: Chunk, found: Collector) -> None:
    """Note bad bytes with their offset in the line, from 0, and U+FFFD."""
    bad: dict[int, tuple[Side, str]] = {}
    lost: dict[int, tuple[Side, str]] = {}
    for side, view in chunk.sides():
        for at in view.having(Mark.SURROGATE):
            bad.setdefault(at, (side, _first_bad(view.texts[at])))
        for at in view.having(Mark.REPLACEMENT):
            lost.setdefault(at, (side, "U+FFFD"))
    chunk.note("bad-bytes", bad, found)
    chunk.note("replacement", lost, found)


def _first_bad(text: str) -> str:
    at = next(at for at, character in enumerate(text) if "\ud800" <= character <= "\udfff")
    if not "\udc80" <= text[at] <= "\udcff":  # from an escape in JSON, not from a byte
        return f"{name_characters(text[at])} at character {at}"
    offset = len(text[:at].encode("utf-8", "surrogateescape"))
    return f"byte 0x{ord(text[at]) - 0xDC00:02x} at byte {offset} of the line"


def find_blank(chunk: Chunk, found: Collector) -> None:
    """Note pairs with nothing to see on one side or on both."""
    blank = chunk.source.blank(), chunk.target.blank()
    for at in np.flatnonzero(blank[0] | blank[1]).tolist():
        texts = chunk.source.texts[at], chunk.target.texts[at]
        if blank[0][at] and blank[1][at]:
            found.add("blank", chunk.numbers[at], "", "both sides", *texts)
        else:
            side = "source" if blank[0][at] else "target"
            found.add("one-sided", chunk.numbers[at], side, f"the {side} is blank", *texts)
