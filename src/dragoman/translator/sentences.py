"""Cut a paragraph into sentences without loss: the parts put together are the paragraph.

Rules over all languages, since a model does not say which it reads. A stop ends a sentence when

- it is a wide one (``。！？``), which needs no space after it; or
- white space follows, the next word does not begin with a small letter, and a full stop is not
  that of an abbreviation, an initial, an ordinal or the number of a list.

Quotes and brackets that close after a stop belong to its sentence. Blank lines end one too.
"""

import re
import unicodedata
from collections.abc import Iterator

from dragoman.translator.abbreviations import (
    AFTER_AN_ORDINAL,
    BEFORE_A_NUMBER,
    BEFORE_AN_ORDINAL,
    BEFORE_ANYTHING,
    SENTENCE_STARTERS,
    TITLES,
)

_WIDE = "。！？｡"
# Latin; Arabic, Urdu, Syriac; Devanagari; Ethiopic; Burmese; Khmer; Tibetan; Armenian.
_NARROW = ".!?…‥‽" + "؟۔܀܁܂" + "।॥" + "።፧፨" + "။" + "។៕" + "།༎" + "։"
_STOPS = _WIDE + _NARROW
_CLOSERS = r"\"'”’»›)\]}」』）】》〉〕］＂＇*_\u200b-\u200f\u2060-\u2069"
# The marks that close a German quotation open an English one, and after a space most may do
# either: they close where white space follows. After a wide stop no space is needed for that.
_END = re.compile(
    rf"(?<![{_STOPS}])(?P<stops>[{_STOPS}]++)"  # from where a run starts, all of it: linear
    rf"(?:[{_CLOSERS}]|(?<![{_WIDE}])[“‘«](?=[\s{_CLOSERS}]|\Z)"
    rf"|[ \u00a0\u2009\u202f][\"”»](?=[\s{_STOPS},]|\Z)"
    rf"|(?<=[{_WIDE}])[ ][”」』）])*+"
)
_WIDE_COMMAS = "，、：；"
_SPACE = re.compile(r"\s++")
_LINE_END = re.compile("\r\n|[\n\r\x0b\u0085\u2028]")
_PAGE_END = re.compile("[\x0c\u2029]")
_LOOK_AHEAD = 64  # characters within which the next word begins; keeps time linear
_WORD = re.compile(r"[^\W_]+")
_LIST_NUMBER = re.compile(r"\s*[\"'(\[„“«-]*\s*(?:\d{1,3}|[ivxIVX]{1,4}|[A-Za-z])\.?\Z")
_DOTTED = re.compile(r"^(?:[^\W\d_]\.-?)+[^\W\d_]$")  # U.S, p.m, z.B, J.-P
_AFTER_DASH = re.compile(r"^.*[–—(](?=.)|^.*-(?=..)")  # "Super-G." is no initial
_ROMAN = re.compile(r"[IVXLCM]+\Z")
_LONGEST_WORD = 40  # before a stop; longer is no abbreviation


def split_sentences(text: str) -> list[str]:
    """Cut text into sentences.

    White space stays with the sentence before it, and at the very start with the first. So
    ``"".join(split_sentences(text)) == text`` for every string.

    Args:
        text: of any length, in any script.

    Returns:
        Parts, none empty; none at all for the empty string.
    """
    parts: list[str] = []
    start = seen = 0
    has_word = False
    for cut in sorted({*_after_stops(text), *_after_blank_lines(text)}):
        has_word = has_word or _WORD.search(text, seen, cut) is not None
        seen = cut
        if has_word:  # a dash or a smiley between two stops is no sentence
            parts.append(text[start:cut])
            start, has_word = cut, False
    rest = text[start:]
    if parts and _WORD.search(rest) is None:
        parts[-1] += rest
    elif rest:
        parts.append(rest)
    return parts


def trimmed(text: str) -> tuple[str, str, str]:
    """Take the white space off both ends of text: what stood before, the rest, what stood after."""
    rest = text.lstrip()
    before, rest = text[: len(text) - len(rest)], rest.rstrip()
    return before, rest, text[len(before) + len(rest) :]


def _after_blank_lines(text: str) -> Iterator[int]:
    for space in _SPACE.finditer(text):
        run = space[0]
        if len(_LINE_END.findall(run)) > 1 or _PAGE_END.search(run):
            yield space.end()


def _after_stops(text: str) -> Iterator[int]:
    sentence = 0  # where the one being read begins
    for end in _END.finditer(text):
        space = _SPACE.match(text, end.end())
        cut = space.end() if space else end.end()
        if _ends_sentence(text, sentence, end, cut):
            yield cut
            sentence = cut


def _ends_sentence(text: str, sentence: int, end: re.Match[str], cut: int) -> bool:
    stops = end["stops"]
    wide = stops[-1] in _WIDE
    if cut == end.end() and not wide:  # 3.5, a.b, ?x=1
        return _is_wide(text[end.start() - 1 : end.start()]) and _is_wide(text[cut : cut + 1])
    following = _WORD.search(text, cut, cut + _LOOK_AHEAD)
    word = following[0] if following else ""
    if wide:
        return cut == len(text) or not _speech_goes_on(end, text[cut])
    if word[:1].islower():
        return False
    return stops != "." or not _is_abbreviation(text, sentence, end.start(), word)


def _speech_goes_on(end: re.Match[str], following: str) -> bool:
    """Whether what ends in a wide stop is part of a longer sentence: 「…？」、と言った."""
    closed = end.end() > end.end("stops")
    return following in _WIDE_COMMAS or (closed and unicodedata.category(following)[0] == "P")


def _is_wide(character: str) -> bool:
    """Whether a character is a letter of Chinese, Japanese or another script of square signs."""
    return unicodedata.east_asian_width(character or " ") == "W" and character.isalpha()


def _is_abbreviation(text: str, sentence: int, stop: int, following: str) -> bool:
    """Whether the full stop at ``stop`` belongs to the word before it."""
    start = max(sentence, stop - _LONGEST_WORD)
    before = text[start:stop].split()
    if not before or text[stop - 1].isspace():
        return False
    begins_line = "\n" in text[start:stop]
    if (start == sentence or begins_line) and _LIST_NUMBER.match(
        text[start:stop].rpartition("\n")[2]
    ):
        return True
    word = before[-1].lstrip("\"'“”„«‘([{-–—/")
    word, next_word = _AFTER_DASH.sub("", word), following.lower()
    if word.isdigit():
        earlier = before[-2].lower() if len(before) > 1 else ""
        return len(word) <= 2 and (earlier in BEFORE_AN_ORDINAL or next_word in AFTER_AN_ORDINAL)
    if len(word) == 1 and word.isalpha() and not word.islower():
        return next_word not in SENTENCE_STARTERS  # an initial
    if word.lower() in (BEFORE_ANYTHING if word.islower() else BEFORE_ANYTHING | TITLES):
        return True
    if word.lower() in BEFORE_A_NUMBER or len(word) == 1:
        return following[:1].isdigit() or bool(_ROMAN.match(following)) or len(following) == 1
    return bool(_DOTTED.search(word)) and next_word not in SENTENCE_STARTERS
