"""A Unicode normal form as the table of replacements that SentencePiece applies.

SentencePiece looks at each place for the longest key of its table and writes what stands beside it.
So a form is held exactly as far as its keys go. There are keys for

- every character that the form changes;
- every sequence of a character and marks or vowels that the form joins with it, in any order that
  gives the same;
- two marks of one script that stand in the other order.

Characters with several marks none of which joins, in an unusual order, are beyond it.
"""

import struct
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from tokenizers import normalizers

from dragoman.tokenization.double_array import double_array
from dragoman.tokenization.stretches import NormalForm, form_steps

_LONGEST = 4  # characters of a key
_SCRIPT = 0x80  # marks whose code points differ by less than this belong together
_PLANES = (range(1, 0xD800), range(0xE000, 0x40000), range(0xE0000, 0xF0000))  # the rest is empty
# Besides those that are themselves joined: full and half width letters, and letters of Korean.
_WIDE = (range(0x3130, 0x3190), range(0xFF00, 0xFFF0))
_INITIALS, _VOWELS, _FINALS = range(0x1100, 0x1113), range(0x1161, 0x1176), range(0x11A8, 0x11C3)
_SYLLABLES = range(0xAC00, 0xD7A4)

Normalize = Callable[[str], str]


@cache
def character_map(form: NormalForm) -> bytes:
    """Write the table of a form: the length of the trie, the trie, then what is written instead.

    Returns:
        The field ``precompiled_charsmap`` of a SentencePiece model; empty for ``none``.
    """
    if form == "none":
        return b""
    written = bytearray()
    places: dict[str, int] = {}
    values: dict[bytes, int] = {}
    for key, text in replacements(form).items():
        if text not in places:
            places[text] = len(written)
            written += text.encode("utf-8") + b"\0"
        values[key.encode("utf-8")] = places[text]
    trie = double_array(values)
    return struct.pack("<I", len(trie)) + trie + bytes(written)


@cache
def replacements(form: NormalForm) -> dict[str, str]:
    """Say what is written for which characters and sequences."""
    normalize = normalizers.Sequence(form_steps(form)).normalize_str
    forms = {chr(code): normalize(chr(code)) for plane in _PLANES for code in plane}
    rules = {character: text for character, text in forms.items() if text != character}
    for first, second in _swapped_marks():
        if (text := normalize(first + second)) != first + second:
            rules[first + second] = text
    if form in ("NFC", "NFKC"):
        joiner = _Joiner(forms, normalize)
        grown = {each: forms[each] for each in joiner.beginnings()}
        for _ in range(_LONGEST - 1):
            grown = dict(joiner.lengthened(grown))
            rules |= grown
    return rules


class _Joiner:
    """Knows which characters may be joined with one that stands before them.

    Args:
        forms: of every character.
        normalize: brings text to the form.
    """

    def __init__(self, forms: Mapping[str, str], normalize: Normalize) -> None:
        self.forms, self.normalize = forms, normalize
        pairs = [*_canonical_pairs()]
        self.heads = {first for first, _ in pairs}
        seconds = {second for _, second in pairs}
        later = {*seconds, *map(chr, _VOWELS), *map(chr, _FINALS)}
        spelled = [(forms[each], each) for each in forms if forms[each] in later]
        self.korean = {chr(code) for row in (_INITIALS, _SYLLABLES) for code in row}
        self.marks = [each for form, each in spelled if form in seconds]
        self.vowels = [each for form, each in spelled if ord(form) in _VOWELS]
        self.finals = [each for form, each in spelled if ord(form) in _FINALS]

    def beginnings(self) -> Iterator[str]:
        """Give the characters that something may be joined with."""
        for character, form in self.forms.items():
            canonical = unicodedata.normalize("NFD", character)
            same = unicodedata.normalize("NFD", form) == canonical
            wide = any(ord(character) in block for block in _WIDE)
            if (same or wide) and self._after(form):
                yield character

    def lengthened(self, keys: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Give the keys that are one character longer, with what is written for them."""
        for key, form in keys.items():
            if len(form) > 1:  # a mark that did not join stands between
                continue
            for second in self._after(form):
                if form in self.korean and not _one_row(key[0], second):
                    continue
                text = self.normalize(key + second)
                if text != form + self.forms[second]:
                    yield key + second, text

    def _after(self, form: str) -> Sequence[str]:
        """Say what may be joined with text that ends so."""
        last = form[-1:]
        if not last:
            return ()
        code = ord(last)
        if code in _INITIALS:
            return self.vowels
        if code in _SYLLABLES:
            return self.finals if (code - _SYLLABLES.start) % (len(_FINALS) + 1) == 0 else ()
        decomposed = unicodedata.normalize("NFD", last)
        return self.marks if decomposed[0] in self.heads else ()


def _one_row(first: str, second: str) -> bool:
    """Whether two Korean letters are of one kind; nobody mixes narrow with wide ones."""
    return ord(first) >> 8 == ord(second) >> 8 or (
        ord(first) in _SYLLABLES and ord(second) in _FINALS
    )


def _canonical_pairs() -> Iterator[tuple[str, str]]:
    """Give the two parts of all characters that have a canonical decomposition into two."""
    for plane in _PLANES:
        for code in plane:
            parts = unicodedata.decomposition(chr(code)).split()
            if len(parts) == 2 and not parts[0].startswith("<"):
                first, second = (chr(int(part, 16)) for part in parts)
                yield first, second


def _swapped_marks() -> Iterator[tuple[str, str]]:
    """Give marks of one script in the order that normal forms turn round."""
    marks = [
        (code, unicodedata.combining(chr(code)))
        for plane in _PLANES
        for code in plane
        if unicodedata.combining(chr(code))
    ]
    for first, before in marks:
        for second, after in marks:
            if before > after and abs(first - second) < _SCRIPT:
                yield chr(first), chr(second)
