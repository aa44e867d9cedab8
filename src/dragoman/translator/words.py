"""Where words stand in text: what tags may go around and never into."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from dragoman.translator.placeholders import placeholder_spans

Spans = list[tuple[int, int]]  # first character, and one past the last
# Letters, digits and marks hang together over these: T-Shirt, 3.5, 1,000, don't, l'.
_HYPHENS = "-\u2010\u2011"
_APOSTROPHES = "'’"
_CLITIC = re.compile(r"[^\W\d_]{1,2}(?!\w)")  # don't, he's, they'll
_JOINERS = "\u200c\u200d"


def word_spans(text: str, cuts: Collection[int] = ()) -> Spans:
    """Find the words of text, white space left out.

    A placeholder is one word, so is every other sign that is no letter or digit, and so is every
    letter of a script of square signs, which writes no spaces.

    Args:
        text: of any script.
        cuts: places where a word ends whatever it is, such as those of tags.

    Returns:
        In order, without overlap.
    """
    found: Spans = []
    start = 0
    for first, last in placeholder_spans(text):
        found += _plain_words(text, start, first)
        found.append((first, last))
        start = last
    found += _plain_words(text, start, len(text))
    inside = sorted({*cuts})
    return [span for word in found for span in _cut(word, inside)]


def _cut(word: tuple[int, int], cuts: Sequence[int]) -> Iterator[tuple[int, int]]:
    first, last = bisect_right(cuts, word[0]), bisect_left(cuts, word[1])
    yield from pairwise([word[0], *cuts[first:last], word[1]])


def _plain_words(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    place = start
    while place < end:
        if text[place].isspace():
            place += 1
            continue
        last = place + 1
        while last < end and _goes_on(text, last, end):
            last += 1
        yield place, last
        place = last


def _goes_on(text: str, place: int, end: int) -> bool:
    """Whether the character at ``place`` belongs to the word of the one before it."""
    before, here = text[place - 1], text[place]
    if unicodedata.category(here)[0] == "M" or here in _JOINERS or before == "\u200d":
        return True
    following = text[place + 1] if place + 1 < end else " "
    if _is_part(here):
        if before in _HYPHENS:
            return place > 1 and _is_part(text[place - 2])
        if before in _APOSTROPHES:
            return place > 1 and _is_part(text[place - 2]) and bool(_CLITIC.match(text, place))
        if before in ".,":
            return here.isdigit() and place > 1 and text[place - 2].isdigit()
        return _is_part(before) or unicodedata.category(before)[0] == "M"
    if not _is_part(before):
        return False
    if here in ".,":
        return before.isdigit() and following.isdigit()
    return (here in _HYPHENS or here in _APOSTROPHES) and _is_part(following)


def _is_part(character: str) -> bool:
    """Whether a character is part of a word of several."""
    square = unicodedata.east_asian_width(character) == "W" and not "가" <= character <= "힣"
    return (character.isalnum() or character == "_") and not square
