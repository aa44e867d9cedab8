"""What to run the model on for a segment: nothing, the whole, or parts one after the other."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dragoman.data import is_blank
from dragoman.tokenization import Tokenizer
from dragoman.translator.sentences import split_sentences, trimmed
from dragoman.translator.translation import Candidate, has_letters, join_parts

TooLong = Literal["split", "cut", "blank"]


@dataclass(frozen=True, slots=True)
class Part:
    """One source for the model.

    Args:
        ids: its pieces, without the end symbol.
        before: what stands in the segment between the part before and this one: white space,
            sentences that are copied, or nothing.
        prefix: target pieces that its translation must begin with.
    """

    ids: Sequence[int]
    before: str = ""
    prefix: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run the model on for one segment.

    Args:
        text: the segment.
        parts: none when it is copied or left blank.
        after: what follows the last of several parts.
        copied: it is given back as it came.
        shortened: some of it is not translated.
    """

    text: str
    parts: tuple[Part, ...] = ()
    after: str = ""
    copied: bool = False
    shortened: bool = False

    def join(self, found: Sequence[Candidate]) -> Candidate:
        """Make one translation of those of the parts."""
        befores = [part.before for part in self.parts]
        texts = [candidate.text for candidate in found]
        for place in range(1, len(texts)):
            befores[place] = befores[place] or gap(texts[place - 1], texts[place])
        whole = [piece for pair in zip(befores, texts, strict=True) for piece in pair]
        return join_parts(found, "".join([*whole, self.after]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """Decides by the same rules for every segment.

    Args:
        source: tokenizer of what is read.
        target: tokenizer of what is written.
        limit: most pieces of one source, the end symbol included.
        too_long: what becomes of a segment above the limit: ``split`` translates its sentences
            one by one, and in parts those that are too long themselves; ``cut``; ``blank``.
        sentences: translate every sentence on its own; ``too_long`` is then about sentences.
        copy: give back what has no letters.
        lead: ids in front of every source, such as that of a language tag.
        added: how many symbols a source gains besides.
    """

    source: Tokenizer
    target: Tokenizer
    limit: int
    too_long: TooLong = "split"
    sentences: bool = False
    copy: bool = True
    lead: tuple[int, ...] = ()
    added: int = 1

    def plan(self, text: str, prefix: str | None = None) -> Plan:
        """Decide for one segment, whose translation must begin with ``prefix``."""
        if self._is_copied(text):
            return Plan(text, copied=True)
        start = tuple(self.target.encode(prefix)) if prefix else ()
        ids = self.source.encode(text)
        if self.sentences or (len(ids) > self._most and self.too_long == "split"):
            return self._plan_sentences(text, start)
        if len(ids) <= self._most:
            return Plan(text, (Part([*self.lead, *ids], prefix=start),))
        if self.too_long == "blank":
            return Plan(text, shortened=True)
        shorter = Part([*self.lead, *ids[: self._most]], prefix=start)
        return Plan(text, (shorter,), shortened=True)

    @property
    def _most(self) -> int:
        return self.limit - self.added - len(self.lead)

    def _is_copied(self, text: str) -> bool:
        return is_blank(text) or (self.copy and not has_letters(text))

    def _plan_sentences(self, text: str, prefix: tuple[int, ...]) -> Plan:
        parts: list[Part] = []
        before, shortened = "", False
        for sentence in split_sentences(text):
            lead, core, trail = trimmed(sentence)
            if self._is_copied(core):
                before += sentence
                continue
            before += lead
            pieces = self.source.encode(core)
            for number, ids in enumerate(self._fitting(pieces)):
                if number:  # the next part of one sentence
                    before = " " if self.source.pieces(ids[:1])[0].startswith(" ") else ""
                parts.append(Part([*self.lead, *ids], before, () if parts else prefix))
                before = ""
            shortened |= len(pieces) > self._most and self.too_long != "split"
            before += trail
        return Plan(text, tuple(parts), before if parts else "", shortened=shortened)

    def _fitting(self, ids: Sequence[int]) -> Iterator[Sequence[int]]:
        """Give a sentence in parts that the model takes, by the rule for what is too long."""
        if len(ids) <= self._most:
            yield ids
        elif self.too_long == "split":
            yield from cut_before_words(ids, self.source.pieces(ids), self._most)
        elif self.too_long == "cut":
            yield ids[: self._most]


def cut_before_words(
    ids: Sequence[int], pieces: Sequence[str], most: int
) -> Iterator[Sequence[int]]:
    """Cut ids before pieces that begin a word, as late as a limit allows.

    Args:
        ids: in order; none is lost.
        pieces: their names; one that begins a word has a space before it.
        most: ids of one part.
    """
    start = 0
    while len(ids) - start > most:
        places = range(start + most, start, -1)
        end = next((place for place in places if pieces[place].startswith(" ")), start + most)
        yield ids[start:end]
        start = end
    yield ids[start:]


def gap(left: str, right: str) -> str:
    """Say what separates two translations whose sources touched, as Chinese sentences do."""
    touching = [*left[-1:], *right[:1]]
    wide = any(unicodedata.east_asian_width(each) in "WF" for each in touching)
    blank = any(each.isspace() for each in touching)
    return "" if wide or blank or len(touching) < 2 else " "
