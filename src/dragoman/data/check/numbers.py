"""Numbers and addresses that one side has and the other has not."""

import re
import unicodedata
from collections import Counter

import numpy as np

from dragoman.data.check.characters import Mark
from dragoman.data.check.chunk import Chunk
from dragoman.data.check.finding import Collector

_NUMBER = re.compile(r"\d+")
_ADDRESS = re.compile(
    r"(?:https?|ftp)://[^\s<>\"]+|www\.[^\s<>\"]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.IGNORECASE
)
_SPELLED = 12  # numbers up to this are often written as words on one side


def find_differing_numbers(chunk: Chunk, found: Collector) -> None:
    """Note pairs whose digits differ.

    Groups of thousands and the order do not count, and neither do numbers up to twelve, which one
    side may spell out.
    """
    digits = (chunk.source.marks | chunk.target.marks) & int(Mark.DIGIT)
    for at in np.flatnonzero(digits).tolist():
        source, target = chunk.source.texts[at], chunk.target.texts[at]
        left, right = _NUMBER.findall(source), _NUMBER.findall(target)
        if left != right and (differing := differing_numbers(left, right)):
            found.add("digits", chunk.numbers[at], "", differing, source, target)


def differing_numbers(left: list[str], right: list[str]) -> str:
    """Say which numbers differ, or nothing.

    Args:
        left: runs of digits of any script.
        right: those of the other side.
    """
    here, there = list(map(_plain, left)), list(map(_plain, right))
    ours, theirs = Counter(here), Counter(there)
    if "".join(here) == "".join(there):
        return ""  # grouped in another way: 2,000 and 2000
    only = [n for n in (ours - theirs).elements() if int(n) > _SPELLED]
    other = [n for n in (theirs - ours).elements() if int(n) > _SPELLED]
    if not only and not other:
        return ""
    return f"{' '.join(only) or 'nothing'} against {' '.join(other) or 'nothing'}"


def _plain(digits: str) -> str:
    """Write digits of any script in those of ASCII, at most 18 of them."""
    if not digits.isascii():
        digits = "".join(str(unicodedata.digit(digit)) for digit in digits)
    return digits[:18]


def find_differing_addresses(chunk: Chunk, found: Collector) -> None:
    """Note pairs whose URLs or e-mail addresses differ."""
    signs = (chunk.source.marks | chunk.target.marks) & int(Mark.ADDRESS)
    for at in np.flatnonzero(signs).tolist():
        source, target = chunk.source.texts[at], chunk.target.texts[at]
        left, right = _addresses(source), _addresses(target)
        if left != right:
            only = ", ".join(sorted(left - right)) or "nothing"
            other = ", ".join(sorted(right - left)) or "nothing"
            found.add("addresses", chunk.numbers[at], "", f"{only} against {other}", source, target)


def _addresses(text: str) -> set[str]:
    return {
        found.rstrip(".,;:!?)]}'»。，、；：！？）").casefold() for found in _ADDRESS.findall(text)
    }
