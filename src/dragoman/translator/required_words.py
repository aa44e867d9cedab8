"""Phrases that a translation must hold, however a tokenizer cuts them.

A phrase has come when it stands in the text as words of its own (``whole_words``) and nothing that
follows can change that: "heat pump" at the end of what is written may still become "heat pumps".
Of a phrase with alternatives any one will do. Phrases may overlap: "heat pump" holds "pump" too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock

from dragoman.decoding import NEVER
from dragoman.translator.spelling import Spelling, decoded
from dragoman.translator.whole_words import is_letter, whole_words

Ways = tuple[str, ...]  # alternatives, any one of which will do


@dataclass(frozen=True, slots=True)
class Phrase:
    """What must stand in a translation.

    Args:
        name: as it was given.
        ways: alternatives, in the normal form of the target side.
    """

    name: str
    ways: Ways


_State = tuple[frozenset[int], str, bytes]
_MOST_KEPT = 100_000  # steps remembered


class RequiredWords:
    """A ``dragoman.decoding.Demand`` of text.

    A state is what has come, the longest end of the text written so far that begins something
    which has not, with the character before it, and the first bytes of one that is not complete.

    Args:
        phrases: in the normal form of the vocabulary, each with its alternatives.
        spelling: of the target side.

    Raises:
        ValueError: a phrase is empty.
    """

    def __init__(self, phrases: Sequence[Ways], spelling: Spelling) -> None:
        if not all(phrases) or not all(way for ways in phrases for way in ways):
            raise ValueError("phrases: one is empty")
        self._phrases = [tuple(ways) for ways in phrases]
        self._spelling = spelling
        self._patterns = [whole_words(ways) for ways in phrases]
        self._fewest = cache(spelling.fewest)
        self._alone = [min(self._fewest(_apart(w)) for w in ways) for ways in self._phrases]
        self._firsts = {way[0] for ways in phrases for way in ways}
        used = {character for ways in phrases for way in ways for character in way}
        others = (c for c in map(chr, range(0x250, 0x3000)) if c not in used)
        self._letter = next(filter(is_letter, others))
        self._longest = max((len(way) for ways in phrases for way in ways), default=0)
        self._states: list[_State] = [(frozenset(), "", b"")]
        self._numbers: dict[_State, int] = {self._states[0]: 0}
        self._after: dict[tuple[int, int], int] = {}
        self._remaining: dict[int, int] = {}
        self._leading: dict[int, list[int]] = {}
        self._lock = Lock()  # several searches may share it

    def after(self, state: int, piece: int) -> int:
        """Read one piece."""
        known = self._after.get((state, piece))
        if known is not None:
            return known
        reached = self._read(self._states[state], piece)
        with self._lock:
            number = self._numbers.setdefault(reached, len(self._states))
            if number == len(self._states):
                self._states.append(reached)
            if len(self._after) >= _MOST_KEPT:
                self._after.clear()
            self._after[state, piece] = number
        return number

    def remaining(self, state: int) -> int:
        """Count the pieces of what is begun, and of all else written word by word."""
        if state not in self._remaining:
            self._remaining[state] = self._count(self._states[state])
        return self._remaining[state]

    def leading(self, state: int) -> Sequence[int]:
        """Give the pieces that go on with what is begun, or begin something else."""
        if state not in self._leading:
            met, text, rest = self._states[state]
            texts = {more for *_, more in self._begun(met, text, rest)}
            texts |= {_apart(way) for n in self._unmet(met) for way in self._phrases[n]}
            pieces = {piece for more in texts for piece in self._spelling.beginnings(more)}
            self._leading[state] = sorted(pieces)
        return self._leading[state]

    def _read(self, state: _State, piece: int) -> _State:
        met, before, rest = state
        if rest:
            more, rest = decoded(rest, self._spelling.bytes.get(piece, b""))
        else:
            more, rest = self._spelling.plain.get(piece, ("", b""))
        text = before + more
        if self._firsts.isdisjoint(text):
            return met, self._like(text[-1:]), rest
        met |= {n for n in self._unmet(met) if self._holds(n, text)}
        return met, self._relevant(met, text), rest

    def _count(self, state: _State) -> int:
        met, text, rest = state
        whole = text + decoded(rest, b"", final=True)[0]
        unmet = self._unmet(met)
        at_end = {n for n in unmet if self._holds(n, whole, final=True)}  # come if the word is over
        left = [n for n in unmet if n not in at_end]
        if not left:
            return 0
        alone = sum(self._alone[n] for n in left)
        ways = [alone]  # the next word is another, and ends what stands at the end
        for number, inside, lacking in self._begun(met, text, rest):
            if number in left:
                count = alone - self._alone[number] + self._fewest(lacking)
                if inside:
                    count += sum(self._alone[n] for n in at_end)  # which is no word any more
                ways.append(count)
        return min(NEVER, *ways)

    def _begun(
        self, met: frozenset[int], text: str, rest: bytes
    ) -> Iterator[tuple[int, bool, bytes]]:
        """Give unmet phrases that may go on: whether inside a word, and the bytes they lack."""
        for start in range(len(text) + 1):
            begun = text[start:]
            inside = start > 0 and is_letter(text[start - 1])
            for number in self._unmet(met):
                for way in self._phrases[number]:
                    lacking = way[len(begun) :].encode()
                    if (
                        way.startswith(begun)
                        and not (inside and is_letter(way[0]))
                        and lacking
                        and lacking.startswith(rest)
                    ):
                        within = bool(begun) and is_letter(way[len(begun)])
                        yield number, within, lacking[len(rest) :]

    def _unmet(self, met: frozenset[int]) -> list[int]:
        return [n for n in range(len(self._phrases)) if n not in met]

    def _holds(self, number: int, text: str, *, final: bool = False) -> bool:
        """Say whether a phrase stands in a text, whatever follows unless nothing does."""
        for found in self._patterns[number].finditer(text):
            # What touches the end may become part of a longer word, if it ends in a letter.
            if final or found.end() < len(text) or not is_letter(text[found.end() - 1]):
                return True
        return False

    def _relevant(self, met: frozenset[int], text: str) -> str:
        """Cut text down to what can decide about phrases that have not come."""
        ways = [way for number in self._unmet(met) for way in self._phrases[number]]
        for start in range(max(0, len(text) - self._longest), len(text)):
            if any(way.startswith(text[start:]) for way in ways):
                return self._like(text[start - 1 : start]) + text[start:]
        return self._like(text[-1:])

    def _like(self, character: str) -> str:
        """Stand for a character by one of its kind that no phrase begins with: fewer states."""
        if not character:
            return ""
        return self._letter if is_letter(character) else " "


def _apart(way: str) -> bytes:
    """Spell a phrase so that it stands as words of its own, whatever came before."""
    return (f" {way}" if is_letter(way[0]) else way).encode()
