"""What each character is, looked up for whole blocks of text at once.

A table over all of Unicode gives every character a set of marks and the number of its script. It is
filled as characters turn up, so one look at a block costs a few nanoseconds a character.
"""

import unicodedata
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint32]
Counts = NDArray[np.int64]

_EAST_ASIAN = frozenset(("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"))


class Mark(IntFlag):
    """What a character is or may be a sign of."""

    KNOWN = 1
    VISIBLE = 2
    CONTROL = 4
    ZERO_WIDTH = 8
    JOINER = 16
    BIDI = 32
    SEPARATOR = 64
    RETURN = 128
    TAB = 256
    BYTE_ORDER = 512
    SURROGATE = 1024  # also a byte that is not UTF-8, as the error handler surrogateescape reads it
    REPLACEMENT = 2048
    COMPOSED = 4096  # one character that NFD takes apart
    DECOMPOSED = 8192  # one that NFC may change, alone or after another
    DIGIT = 16384
    AMPERSAND = 32768
    ADDRESS = 65536  # @ or /
    PUNCTUATION = 131072  # or white space, beyond ASCII


SEPARATORS = "\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
BIDI_MARKS = "\u061c\u200e\u200f"  # some scripts need them
BIDI_CONTROLS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
ZERO_WIDTHS = "\u180e\u200b\u2060\u2061\u2062\u2063\u2064"
JOINERS = "\u200c\u200d"

_SPECIAL: dict[str, Mark] = {
    **dict.fromkeys(SEPARATORS, Mark.SEPARATOR),
    **dict.fromkeys(BIDI_MARKS + BIDI_CONTROLS, Mark.BIDI),
    **dict.fromkeys(ZERO_WIDTHS, Mark.ZERO_WIDTH),
    **dict.fromkeys(JOINERS, Mark.JOINER),
    **dict.fromkeys("@/", Mark.ADDRESS),
    "\r": Mark.RETURN,
    "\t": Mark.TAB,
    "\ufeff": Mark.BYTE_ORDER,
    "\ufffd": Mark.REPLACEMENT,
    "&": Mark.AMPERSAND,
}


def marks_of(character: str) -> Mark:
    """Say what a character is; the table asks once for each."""
    category = unicodedata.category(character)
    marks = Mark.KNOWN | _SPECIAL.get(character, Mark(0))
    if not (character.isspace() or category in ("Cc", "Cf")):
        marks |= Mark.VISIBLE
    if character > "\x7f" and category[0] in "PSZC":
        marks |= Mark.PUNCTUATION
    if category == "Cc" and character not in _SPECIAL:
        marks |= Mark.CONTROL
    if category == "Cs":
        return marks | Mark.SURROGATE
    if unicodedata.normalize("NFD", character) != character:
        marks |= Mark.COMPOSED
    if (
        unicodedata.normalize("NFC", character) != character
        or unicodedata.combining(character)
        or category in ("Mn", "Mc")
        or "\u1161" <= character <= "\u11ff"  # parts of Korean syllables
    ):
        marks |= Mark.DECOMPOSED
    return marks | Mark.DIGIT if category == "Nd" else marks


def script_of(character: str) -> str:
    """Name the script of a letter: LATIN, CYRILLIC, HAN (with kana); empty for anything else."""
    if not character.isalpha() or unicodedata.category(character) == "Lm":
        return ""
    plain = unicodedata.normalize("NFKC", character)[0]
    name = unicodedata.name(plain, "").partition(" ")[0]
    return "HAN" if name in _EAST_ASIAN else name if plain.isalpha() else ""


class CharacterTable:
    """Marks and scripts of all characters seen so far."""

    def __init__(self) -> None:
        self._marks = np.zeros(0x110000, np.uint32)
        self._scripts = np.zeros(0x110000, np.uint8)
        self.scripts: list[str] = [""]  # by number; 0 is no letter

    def look(self, codes: Codes) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """Give the marks and script numbers of characters, (N,) each."""
        marks = self._marks[codes]
        if not marks.all():
            for code in np.unique(codes[marks == 0]).tolist():
                self._learn(code)
            marks = self._marks[codes]
        return marks, self._scripts[codes]

    def _learn(self, code: int) -> None:
        self._marks[code] = int(marks_of(chr(code)))
        script = script_of(chr(code))
        if script not in self.scripts and len(self.scripts) < 256:
            self.scripts.append(script)
        if script in self.scripts:
            self._scripts[code] = self.scripts.index(script)
