"""Which pairs of a corpus are learned from, and what is mended in them, as ``[data.filters]`` says.

Filters go by the kinds of fault that ``dragoman check`` reports, and ask the same functions, so a
pair is dropped exactly when the check lists it under that kind. All faults are looked for in the
text as it was read; only then is what is left mended.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from dragoman.configfile import record
from dragoman.data.check import (
    CharacterTable,
    Chunk,
    Inspector,
    Languages,
    Profile,
    Side,
    chunks_of,
    known_texts,
    load_identifier,
    log_ratios,
    mend_pair,
)
from dragoman.data.corpus import Pair
from dragoman.errors import ConfigError

MendName = Literal[
    "control",
    "zero-width",
    "byte-order-mark",
    "bidi",
    "line-separator",
    "carriage-return",
    "tab",
    "entity",
    "normal-form",
]
DropName = Literal[
    MendName,
    "bad-bytes",
    "blank",
    "one-sided",
    "replacement",
    "wrong-script",
    "wrong-language",
    "length",
    "length-ratio",
    "copied-source",
    "digits",
    "addresses",
    "duplicate",
    "near-duplicate",
    "overlap",
]
Characters = Annotated[int, Field(ge=1)]
_LIMITS = ("min_characters", "max_characters", "max_ratio")


@record
class Filters:
    """The ``[data.filters]`` table; without it every pair that has text on both sides is kept.

    Args:
        drop: kinds of fault, named as in the report of ``dragoman check``; a pair that has one is
            left out. ``overlap`` compares with the validation and test sets.
        mend: kinds that ``--fix`` mends; the text is changed as it does.
        min_characters: pairs with a shorter side are left out.
        max_characters: pairs with a longer side are left out.
        max_ratio: pairs are left out of which one side is longer or shorter than usual beside the
            other by more than this factor; usual is the median of the corpus.
    """

    drop: tuple[DropName, ...] = ()
    mend: tuple[MendName, ...] = ()
    min_characters: Characters | None = None
    max_characters: Characters | None = None
    max_ratio: Annotated[float, Field(gt=1)] | None = None

    def __post_init__(self) -> None:
        """Check what no single field can."""
        low, high = self.min_characters, self.max_characters
        if low is not None and high is not None and low > high:
            raise ConfigError("min_characters", f"{low} is above max_characters {high}")
        for name in self.mend:
            if name in self.drop:
                hint = "name it in drop or in mend"
                raise ConfigError("mend", f"pairs with {name} are dropped already", hint)

    @property
    def names(self) -> tuple[str, ...]:
        """All filters that drop something, in the order in which they are asked."""
        limits = [name for name in _LIMITS if getattr(self, name) is not None]
        return (*limits, *dict.fromkeys(self.drop))


class PairFilter:
    """Keeps some pairs of one corpus.

    Memory is bounded: the first 50,000 pairs, which show what is usual, then 5,000 at a time; and
    16 bytes a pair for ``duplicate``, as many for ``near-duplicate``.

    Args:
        filters: the record.
        held_out: the sets that ``overlap`` compares with, by name; each is read once.
        source_language: tag that ``wrong-language`` goes by; what the text mostly is unless given.
        target_language: the same of the translations.

    Raises:
        ConfigError: ``overlap`` has no set to compare with.
        MissingExtraError: ``wrong-language`` needs the extra ``language``.
    """

    def __init__(
        self,
        filters: Filters,
        *,
        held_out: Mapping[str, Iterable[Pair]] | None = None,
        source_language: str | None = None,
        target_language: str | None = None,
    ) -> None:
        if "overlap" in filters.drop and not held_out:
            hint = "give data.validation or data.test, or leave it out"
            raise ConfigError("data.filters.drop", "overlap has nothing to compare with", hint)
        self._identify = load_identifier() if "wrong-language" in filters.drop else None
        self._spoken = source_language, target_language
        self.filters, self._held_out = filters, held_out or {}
        self.counts = dict.fromkeys(filters.names, 0)  # pairs dropped, each under one filter
        self.changes: dict[str, int] = dict.fromkeys(filters.mend, 0)  # kept pairs changed, by kind
        self.changed = 0  # kept pairs changed at all

    @property
    def dropped(self) -> int:
        """Number of pairs left out so far."""
        return sum(self.counts.values())

    def kept(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Give the pairs that no filter drops, mended, in their order and with their numbers.

        Blank pairs are kept unless ``drop`` names them; whoever reads leaves them out.

        Args:
            pairs: of one corpus, from its first; the numbers rise.
        """
        return self._kept(pairs) if self.filters.names or self.filters.mend else iter(pairs)

    def _kept(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        table = CharacterTable()
        others = [known_texts(name, held, table) for name, held in self._held_out.items()]
        profile, chunks = chunks_of(pairs, table)
        kinds = frozenset((*self.filters.drop, *self.filters.mend))
        languages = Languages(self._identify, profile, self._spoken) if self._identify else None
        inspector = Inspector(profile, table, kinds=kinds, others=others, languages=languages)
        for chunk in chunks:
            faults = _Faults(kinds)
            inspector.look(chunk, faults)
            self._measure(chunk, profile, faults)
            yield from self._decided(chunk, profile, faults.found)

    def _measure(self, chunk: Chunk, profile: Profile, faults: "_Faults") -> None:
        """Note pairs beyond the limits."""
        low, high, most = (getattr(self.filters, name) for name in _LIMITS)
        source, target = chunk.source.lengths, chunk.target.lengths
        beyond: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
        if low is not None:
            beyond["min_characters"] = np.minimum(source, target) < low
        if high is not None:
            beyond["max_characters"] = np.maximum(source, target) > high
        if most is not None:
            away = np.abs(log_ratios(source, target) - profile.ratio)
            beyond["max_ratio"] = (away > np.log(most)) & ~chunk.blank()
        for name, places in beyond.items():
            for at in np.flatnonzero(places).tolist():
                faults.found.setdefault(chunk.numbers[at], set()).add(name)

    def _decided(
        self, chunk: Chunk, profile: Profile, found: Mapping[int, set[str]]
    ) -> Iterator[Pair]:
        forms = profile.source.form, profile.target.form
        for pair in map(Pair, chunk.numbers, chunk.source.texts, chunk.target.texts):
            kinds = found.get(pair.number)
            if kinds is None:
                yield pair
                continue
            caught = next((name for name in self.counts if name in kinds), None)
            if caught is None:
                changed = mend_pair(pair, forms, self.filters.mend)
                if not (changed.blank and "one-sided" in self.counts):
                    self._count(changed.kinds)
                    yield changed.pair
                    continue
                caught = "one-sided"  # it was all entities
            self.counts[caught] += 1

    def _count(self, mended: Iterable[str]) -> None:
        kinds = tuple(mended)
        self.changed += bool(kinds)
        for kind in kinds:
            self.changes[kind] += 1


@dataclass(frozen=True, slots=True)
class _Faults:
    """The kinds of fault of a chunk that a filter asks for, by number of pair."""

    kinds: frozenset[str]
    found: dict[int, set[str]] = field(default_factory=dict[int, set[str]])

    def add(self, kind: str, line: int, side: Side, detail: str, source: str, target: str) -> None:
        """Take note of a kind that is asked for."""
        if kind in self.kinds:
            self.found.setdefault(line, set()).add(kind)
