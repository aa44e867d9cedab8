"""What a search is told of words: those that may not come, those that must, terms of a glossary."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from dragoman.decoding import Demand
from dragoman.errors import ConfigError
from dragoman.tokenization import Tokenizer
from dragoman.translator.banned_words import BannedWords
from dragoman.translator.glossary import Glossary, alternatives_of
from dragoman.translator.planning import Plan
from dragoman.translator.required_words import Phrase, RequiredWords, Ways
from dragoman.translator.spelling import Spelling
from dragoman.translator.translation import Translation
from dragoman.translator.whole_words import whole_words

Required = Sequence[str] | Sequence[Sequence[str]]  # of all segments, or of each
Terms = Sequence[tuple[str, str]]  # source and target
_MOST_KEPT = 8  # machines of a kind; each may remember some megabytes


@dataclass(frozen=True, slots=True)
class Bound:
    """What translations must hold.

    Args:
        phrases: of each plan.
        demands: of each part of all plans; None where nothing is required at all.
    """

    phrases: Sequence[tuple[Phrase, ...]]
    demands: Sequence[Demand | None] | None


def verified(translation: Translation, phrases: Sequence[Phrase]) -> Translation:
    """Note what was required of a translation and what does not stand in it, whatever the search.

    What was copied had nothing to hold.
    """
    if translation.copied or not phrases:
        return translation
    patterns = [(phrase.name, whole_words(phrase.ways)) for phrase in phrases]
    hypotheses = tuple(
        replace(each, missing=tuple(n for n, words in patterns if not words.search(each.text)))
        for each in translation.hypotheses
    )
    names = tuple(phrase.name for phrase in phrases)
    return replace(translation, hypotheses=hypotheses, required=names)


class WordMachines:
    """Machines over the pieces of one pair of tokenizers, the last few of which are kept.

    Args:
        source: tokenizer of what is read.
        target: tokenizer of what is written.
    """

    def __init__(self, source: Tokenizer, target: Tokenizer) -> None:
        self._source, self._target = source, target
        self._spelling = lru_cache(1)(lambda: Spelling(target))
        self._bans = lru_cache(_MOST_KEPT)(self._make_ban)
        self._glossaries = lru_cache(_MOST_KEPT)(self._make_glossary)
        self._demands = lru_cache(_MOST_KEPT)(self._make_demand)

    def ban(self, words: Sequence[str]) -> BannedWords | None:
        """Ban words, if there are any.

        Raises:
            ConfigError: one is blank.
            TypeError: they are one string.
        """
        if isinstance(words, str):
            raise TypeError("banned_words is a list of strings, not one string")
        return self._bans(tuple(words)) if words else None

    def bind(self, plans: Sequence[Plan], required: Required, glossary: Terms) -> Bound:
        """Say what the translations of segments must hold, and those of their parts.

        Of a segment in several parts, the first holds what is required of it, and each the terms
        that its own source holds.

        Args:
            plans: of the segments.
            required: phrases of all, or lists with those of each.
            glossary: source and target terms.

        Raises:
            ConfigError: a phrase or term is blank.
            TypeError: ``required`` is one string.
            ValueError: there are not as many lists as segments.
        """
        if isinstance(required, str):
            raise TypeError("required is a list of strings, not one string")
        if not required and not glossary:
            return Bound([()] * len(plans), None)
        terms = self._glossaries(_pairs(glossary)) if glossary else None
        phrases: list[tuple[Phrase, ...]] = []
        demands: list[Demand | None] = []
        for plan, own in zip(plans, self._own(required, len(plans)), strict=True):
            of_parts = [
                terms.find(self._text(plan, part.ids)) if terms else () for part in plan.parts
            ]
            if of_parts:
                of_parts[0] = (*own, *of_parts[0])
            phrases.append(tuple(dict.fromkeys(phrase for each in of_parts for phrase in each)))
            ways = [tuple(dict.fromkeys(phrase.ways for phrase in each)) for each in of_parts]
            demands += [self._demands(each) if each else None for each in ways]
        return Bound(phrases, demands)

    def _own(self, required: Required, count: int) -> list[list[Phrase]]:
        """Read what is required of each segment."""
        if all(isinstance(each, str) for each in required):
            required = [required] * count  # pyright: ignore[reportAssignmentType]  # just seen
        elif any(isinstance(each, str) for each in required):
            raise TypeError("required is a list of strings, or of a list for each text")
        elif len(required) != count:
            raise ValueError(f"{len(required)} lists of what is required for {count} texts")
        return [[self._phrase(text) for text in each] for each in required]

    def _phrase(self, text: str) -> Phrase:
        try:
            ways = alternatives_of(text, self._target.normalize)
        except ValueError:
            raise ConfigError("required", "one phrase is blank", "leave it out") from None
        return Phrase("|".join(ways), ways)

    def _text(self, plan: Plan, ids: Sequence[int]) -> str:
        if len(plan.parts) == 1 and not plan.shortened:
            return plan.text
        return self._source.decode(ids)

    def _make_ban(self, words: tuple[str, ...]) -> BannedWords:
        return BannedWords(words, self._target, self._spelling())

    def _make_glossary(self, terms: tuple[tuple[str, str], ...]) -> Glossary:
        return Glossary(terms, self._source.normalize, self._target.normalize)

    def _make_demand(self, phrases: tuple[Ways, ...]) -> Demand:
        return RequiredWords(phrases, self._spelling())


def _pairs(glossary: Terms) -> tuple[tuple[str, str], ...]:
    given: tuple[Any, ...] = tuple(glossary)  # Any: who has no types may give anything
    if isinstance(glossary, str) or not all(
        isinstance(pair, tuple | list) and [*map(type, cast("Any", pair))] == [str, str]
        for pair in given
    ):
        problem = "glossary is a list of pairs, source and target term; read_glossary reads a file"
        raise TypeError(problem)
    return tuple((source, target) for source, target in given)
