"""Words that a translation may not hold, however a tokenizer cuts them.

A banned phrase never stands in a translation: not as characters, whatever pieces spell them, byte
pieces included. It is banned as words of its own (``whole_words``), so "cat" leaves "cats" alone.
"""

from collections.abc import Iterable, Sequence
from threading import Lock

import torch
from torch import Tensor

from dragoman.errors import ConfigError
from dragoman.tokenization import Tokenizer
from dragoman.translator.spelling import Spelling, decoded
from dragoman.translator.whole_words import is_letter, whole_words

_MOST_KEPT = 100_000  # steps remembered


class BannedWords:
    """A ``dragoman.decoding.Ban`` of text.

    A state is what may still matter of the text written so far: the longest end of it that begins
    a phrase, the character before, and the first bytes of one that is not complete. There are few,
    so what each forbids is found out once, and what is learned serves all later searches.

    Args:
        phrases: text; blanks around them do not count.
        tokenizer: of the target side.
        spelling: of the same, if it is there already.

    Raises:
        ConfigError: a phrase is blank.
    """

    def __init__(
        self, phrases: Sequence[str], tokenizer: Tokenizer, spelling: Spelling | None = None
    ) -> None:
        self._phrases = [tokenizer.normalize(phrase).strip() for phrase in phrases]
        if not all(self._phrases):
            raise ConfigError("banned_words", "one of them is blank", "leave it out")
        spelling = spelling or Spelling(tokenizer)
        self._bytes, self._by_first = spelling.bytes, spelling.by_first
        self._inside = {  # pieces that hold a whole phrase
            piece
            for piece, (plain, _) in spelling.plain.items()
            if any(phrase in plain for phrase in self._phrases)
        }
        self._end = tokenizer.special.end
        self._patterns = {phrase: whole_words([phrase]) for phrase in self._phrases}
        used = set("".join(self._phrases))
        others = (c for c in map(chr, range(0x250, 0x3000)) if c not in used)
        self._letter = next(filter(is_letter, others))
        self._longest = max(map(len, self._phrases), default=0)
        self._states: list[tuple[str, bytes]] = [("", b"")]
        self._numbers: dict[tuple[str, bytes], int] = {("", b""): 0}
        self._forbidden: dict[int, Tensor] = {}
        self._after: dict[tuple[int, int], int] = {}
        self._lock = Lock()  # several searches may share it

    def forbidden(self, state: int) -> Tensor:
        """Ids after which a phrase would stand in the text for good, the end symbol included."""
        if state not in self._forbidden:
            text, rest = self._states[state]
            ids = [
                piece
                for piece in (self._bytes if rest else self._candidates(text))
                if self._holds(text + decoded(rest, self._bytes[piece])[0])
            ]
            if self._holds(text + decoded(rest, b"", final=True)[0], final=True):
                ids.append(self._end)
            self._forbidden[state] = torch.tensor(sorted(ids), dtype=torch.int64)
        return self._forbidden[state]

    def after(self, state: int, piece: int, *, forced: bool = False) -> int:
        """Read one piece; of a forced one no phrase is begun or gone on with."""
        key = (state, -1 - piece if forced else piece)
        known = self._after.get(key)
        if known is not None:
            return known
        before, rest = self._states[state]
        more, rest = decoded(rest, self._bytes.get(piece, b""))
        text = before + more
        kept = (self._like(text[-1:]) if forced else self._relevant(text), rest)
        with self._lock:
            number = self._numbers.setdefault(kept, len(self._states))
            if number == len(self._states):
                self._states.append(kept)
            if len(self._after) >= _MOST_KEPT:
                self._after.clear()
            self._after[key] = number
        return number

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
                open_still = found.end() == len(text) and is_letter(phrase[-1])
                if final or not open_still:
                    return True
        return False

    def _like(self, character: str) -> str:
        """Stand for a character by one of its kind that no phrase begins with: fewer states."""
        if not character:
            return ""
        return self._letter if is_letter(character) else " "

    def _relevant(self, text: str) -> str:
        """Cut text down to what can decide about phrases that are not over."""
        for start in range(max(0, len(text) - self._longest), len(text)):
            if any(phrase.startswith(text[start:]) for phrase in self._phrases):
                return self._like(text[start - 1 : start]) + text[start:]
        return self._like(text[-1:])
