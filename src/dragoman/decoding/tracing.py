"""Writing down what a beam search does; see ``trace``."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from torch import Tensor

from dragoman.decoding.candidates import Candidates, Leaf
from dragoman.decoding.hypothesis import Hypothesis
from dragoman.decoding.settings import BeamSearch
from dragoman.decoding.trace import Ended, Happened, Opened, Stop, Trace, TraceStep


class Tracer:
    """Writes down what a search does.

    Args:
        search: what the search is told.
        names: what ``traces`` call the sentences; their numbers unless given.
    """

    def __init__(self, search: BeamSearch, names: Sequence[int] | None = None) -> None:
        self.search, self.names = search, names
        self.traces: dict[int, Trace] = {}
        self._found: dict[int, _Found] = {}

    def among(self, names: Sequence[int]) -> "Tracer":
        """Make one for some of the sentences, which writes into the same traces."""
        other = Tracer(self.search, names)
        other.traces = self.traces
        return other

    def happened(self, what: Happened) -> None:
        """Write down one step of all sentences."""
        for s, number in enumerate(what.numbers):
            found = self._found.setdefault(number, _Found(self.search))
            found.add(what, s, [leaf for place, leaf in what.ended if place == s])

    def stopped(
        self, number: int, stop: Stop, cut: Sequence[Leaf], found: Sequence[Hypothesis]
    ) -> None:
        """Make the trace of a sentence."""
        ranks = {(each.ids, each.truncated): rank for rank, each in enumerate(found, start=1)}
        steps = self._found.pop(number).close(cut, ranks)
        name = number if self.names is None else self.names[number]
        self.traces[name] = Trace(self.search, steps, stop)


@dataclass(slots=True)
class _Found:
    """What is known of a sentence so far."""

    search: BeamSearch
    steps: list[TraceStep] = field(default_factory=list[TraceStep])
    written: dict[int, tuple[int, ...]] = field(default_factory=lambda: {0: ()})  # by place
    before: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    known: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])
    width: int = 1
    covered: Tensor | None = None

    def add(self, what: Happened, s: int, leaves: Sequence[Leaf]) -> None:
        self.width, self.covered, self.before = what.width, what.covered, self.written
        opened = self._opened(what.opened, s, what.step, free=what.must[s] is None)
        self.written = {each.place: (*self.before[each.origin], each.piece) for each in opened}
        ended = [self._ended(leaf) for leaf in leaves]
        self.steps.append(TraceStep(what.step, tuple(opened), tuple(ended)))

    def close(
        self, cut: Sequence[Leaf], ranks: Mapping[tuple[tuple[int, ...], bool], int]
    ) -> tuple[TraceStep, ...]:
        last = self.steps[-1]
        ended = (*last.ended, *(self._ended(leaf) for leaf in cut))
        self.steps[-1] = replace(last, ended=ended)
        return tuple(
            replace(step, ended=tuple(_ranked(each, ranks) for each in step.ended))
            for step in self.steps
        )

    def _opened(self, opened: Candidates, s: int, step: int, *, free: bool) -> list[Opened]:
        columns = opened.rows.size(1)
        members = max(1, columns // self.search.groups)
        found: list[Opened] = []
        for c in range(columns):
            total, piece = float(opened.totals[s, c]), int(opened.pieces[s, c])
            if total == -math.inf:
                continue
            group = c // members + 1
            same = sum(each.piece == piece and each.group < group for each in found) if free else 0
            found.append(
                Opened(
                    c + 1,
                    self._origin(int(opened.rows[s, c]), step),
                    piece,
                    float(opened.log_probs[s, c]),
                    total,
                    group,
                    self.search.diversity * same,
                )
            )
        return found

    def _ended(self, leaf: Leaf) -> Ended:
        origin = self._origin(leaf.row, leaf.step)
        ids = (*self.before[origin], leaf.piece) if leaf.truncated else self.before[origin]
        covered = 0.0 if self.covered is None else float(self.covered[leaf.row])
        terms = self.search.final_score.terms(leaf.total, leaf.step, covered)
        repeated = ids in self.known
        self.known.add(ids)
        return Ended(origin, ids, leaf.log_prob, leaf.score, terms, leaf.truncated, repeated)

    def _origin(self, row: int, step: int) -> int:
        return 0 if step == 1 else row % self.width + 1


def _ranked(ended: Ended, ranks: Mapping[tuple[tuple[int, ...], bool], int]) -> Ended:
    rank = 0 if ended.repeated else ranks.get((ended.ids, ended.truncated), 0)
    return replace(ended, rank=rank) if rank else ended
