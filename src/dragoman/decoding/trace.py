"""What a beam search did, step by step: what was open, what ended with which score, why it stopped.

A search tells an observer, if it was given one, after every step; ``Tracer`` is one that writes
everything down.

Shapes: S sentences still searched, W open hypotheses of each, C candidates of a sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor

from dragoman.decoding.candidates import Candidates, Leaf
from dragoman.decoding.final_score import Terms
from dragoman.decoding.hypothesis import Hypothesis
from dragoman.decoding.settings import BeamSearch

Reason = Literal["nothing-open", "nothing-can-win", "patience", "limit", "broken-off"]


@dataclass(frozen=True, slots=True)
class Opened:
    """A hypothesis that is open after a step.

    Args:
        place: among the open ones of its sentence, from 1; by falling total unless there are
            groups, which stand one after the other.
        origin: place of the hypothesis that it continues, after the step before; 0 in the first.
        piece: its new id.
        log_prob: of the piece, by the model.
        total: what the whole has grown to; with a repetition penalty its log-probabilities count
            as the search counts them.
        group: from 1.
        handicap: what was taken off ``total`` when its group chose, as earlier groups go on with
            the same piece.
        token: the piece as text, where someone has filled it in.
    """

    place: int
    origin: int
    piece: int
    log_prob: float
    total: float
    group: int = 1
    handicap: float = 0.0
    token: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """A hypothesis that is open no more, as it has ended or stands at the limit.

    Args:
        origin: place of the hypothesis that it continues, as for ``Opened``.
        ids: all of its pieces but the end symbol.
        log_prob: of its last piece, by the model.
        score: what it is compared by.
        terms: what the score is the sum of.
        truncated: it was cut off at the limit.
        repeated: another group had found the same before, so it counts no more.
        rank: place among the hypotheses that the search gave back, from 1; 0 for none.
        text: where someone has filled it in.
    """

    origin: int
    ids: tuple[int, ...]
    log_prob: float
    score: float
    terms: Terms
    truncated: bool = False
    repeated: bool = False
    rank: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """What a step left open and what ended in it, both in the order of the search.

    What is open after the last step is there too, although nothing follows.
    """

    number: int
    opened: tuple[Opened, ...]
    ended: tuple[Ended, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the search of a sentence stopped.

    Args:
        reason: ``nothing-open``, every open hypothesis has ended; ``nothing-can-win``, none of
            the open ones can reach more than ``to_beat``; ``patience``, enough have ended;
            ``limit``, no more pieces are allowed.
        step: number of the last step.
        ended: how many have ended, each counted once.
        to_beat: score of the worst hypothesis of a full list; None while the list has room.
        bound: what the best open hypothesis could have scored at most, for ``nothing-can-win``.
    """

    reason: Reason
    step: int
    ended: int
    to_beat: float | None = None
    bound: float | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """The search of one sentence.

    Args:
        search: what it was told.
        steps: in order.
        stop: why there is no further one.
    """

    search: BeamSearch
    steps: tuple[TraceStep, ...]
    stop: Stop

    @property
    def ended(self) -> tuple[Ended, ...]:
        """All that ended or was cut off, each once, in the order of the search."""
        return tuple(each for step in self.steps for each in step.ended if not each.repeated)

    def line(self, step: int, place: int) -> tuple[Opened, ...]:
        """Follow what is open after a step, counted from 1, back; the first piece first."""
        line: list[Opened] = []
        while place:
            opened = next(each for each in self.steps[step - 1].opened if each.place == place)
            line.append(opened)
            step, place = step - 1, opened.origin
        return tuple(reversed(line))


@dataclass(frozen=True, slots=True)
class Happened:
    """What a search tells after each step.

    Args:
        step: number of the step, from 1.
        numbers: which sentences are still searched, (S,).
        width: open hypotheses of each before the step, W; row w of sentence s was s·W + w.
        must: the piece that had to follow in each sentence, if one had to, (S,).
        opened: what is open now, (S, C).
        ended: what has ended, with the place of its sentence in ``numbers``.
        covered: coverage term of every row, (S·W,); None if none is asked for.
    """

    step: int
    numbers: Sequence[int]
    width: int
    must: Sequence[int | None]
    opened: Candidates
    ended: Sequence[tuple[int, Leaf]]
    covered: Tensor | None


class Observer(Protocol):
    """Is told what a search does."""

    def happened(self, what: Happened) -> None:
        """Look at one step of all sentences."""
        ...

    def stopped(
        self, number: int, stop: Stop, cut: Sequence[Leaf], found: Sequence[Hypothesis]
    ) -> None:
        """Learn that the search of a sentence is over, what is cut off, and what is given back."""
        ...
