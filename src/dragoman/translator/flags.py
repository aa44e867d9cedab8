"""Signs that a translation may be wrong, seen from its source alone; none of them proves it.

``missing-term`` is not one of these: it says that what was required is not there.

The bounds are for any pair of languages, so they are generous: of the references of newstest and
FLORES-101 at most one in fifty misses a number, nearly always because it is spelled out or really
left out, and every other flag names at most one in five hundred (``docs/guides/translate.md``).
"""

import re
from collections.abc import Sequence
from typing import Literal, get_args

from dragoman.data import is_blank
from dragoman.data.check import lost_addresses, lost_numbers, near_form

Flag = Literal[
    "truncated",
    "looping",
    "too-short",
    "too-long",
    "untranslated",
    "lost-number",
    "lost-address",
    "missing-term",
]
FLAGS: tuple[Flag, ...] = get_args(Flag)

FACTOR = 2.5  # lengths that differ by more are unusual in every pair of languages
SOFTENING = 10  # letters added to both lengths, so that the ratio of short texts says less
TIMES = 3  # a phrase this often in a row is a loop ...
TIMES_SHORT = 5  # ... but one letter must stand there this often,
TIMES_SIGNS = 10  # and what has no letters this often, since "......" is an ellipsis
LONGEST_PHRASE = 20  # words
COPIED_LETTERS = 20  # a source of fewer bytes may be a name, which stays as it is
_COPIED_SHARE = 0.8

# Scripts that write no spaces give their characters one by one, all others their words.
_SINGLE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_SINGLE}]|[^\W{_SINGLE}]+|[^\w\s]")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_SYLLABLE = re.compile("[\u3040-\u30ff\uac00-\ud7af]")
_LONG_WORD = 12  # characters from which a loop is looked for inside a word
# What has no repetition at all, as most text, is passed over at once.
_THREE_TIMES = re.compile(rf"(.{{1,{LONGEST_PHRASE}}})\1{{{TIMES - 1}}}", re.DOTALL)
_FIVE_TIMES = re.compile(rf"(.{{1,{LONGEST_PHRASE}}})\1{{{TIMES_SHORT - 1}}}", re.DOTALL)


def flags_of(source: str, target: str, *, truncated: bool = False) -> tuple[Flag, ...]:
    """Say what looks wrong with a translation, in the order of ``FLAGS``.

    Args:
        source: a segment.
        target: its translation into another language.
        truncated: whether it reached the length limit before it ended.
    """
    found: set[Flag] = {"truncated"} if truncated else set()
    if loops(source, target):
        found.add("looping")
    if (length := odd_length(source, target)) is not None:
        found.add(length)
    if is_copy(source, target):
        found.add("untranslated")
    if lost_numbers(source, target):
        found.add("lost-number")
    if lost_addresses(source, target):
        found.add("lost-address")
    return tuple(flag for flag in FLAGS if flag in found) if found else ()


def loops(source: str, target: str) -> bool:
    """Say whether the target repeats a phrase more often in a row than the source repeats any.

    A phrase is 1 to 20 words (or characters, in scripts without spaces), case aside. It must stand
    in a row at least ``TIMES``; ``TIMES_SHORT`` if it is one letter, or inside a long word;
    ``TIMES_SIGNS`` if it has no letters.
    """
    words = _WORD.findall(target.casefold())
    most = _most_in_a_row(words)
    return most >= TIMES and most > _most_in_a_row(_WORD.findall(source.casefold()))


def odd_length(source: str, target: str) -> Literal["too-short", "too-long"] | None:
    """Compare lengths: outside of 1 / 2.5 to 2.5 a ratio is unusual, and so is nothing for text.

    A length is counted in letters of an alphabet: a Chinese character is worth three, a Korean or
    Japanese syllable two, which makes the medians of all pairs of ten languages of FLORES-101 lie
    between 0.67 and 1.5.
    """
    if is_blank(target):
        return None if is_blank(source) else "too-short"
    ratio = (_length(target) + SOFTENING) / (_length(source) + SOFTENING)
    if ratio > FACTOR:
        return "too-long"
    return "too-short" if ratio < 1 / FACTOR else None


def is_copy(source: str, target: str) -> bool:
    """Say whether a target is its source, case, white space and signs aside.

    One that holds the other counts if it has most of its letters. Below ``COPIED_LETTERS`` bytes
    of UTF-8 nothing counts.
    """
    shorter, longer = sorted((near_form(source, True), near_form(target, True)), key=len)
    return (
        len(shorter) >= COPIED_LETTERS
        and len(shorter) >= _COPIED_SHARE * len(longer)
        and shorter in longer
    )


def _length(text: str) -> int:
    if text.isascii():
        return len(text)
    return len(text) + 2 * len(_HAN.findall(text)) + len(_SYLLABLE.findall(text))


def _most_in_a_row(words: Sequence[str]) -> int:
    """Count how often a phrase stands in a row, the phrase for which this is most; 1 is once."""
    best = 1
    if len(words) - len(set(words)) >= TIMES - 1:  # else there is no word that comes so often
        numbers: dict[str, int] = {}
        signs = "".join(chr(numbers.setdefault(word, len(numbers))) for word in words)
        best = _repeats(words, TIMES) if _THREE_TIMES.search(signs) else 1
    long = (word for word in words if len(word) > _LONG_WORD and _FIVE_TIMES.search(word))
    return max(best, max((_repeats(word, TIMES_SHORT) for word in long), default=1))


def _repeats(words: Sequence[str], fewest: int) -> int:
    """Count for every length of phrase the longest stretch in which it comes back."""
    best = 1
    for size in range(1, min(LONGEST_PHRASE, len(words) // fewest) + 1):
        again = 0
        for place in range(size, len(words)):
            again = again + 1 if words[place] == words[place - size] else 0
            times = again // size + 1
            if times > best and times >= _fewest(words[place - size + 1 : place + 1], fewest):
                best = times
    return best


def _fewest(phrase: Sequence[str], fewest: int) -> int:
    letters = sum(len(word) for word in phrase if word.isalpha())
    return fewest if letters > 1 else max(fewest, TIMES_SHORT if letters else TIMES_SIGNS)
