"""Copied sources, duplicates and near-duplicates."""

import re

import numpy as np

from dragoman.data.check.characters import Mark
from dragoman.data.check.chunk import Chunk
from dragoman.data.check.cleaned import Mended
from dragoman.data.check.finding import Collector
from dragoman.data.check.seen import FirstSeen, Hashes, hashes_of

# White space, punctuation and symbols of the larger scripts; never letters, marks or digits.
_BEYOND_ASCII = re.compile(
    r"[\u0080-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb-\u00bf\u00d7\u00f7\u2000-\u206f"
    r"\u20a0-\u20cf\u2190-\u2bff\u3000-\u3004\u3008-\u3020\u3030\ufe10-\ufe1f\ufe30-\ufe6f"
    r"\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\u060c\u061b\u061f\u06d4\u0964\u0965"
    r"\u2e00-\u2e7f\ufeff]+"
)
_ASCII = bytes(code for code in range(128) if not chr(code).isalnum())


def near_form(text: str, odd: bool) -> bytes:
    """Reduce a text to what makes it another one: no case, white space, punctuation or symbols.

    Args:
        text: letters, marks and digits of it stay.
        odd: whether it holds punctuation or white space beyond ASCII.
    """
    folded = text.casefold()
    if odd:
        folded = _BEYOND_ASCII.sub("", folded)
    return folded.encode("utf-8", "surrogatepass").translate(None, _ASCII)


def find_copies(chunk: Chunk, mended: Mended, found: Collector) -> None:
    """Note pairs whose target is the source, if it holds letters; names and numbers may stay."""
    letters = chunk.source.letters.sum(1)
    for at, (source, target) in enumerate(zip(mended.source, mended.target, strict=True)):
        if source == target and letters[at]:
            texts = chunk.source.texts[at], chunk.target.texts[at]
            found.add("copied-source", chunk.numbers[at], "", "both sides are equal", *texts)


class Duplicates:
    """Finds pairs that came before; pairs with nothing to see are left to their own kind.

    Args:
        near: look for near-duplicates too, which takes longer.
    """

    def __init__(self, *, near: bool = True) -> None:
        self._exact, self._near = FirstSeen(), FirstSeen() if near else None

    def look(self, chunk: Chunk, mended: Mended, found: Collector) -> None:
        """Note pairs of a chunk whose mended text, or its near form, an earlier line has."""
        seen = np.flatnonzero(~chunk.blank())
        numbers = np.asarray(chunk.numbers, np.int64)[seen]
        places = seen.tolist()
        pairs = ((mended.source[at], mended.target[at]) for at in places)
        exact = self._exact.add(hashes_of(pairs, len(places)), numbers)
        self._note("duplicate", chunk, seen, exact, found)
        if self._near is None:
            return
        odd = chunk.source.marks | chunk.target.marks
        near_forms = (
            (near_form(mended.source[at], strange), near_form(mended.target[at], strange))
            for at, strange in zip(
                places, (odd[seen] & int(Mark.PUNCTUATION)).astype(bool).tolist(), strict=True
            )
        )
        near = self._near.add(hashes_of(near_forms, len(places)), numbers)
        letters = chunk.source.letters.sum(1) * chunk.target.letters.sum(1)
        near[(exact > 0) | (letters[seen] == 0)] = 0  # of signs alone nothing is left to compare
        self._note("near-duplicate", chunk, seen, near, found)

    def _note(self, kind: str, chunk: Chunk, seen: Hashes, first: Hashes, found: Collector) -> None:
        for place in np.flatnonzero(first).tolist():
            at = int(seen[place])
            texts = chunk.source.texts[at], chunk.target.texts[at]
            found.add(kind, chunk.numbers[at], "", f"as line {first[place]:,}", *texts)
