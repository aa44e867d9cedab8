"""What a translation must hold: machines that say how much of it is still to come.

A hypothesis may end once everything has come. One that could not bring the rest within its limit
is dropped at once, so that a small beam too gives only translations that hold all of it.

Shapes: S sentences, W open hypotheses of each, R = S·W rows.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dragoman.decoding.candidates import Candidates
from dragoman.decoding.hypothesis import items
from dragoman.decoding.settings import PrefixTooLong
from dragoman.decoding.waiting import BrokenOff

NEVER = 1 << 30  # pieces; what cannot come
MOST_BANKS = 24  # states of completion told apart; what needs still more shares the last one


class Demand(Protocol):
    """What one translation must hold, as a machine that reads a hypothesis piece by piece.

    Its states are numbers; before the first piece it is in state 0.
    """

    def after(self, state: int, piece: int) -> int:
        """Read one piece."""
        ...

    def remaining(self, state: int) -> int:
        """Say in how many pieces the rest can come: 0 if all is there, ``NEVER`` if it cannot.

        It may be more than the fewest, but one of ``leading`` must make it smaller.
        """
        ...

    def leading(self, state: int) -> Sequence[int]:
        """Give pieces that begin or go on with something that has not come yet."""
        ...


class RequiredPhrases:
    """Requires sequences of ids, in any order; they may overlap. See ``Demand``.

    Args:
        phrases: ids in order, at least one each; few and short, as all orders are tried.

    Raises:
        ValueError: a phrase is empty.
    """

    def __init__(self, phrases: Sequence[Sequence[int]]) -> None:
        self._phrases = [tuple(phrase) for phrase in phrases]
        if not all(self._phrases):
            raise ValueError("phrases: one is empty")
        self._pieces = sorted({piece for phrase in self._phrases for piece in phrase})
        self._longest = max(map(len, self._phrases), default=0)
        # Which phrases have come, and the last pieces, which may begin others.
        self._states: list[tuple[frozenset[int], tuple[int, ...]]] = [(frozenset(), ())]
        self._numbers: dict[tuple[frozenset[int], tuple[int, ...]], int] = {self._states[0]: 0}
        self._remaining: dict[int, int] = {}

    def after(self, state: int, piece: int) -> int:
        """Note what has come."""
        met, past = self._states[state]
        past = (*past, piece)
        come = {n for n, p in enumerate(self._phrases) if past[len(past) - len(p) :] == p}
        left = [p for n, p in enumerate(self._phrases) if n not in met | come]
        while past and not any(past == phrase[: len(past)] for phrase in left):
            past = past[1:]
        key = (met | come, past)
        if key not in self._numbers:
            self._numbers[key] = len(self._states)
            self._states.append(key)
        return self._numbers[key]

    def remaining(self, state: int) -> int:
        """Search breadth first for the fewest pieces."""
        if state not in self._remaining:
            waiting, seen = deque([(state, 0)]), {state}
            while len(self._states[waiting[0][0]][0]) < len(self._phrases):
                here, count = waiting.popleft()
                reached = {self.after(here, piece) for piece in self._pieces} - seen
                seen |= reached
                waiting += [(there, count + 1) for there in sorted(reached)]
            self._remaining[state] = waiting[0][1]
        return self._remaining[state]

    def leading(self, state: int) -> Sequence[int]:
        """Give the pieces that bring the end nearer."""
        here = self.remaining(state)
        return [p for p in self._pieces if self.remaining(self.after(state, p)) < here]


@dataclass(frozen=True, slots=True)
class RequiredTooLong:
    """Why a sentence has no translation: what it must hold leaves no room for an end symbol."""

    pieces: int
    limit: int

    def __str__(self) -> str:
        if self.pieces >= NEVER:
            return "the model's vocabulary cannot write what is required; leave it out"
        return (
            f"what is required takes {self.pieces} pieces with the prefix and needs one more for "
            f"the end symbol, but the limit is {self.limit}; require less or raise max_length"
        )


NoRoom = PrefixTooLong | RequiredTooLong | BrokenOff  # why a sentence has no translation


def required_too_long(
    demand: Demand | None, prefix: Sequence[int], limit: int
) -> RequiredTooLong | None:
    """Say whether what is required fits a limit that counts prefix and end symbol."""
    if demand is None:
        return None
    pieces = min(NEVER, len(prefix) + still_to_come(demand, prefix))
    return RequiredTooLong(pieces, limit) if pieces > limit - 1 else None


def still_to_come(demand: Demand, prefix: Sequence[int]) -> int:
    """Say how many pieces it takes after a prefix."""
    state = 0
    for piece in prefix:
        state = demand.after(state, piece)
    return demand.remaining(state)


def widened(beam: int, demand: Demand, prefix: Sequence[int] = ()) -> int:
    """Say how many hypotheses of a sentence stay open: one of each bank at least.

    There is a bank for each number of pieces that may remain; a space may come in between.
    """
    return max(beam, min(MOST_BANKS, 2 + still_to_come(demand, prefix)))


@dataclass(frozen=True, slots=True)
class Needs:
    """What the open hypotheses of a search have brought of what they must hold; a value.

    Args:
        demands: of all sentences, by number.
        limits: most pieces of each, by number.
        prefixes: what hypotheses of each begin with, by number.
        numbers: of the sentences still searched, (S,).
        states: of the demand, one per row, (R,).
        step: number of the next piece, from 1.
    """

    demands: Sequence[Demand]
    limits: Sequence[int]
    prefixes: Sequence[Sequence[int]]
    numbers: tuple[int, ...]
    states: tuple[int, ...]
    step: int = 1

    @classmethod
    def start(
        cls,
        demands: Sequence[Demand],
        limits: Sequence[int],
        prefixes: Sequence[Sequence[int]],
        numbers: Sequence[int],
    ) -> "Needs":
        """Begin with one row of each of some sentences, which holds nothing."""
        return cls(demands, limits, prefixes, tuple(numbers), (0,) * len(numbers))

    def beams(self, beam: int) -> list[int]:
        """Say how many hypotheses of each sentence stay open, for at least as many."""
        return [widened(beam, self.demands[n], self.prefixes[n]) for n in self.numbers]

    def demand(self, row: int) -> Demand:
        """Give what the sentence of a row must hold."""
        return self.demands[self._number(row)]

    def bank(self, row: int, piece: int, end: int) -> int | None:
        """Say how many pieces remain after a row and one piece more; None if that is no way."""
        demand, state = self.demand(row), self.states[row]
        if piece == end:
            return None if demand.remaining(state) else 0
        remaining = demand.remaining(demand.after(state, piece))
        if remaining and self.step + remaining + 1 > self.limits[self._number(row)]:
            return None
        return remaining

    def leading(self, row: int) -> Sequence[int]:
        """Give pieces that bring a row nearer to its end."""
        return self.demand(row).leading(self.states[row])

    def met(self, row: int, piece: int) -> bool:
        """Say whether a row and one piece more hold everything."""
        demand = self.demand(row)
        return demand.remaining(demand.after(self.states[row], piece)) == 0

    def follow(self, opened: Candidates, numbers: Sequence[int]) -> "Needs":
        """Go on with what is open, of the sentences with these numbers."""
        rows, pieces = items(opened.rows), items(opened.pieces)
        alive = items(opened.totals > -math.inf)
        triples: list[tuple[int, int, bool]] = list(zip(rows, pieces, alive, strict=True))
        states = tuple(
            self.demand(row).after(self.states[row], piece) if lives else 0
            for row, piece, lives in triples
        )
        return replace(self, numbers=tuple(numbers), states=states, step=self.step + 1)

    def _number(self, row: int) -> int:
        return self.numbers[row // (len(self.states) // len(self.numbers))]
