"""One step of a search: what the open hypotheses become.

In diverse beam search (Vijayakumar et al. 2016, arXiv 1610.02424, algorithm 1, Hamming diversity)
the beam B is divided into G groups, each a beam search of width B / G. They choose in turn, by

    log P(y) - diversity * (hypotheses of earlier groups that stay open with the same piece)

The second term is about the present step alone and part of no score. The end symbol does not count,
as a hypothesis that ends stays open no more. Plain beam search is one group.

Shapes: S sentences still searched, W open hypotheses of each, R = S·W rows, C candidates of a
sentence, V vocabulary.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dragoman.decoding.best_pieces import best_pieces
from dragoman.decoding.candidates import Candidates
from dragoman.decoding.constraints import Guide
from dragoman.decoding.hypothesis import items
from dragoman.decoding.settings import BeamSearch
from dragoman.errors import ModelError

Ended = tuple[int, Candidates, int]  # sentence s, and of which candidates it is which
# Candidates, those of them that stay open, and which have ended, as (s, c).
Chosen = tuple[Candidates, Candidates, list[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Step:
    """What may follow the open hypotheses.

    Args:
        own: log-probabilities by the model, (R, V); they hold only where pieces may come.
        adjusted: what hypotheses grow by, (R, V), -inf where a piece may not come.
        totals: what they have grown to, (S, W); -inf: there is none.
        must: the piece that must follow in each sentence, if one must.
        forced: log-probabilities of those pieces, (S, W), float64; None if there are none.
    """

    own: Tensor
    adjusted: Tensor
    totals: Tensor
    must: Sequence[int | None]
    forced: Tensor | None

    @classmethod
    def start(
        cls, log_probs: Tensor, totals: Tensor, must: Sequence[int | None], guide: Guide
    ) -> "Step":
        """Look at log-probabilities (R, V), which are overwritten.

        Raises:
            ValueError: a piece that must follow is outside the vocabulary.
        """
        forced = None
        if any(piece is not None for piece in must):  # before any is banned
            wanted = [0 if piece is None else piece for piece in must]
            if max(wanted) >= log_probs.size(1):
                raise ValueError(f"prefixes: id {max(wanted)} is outside the vocabulary")
            columns = torch.tensor(wanted).repeat_interleave(totals.size(1))[:, None]
            known = log_probs.gather(1, columns.to(log_probs.device))
            forced = known.cpu().double().view(totals.shape)
        own = log_probs.clone() if guide.rescales else log_probs
        return cls(own, guide.adjust(log_probs), totals, must, forced)

    def columns(self, first: int, width: int) -> "Step":
        """Look at some of the open hypotheses of each sentence."""
        sentences, whole = self.totals.shape
        if width == whole:
            return self

        def part(x: Tensor) -> Tensor:
            return x.view(sentences, whole, -1)[:, first : first + width].flatten(0, 1)

        adjusted = part(self.adjusted)
        own = adjusted if self.own is self.adjusted else part(self.own)
        forced = None if self.forced is None else self.forced[:, first : first + width]
        return Step(own, adjusted, self.totals[:, first : first + width], self.must, forced)


# Chooses among the rows of one group, which begin at (S, 1), with a beam and a handicap (S, V).
Choose = Callable[[Step, Tensor, int, Tensor | None, int], Chosen]


def grow(
    step: Step, config: BeamSearch, end: int, choose: Choose | None = None
) -> tuple[Candidates, list[Ended]]:
    """Give what stays open, the groups side by side, and what has ended.

    Args:
        step: what may follow.
        config: of the search.
        end: the end symbol.
        choose: among the continuations of a group; the best ones unless given.
    """
    sentences, whole = step.totals.shape
    shared = whole == 1  # at first all groups have the same hypothesis
    width, beam = 1 if shared else whole // config.groups, config.beam // config.groups
    starts = torch.arange(0, sentences * whole, whole)[:, None]
    vocabulary = step.adjusted.size(1)
    taken = torch.zeros((sentences, vocabulary if config.groups > 1 else 0))
    groups: list[Candidates] = []
    ended: list[Ended] = []
    for group in range(config.groups):
        first = 0 if shared else group * width
        handicap = config.diversity * taken if group else None
        part = step.columns(first, width)
        if choose is None:
            chosen = _extend(part, starts + first, beam, handicap)
            opened, over = _part(chosen, end, beam, impatient=config.patience is not None)
        else:
            chosen, opened, over = choose(part, starts + first, beam, handicap, end)
        ended += [(s, chosen, c) for s, c in over]
        groups.append(opened)
        if config.groups > 1:
            taken.scatter_add_(1, opened.pieces, (opened.totals > -math.inf).float())
    return Candidates.beside(groups), ended


def _extend(step: Step, starts: Tensor, beam: int, handicap: Tensor | None) -> Candidates:
    """Find the best continuations of each sentence: 2 x beam, as up to half of them may end.

    Greedy search takes the best one alone, be it the end or not.

    Args:
        step: of one group.
        starts: row of the first hypothesis of each sentence, (S, 1).
        beam: of the group.
        handicap: is taken off each piece in the choice, (S, V).

    Returns:
        The candidates, best choice first, (S, at most C).
    """
    sentences = step.totals.size(0)
    count = 1 if beam == 1 else 2 * beam
    ranks, growth, own, pieces = best_of_rows(step, count, handicap)  # (R, at most C) each
    spread = (step.totals.reshape(-1, 1) + ranks).view(sentences, -1)
    best, order = (x[:, :count] for x in spread.sort(dim=1, descending=True, stable=True))
    refuse_not_numbers(best[:, :1])  # NaN comes first
    totals = best
    if growth is not ranks:
        totals = (step.totals.reshape(-1, 1) + growth).view(sentences, -1).gather(1, order)
    rows = order // ranks.size(1) + starts
    own, pieces = (x.reshape(sentences, -1).gather(1, order) for x in (own, pieces))
    return Candidates(rows, pieces, own, totals)


def refuse_not_numbers(log_probs: Tensor) -> None:
    """See that log-probabilities are numbers, or -inf.

    Raises:
        ModelError: one is not.
    """
    if not (log_probs < math.inf).all():
        raise ModelError(
            "the model gives log-probabilities that are not numbers; its weights are damaged, or "
            "its training diverged: try an earlier checkpoint"
        )


def best_of_rows(
    step: Step, count: int, handicap: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Find the best pieces of each row, or the one that must follow.

    A forced sentence has one live row, its first.

    Returns:
        What they are chosen by, what hypotheses grow by, the model's log-probabilities, and the
        pieces, (R, at most ``count``) each.
    """
    width = step.totals.size(1)
    ranked = step.adjusted
    if handicap is not None:
        ranked = ranked - handicap.to(ranked.device).repeat_interleave(width, 0)
    values, pieces = best_pieces(ranked, count)
    there = pieces.to(ranked.device)
    ranks = values.double()
    growth = ranks if handicap is None else step.adjusted.gather(1, there).cpu().double()
    own = growth if step.own is step.adjusted else step.own.gather(1, there).cpu().double()
    must = {s: piece for s, piece in enumerate(step.must) if piece is not None}
    if step.forced is not None:
        rows = [s * width for s in must]
        for each in {id(x): x for x in (ranks, growth, own)}.values():
            each[rows] = -math.inf
            each[rows, 0] = step.forced[list(must), 0]
        pieces[rows, 0] = torch.tensor(list(must.values()))
    return ranks, growth, own, pieces


def _part(
    chosen: Candidates, end: int, beam: int, *, impatient: bool
) -> tuple[Candidates, list[tuple[int, int]]]:
    """Tell apart what stays open, ``beam`` of each sentence, and what has ended, as (s, c).

    Where a search stops by the number of those that have ended, only the best ``beam`` candidates
    can end, as in fairseq, whose code accompanies arXiv 2204.05424, and CTranslate2: others would
    exhaust the patience although better hypotheses are open.
    """
    ended = (chosen.pieces == end) & (chosen.totals > -math.inf)
    if not ended.any():
        return chosen.first(beam), []
    totals = chosen.totals.masked_fill(ended, -math.inf)
    order = (totals == -math.inf).byte().argsort(dim=1, stable=True)[:, :beam]  # in their order
    if impatient:
        ended[:, beam:] = False
    s, c = ended.nonzero(as_tuple=True)
    return replace(chosen, totals=totals).take(order), list(zip(items(s), items(c), strict=True))
