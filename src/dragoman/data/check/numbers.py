"""Numbers and addresses that one side has and the other has not, and those a translation lost."""

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
_GROUPED = re.compile(r"\d{1,3}(?:[.,'’٬\u00a0\u202f ]\d{3})+(?!\d)|\d+")  # 2,000 is one number
_MYRIADS = re.compile("[万萬亿億억만]")  # ten thousands and their squares: 15,000 is 1.5万
_DECIMAL = re.compile(r"\d+(?:[.,]\d+)*")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
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


def lost_numbers(source: str, target: str) -> list[str]:
    """List the numbers of a source that its translation has nowhere, as the source has them.

    A number is there if its digits are, grouped in any way and of any script. Numbers up to twelve
    do not count, which may be spelled out. A year may lose or gain its century (1950s, 50er). Where
    a side counts in ten thousands, zeros at the ends and the decimal point do not count.
    """
    here = [each for each in _GROUPED.findall(source) if int(_plain(each)) > _SPELLED]
    if not here:
        return []
    there = {_plain(each) for each in _GROUPED.findall(target)}
    there |= {_plain(each) for each in _NUMBER.findall(target)}
    there |= {each[2:] for each in there if _YEAR.fullmatch(each)}
    lost = [each for each in here if not _is_among(each, there)]
    if lost and (_MYRIADS.search(source) or _MYRIADS.search(target)):
        known = {_plain(each).strip("0") for each in _DECIMAL.findall(target)}
        for whole in _DECIMAL.findall(source):
            if _plain(whole).strip("0") in known:
                lost = [each for each in lost if each not in whole]
    return lost


def _is_among(number: str, known: set[str]) -> bool:
    digits = _plain(number)
    if digits in known or (_YEAR.fullmatch(digits) and digits[2:] in known):
        return True
    return _parts(number) <= known


def _parts(number: str) -> set[str]:
    """List the runs of digits in a grouped number that are too large to be spelled out."""
    return {each for each in map(_plain, _NUMBER.findall(number)) if int(each) > _SPELLED} or {""}


def lost_addresses(source: str, target: str) -> list[str]:
    """List the URLs and e-mail addresses of a source that its translation has not."""
    if "@" not in source and "/" not in source and "www." not in source.casefold():
        return []
    return sorted(_addresses(source) - _addresses(target))


def _plain(digits: str) -> str:
    """Write the digits of any script in those of ASCII, at most 18 of them."""
    if not (digits.isascii() and digits.isdecimal()):
        digits = "".join(str(unicodedata.digit(each)) for each in digits if each.isdecimal())
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
