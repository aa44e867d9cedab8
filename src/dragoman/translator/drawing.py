"""Translations drawn instead of searched, and what that excludes.

What is drawn of a segment is decided by the seed, the number of the segment (that of its line), of
the translation and of the part of the segment; so neither batches nor neighbours matter, and the
first translation is the same however many are drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal, get_args

from dragoman.data import Frame
from dragoman.decoding import (
    BeamSearch,
    Ensemble,
    Hypothesis,
    PrefixTooLong,
    Sampling,
    draw_translations,
)
from dragoman.errors import ConfigError, Mistake
from dragoman.models import SequenceToSequence
from dragoman.tokenization import SpecialIds
from dragoman.translator.minimum_risk import rerank
from dragoman.translator.planning import Plan
from dragoman.translator.translation import Translation

MbrOver = Literal["samples", "beam"]
# Between the numbers of two translations of a segment, and its square between those of two parts.
_APART = 1 << 32


@dataclass(frozen=True, slots=True)
class Drawing:
    """Draws translations of segments.

    Args:
        sampling: how pieces are drawn.
        samples: how many translations of each segment.
        first: number of the first segment, from 0.
    """

    sampling: Sampling
    samples: int
    first: int = 0

    def run(
        self,
        model: SequenceToSequence | Ensemble,
        plans: Sequence[Plan],
        special: SpecialIds | Frame,
        batch_tokens: int,
    ) -> list[list[Hypothesis] | PrefixTooLong]:
        """Draw ``samples`` translations of each part of each plan."""
        seeds = [
            [number + _APART * (draw + _APART * part) for draw in range(self.samples)]
            for number, plan in enumerate(plans, start=self.first)
            for part in range(len(plan.parts))
        ]
        sources = [part.ids for plan in plans for part in plan.parts]
        return [
            *draw_translations(
                model, sources, self.sampling, special, seeds=seeds, batch_tokens=batch_tokens
            )
        ]


@dataclass(frozen=True, slots=True)
class Choice:
    """How translations are found, and which of them are given.

    Args:
        drawing: how they are drawn; None when they are searched.
        found: how many are found of each segment.
        given: how many of these are given.
        mbr: whether they are reranked by utility.
    """

    drawing: Drawing | None
    found: int
    given: int
    mbr: bool

    @classmethod
    def of(
        cls,
        sampling: Sampling | None,
        *,
        n_best: int,
        max_length: int | None,
        mbr: int,
        mbr_over: MbrOver,
        first: int,
    ) -> "Choice":
        """Understand the options of ``Translator.translate`` that have these names.

        Raises:
            ConfigError: they do not go together.
        """
        if mistakes := [*_mistakes(sampling, n_best, mbr, mbr_over)]:
            raise ConfigError.together(mistakes)
        found = mbr or n_best
        if sampling is None and (not mbr or mbr_over == "beam"):
            return cls(None, found, n_best, mbr > 0)
        sampling = sampling or Sampling()
        if sampling.max_length is None:
            sampling = replace(sampling, max_length=max_length)
        return cls(Drawing(sampling, found, first), found, n_best, mbr > 0)

    def refuse(self, search: BeamSearch, others: Mapping[str, bool]) -> None:
        """See that nothing is asked of a search when there is none.

        Args:
            search: as it would be; its beam, alpha and lengths do not matter.
            others: which other controls are on, by name.

        Raises:
            ConfigError: a control is on and translations are drawn.
        """
        if self.drawing is None:
            return
        off = BeamSearch()
        kept = {"beam", "alpha", "n_best", "max_length"}
        names = [each.name for each in fields(search) if each.name not in kept]
        asked = [name for name in names if getattr(search, name) != getattr(off, name)]
        asked += [name for name, on in others.items() if on]
        problem, hint = "is for a search, and translations are drawn", "leave it or sampling out"
        if asked:
            raise ConfigError.together(Mistake(name, problem, hint) for name in asked)

    def choose(self, translation: Translation) -> Translation:
        """Give what is asked for of all that was found of a segment."""
        return rerank(translation, self.given) if self.mbr else translation


def _mistakes(
    sampling: Sampling | None, n_best: int, mbr: int, mbr_over: MbrOver
) -> Iterator[Mistake]:
    if n_best < 1:
        yield Mistake("n_best", f"{n_best} is less than 1")
    if mbr_over not in get_args(MbrOver):
        yield Mistake("mbr_over", f"{mbr_over!r} is not a choice", "samples or beam")
    if mbr < 0 or mbr == 1:
        problem = f"{mbr} translations cannot be compared with each other"
        yield Mistake("mbr", problem, "set it to 2 or more, or to 0 for none")
    elif mbr and n_best > mbr:
        yield Mistake("n_best", f"{n_best} is more than mbr {mbr}", f"set mbr to {n_best} or more")
    if mbr_over == "beam" and not mbr:
        yield Mistake("mbr_over", "is beam, and mbr is 0", "set mbr to 2 or more")
    if mbr_over == "beam" and sampling is not None:
        yield Mistake("mbr_over", "is beam, and sampling is asked for", "leave one of them out")
