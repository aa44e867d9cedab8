"""Words that a translation may not hold, however a tokenizer cuts them.

A banned phrase never stands in a translation: not as characters, whatever pieces spell them, byte
pieces included. Upper and lower case are told apart. A phrase that begins or ends with a letter,
digit or ``_`` is banned as a word of its own, so "cat" leaves "cats" and "concatenate" alone; next
to letters of scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) it is banned
inside of longer text too.
"""

import codecs
import re
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from dragoman.errors import ConfigError
from dragoman.tokenization import Tokenizer

# Letters of scripts that put no space between words.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = rf"[^\W{UNSPACED}]"  # a word character of the others


def banned_pattern(phrases: Sequence[str]) -> "re.Pattern[str]":
    """Make an expression that finds any of the phrases in a text."""
    ways = [_bounded(phrase) for phrase in sorted(phrases, key=len, reverse=True)]
    return re.compile("|".join(ways))


def _bounded(phrase: str) -> str:
    before = rf"(?<!{_LETTER})" if re.match(_LETTER, phrase[0]) else ""
    after = rf"(?!{_LETTER})" if re.match(_LETTER, phrase[-1]) else ""
    return before + re.escape(phrase) + after


class BannedWords:
    """A ``dragoman.decoding.Ban`` of text.

    A state is what may still matter of the text written so far: the longest end of it that begins
    a phrase, the character before, and the first bytes of one that is not complete. There are few,
    so what each forbids is found out once.

    Args:
        phrases: text; blanks around them do not count.
        tokenizer: of the target side.

    Raises:
        ConfigError: a phrase is blank.
    """

    def __init__(self, phrases: Sequence[str], tokenizer: Tokenizer) -> None:
        self._phrases = [tokenizer.normalize(phrase).strip() for phrase in phrases]
        if not all(self._phrases):
            raise ConfigError("banned_words", "one of them is blank", "leave it out")
        self._bytes = tokenizer.piece_bytes()
        self._inside: set[int] = set()  # pieces that hold a whole phrase
        self._by_first: dict[str, set[int]] = {}  # pieces by their first character
        for piece, spelled in self._bytes.items():
            if plain := _decoded(b"", spelled)[0]:
                self._by_first.setdefault(plain[0], set()).add(piece)
                if any(phrase in plain for phrase in self._phrases):
                    self._inside.add(piece)
        self._end = tokenizer.special.end
        self._patterns = {phrase: banned_pattern([phrase]) for phrase in self._phrases}
        used = set("".join(self._phrases))
        letters = (c for c in map(chr, range(0x250, 0x3000)) if re.match(_LETTER, c))
        self._letter = next(c for c in letters if c not in used)
        self._longest = max(map(len, self._phrases), default=0)
        self._states: list[tuple[str, bytes]] = [("", b"")]
        self._numbers: dict[tuple[str, bytes], int] = {("", b""): 0}
        self._forbidden: dict[int, Tensor] = {}
        self._after: dict[tuple[int, int], int] = {}

    def forbidden(self, state: int) -> Tensor:
        """Ids after which a phrase would stand in the text for good, the end symbol included."""
        if state not in self._forbidden:
            text, rest = self._states[state]
            ids = [
                piece
                for piece in (self._bytes if rest else self._candidates(text))
                if self._holds(text + _decoded(rest, self._bytes[piece])[0])
            ]
            if self._holds(text + _decoded(rest, b"", final=True)[0], final=True):
                ids.append(self._end)
            self._forbidden[state] = torch.tensor(sorted(ids), dtype=torch.int64)
        return self._forbidden[state]

    def after(self, state: int, piece: int, *, forced: bool = False) -> int:
        """Read one piece; of a forced one no phrase is begun or gone on with."""
        key = (state, -1 - piece if forced else piece)
        if key not in self._after:
            before, rest = self._states[state]
            more, rest = _decoded(rest, self._bytes.get(piece, b""))
            text = before + more
            kept = (self._like(text[-1:]) if forced else self._relevant(text), rest)
            self._after[key] = self._numbers.setdefault(kept, len(self._states))
            if self._after[key] == len(self._states):
                self._states.append(kept)
        return self._after[key]

    def _candidates(self, text: str) -> Iterable[int]:
        """Give the pieces that may complete a phrase after a text, and perhaps some more."""
        found = set(self._inside)
        for start in range(len(text)):
            begun = text[start:]
            for phrase in self._phrases:
                if phrase == begun:  # whether it is over is up to any piece
                    return self._bytes
                if phrase.startswith(begun):
                    found |= self._by_first.get(phrase[len(begun)], set())
        return found

    def _holds(self, text: str, *, final: bool = False) -> bool:
        """Say whether a phrase stands in a text, whatever follows unless nothing does."""
        for phrase, pattern in self._patterns.items():
            if phrase in text and (found := pattern.search(text)):
                # What touches the end may become part of a longer word, if it ends in a letter.
                open_still = found.end() == len(text) and re.match(_LETTER, phrase[-1])
                if final or not open_still:
                    return True
        return False

    def _like(self, character: str) -> str:
        """Stand for a character by one of its kind that no phrase begins with: fewer states."""
        if not character:
            return ""
        return self._letter if re.match(_LETTER, character) else " "

    def _relevant(self, text: str) -> str:
        """Cut text down to what can decide about phrases that are not over."""
        for start in range(max(0, len(text) - self._longest), len(text)):
            if any(phrase.startswith(text[start:]) for phrase in self._phrases):
                return self._like(text[start - 1 : start]) + text[start:]
        return self._like(text[-1:])


def _decoded(rest: bytes, more: bytes, *, final: bool = False) -> tuple[str, bytes]:
    """Decode bytes after those left over; give characters, and bytes left over again."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(rest + more, final)
    return text, decoder.getstate()[0]
