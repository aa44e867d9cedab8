"""One step of a search for translations that must hold something.

In dynamic beam allocation (Post and Vilar 2018, arXiv 1804.06609) hypotheses are told apart by how
much they still need: those in one state form a bank, and each bank keeps places in the beam. Here a
state is the number of pieces that remain. All candidates of a sentence are ordered by their rank in
their bank (Hu et al. 2019, "Improved lexically constrained decoding for translation and monolingual
rewriting"): first the best of each bank, those nearest to the end first, then the others by rank
and score, so that places a bank cannot fill go to the rest. A beam with fewer places than there are
banks is widened to them.

Candidates are the best pieces of each hypothesis and those that bring it nearer to what is needed.

Shapes: S sentences still searched, W open hypotheses of each, R = S·W rows, C best pieces of a row,
N pieces of a row that are looked at, B banks, V vocabulary.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from dragoman.decoding.candidates import Candidates
from dragoman.decoding.growing import Chosen, Step, best_of_rows, refuse_not_numbers
from dragoman.decoding.hypothesis import items
from dragoman.decoding.required import MOST_BANKS, Needs

_NONE = -1  # the bank of what is no candidate


@dataclass(frozen=True, slots=True)
class ByBanks:
    """Chooses for ``grow``.

    Args:
        needs: what the rows of this step still need.
    """

    needs: Needs

    def __call__(
        self, step: Step, starts: Tensor, beam: int, handicap: Tensor | None, end: int
    ) -> Chosen:
        """Choose among the rows of one group; ``starts`` says where they begin, (S, 1)."""
        sentences, width = step.totals.shape
        beams = torch.tensor(self.needs.beams(beam))[:, None]  # (S, 1)
        rows = items(starts + torch.arange(width))
        pool = self._pool(step, rows, beams, handicap)
        totals = step.totals.reshape(-1, 1)
        scores, grown = totals + pool.ranks, totals + pool.growth  # (R, N) each
        refuse_not_numbers(scores)
        remaining = self._remaining(rows, pool.pieces, scores, end, step)
        scores = scores.masked_fill(remaining == _NONE, -math.inf)

        def by_sentence(x: Tensor) -> Tensor:
            return x.reshape(sentences, -1)

        order = _by_rank(by_sentence(scores), by_sentence(remaining))
        order = order[:, : 2 * int(beams.max())]
        took = torch.arange(order.size(1)) < 2 * beams  # what a sentence gets, neighbours aside
        took &= by_sentence(scores).gather(1, order) > -math.inf
        chosen = Candidates(
            order // pool.pieces.size(1) + starts,
            by_sentence(pool.pieces).gather(1, order).clamp(min=0),
            by_sentence(pool.own).gather(1, order),
            by_sentence(grown).gather(1, order).masked_fill(~took, -math.inf),
        )
        return _part(chosen, end, beams)

    def _pool(self, step: Step, rows: list[int], beams: Tensor, handicap: Tensor | None) -> "_Pool":
        """Gather the pieces to look at; id -1 is none."""
        width = step.totals.size(1)
        best = _Pool(*best_of_rows(step, 2 * int(beams.max()), handicap))
        columns = torch.arange(best.pieces.size(1))
        beyond = columns >= 2 * beams.repeat_interleave(width, 0)
        best = replace(best, pieces=best.pieces.masked_fill(beyond, -1))
        alive = items(step.totals > -math.inf)
        free = [piece is None for piece in step.must for _ in range(width)]
        more = [
            list(self.needs.leading(row)) if lives and asked else []
            for row, lives, asked in zip(rows, alive, free, strict=True)
        ]
        longest = max(map(len, more), default=0)
        if not longest:
            return best
        pieces = torch.tensor([[*each, *[-1] * (longest - len(each))] for each in more])
        twice = (pieces[:, :, None] == best.pieces[:, None, :]).any(2)
        pieces = pieces.masked_fill(twice, -1)
        there = pieces.clamp(min=0).to(step.adjusted.device)
        growth = step.adjusted.gather(1, there).cpu().double()
        own = growth
        if step.own is not step.adjusted:
            own = step.own.gather(1, there).cpu().double()
        ranks = growth
        if handicap is not None:
            ranks = growth - handicap.repeat_interleave(width, 0).gather(1, there.cpu())
        return best.beside(_Pool(ranks, growth, own, pieces))

    def _remaining(
        self, rows: list[int], pieces: Tensor, scores: Tensor, end: int, step: Step
    ) -> Tensor:
        """Give the bank of each candidate: how many pieces remain, (R, N)."""
        count, width = pieces.size(1), step.totals.size(1)
        found: list[int] = []
        ids, values = items(pieces), items(scores)
        for place, (piece, score) in enumerate(zip(ids, values, strict=True)):
            if piece < 0 or score == -math.inf:
                found.append(_NONE)
                continue
            row = place // count
            if step.must[row // width] is not None:
                found.append(0)
                continue
            bank = self.needs.bank(rows[row], piece, end)
            found.append(_NONE if bank is None else bank)
        return torch.tensor(found).view(pieces.shape)


@dataclass(frozen=True, slots=True)
class _Pool:
    """Pieces that may follow the rows, (R, N) each: what ``best_of_rows`` gives."""

    ranks: Tensor
    growth: Tensor
    own: Tensor
    pieces: Tensor

    def beside(self, other: "_Pool") -> "_Pool":
        return _Pool(
            torch.cat((self.ranks, other.ranks), dim=1),
            torch.cat((self.growth, other.growth), dim=1),
            torch.cat((self.own, other.own), dim=1),
            torch.cat((self.pieces, other.pieces), dim=1),
        )


def _by_rank(scores: Tensor, remaining: Tensor) -> Tensor:
    """Order candidates as the module says; those that are none come last.

    Args:
        scores: (S, W·N).
        remaining: their banks, (S, W·N).

    Returns:
        Columns, (S, W·N).
    """
    order = scores.argsort(dim=1, descending=True, stable=True)
    banks = remaining.gather(1, order)
    bank = banks.clamp(max=MOST_BANKS - 1)[:, :, None] - _NONE
    ranks = one_hot(bank[:, :, 0]).cumsum(1).gather(2, bank)[:, :, 0]  # from 1
    ranks = torch.where(ranks == 1, bank[:, :, 0] - MOST_BANKS, ranks)  # best of a bank: 0 or less
    ranks = ranks.masked_fill(banks == _NONE, ranks.size(1) + 1)
    return order.gather(1, ranks.argsort(dim=1, stable=True))


def _part(chosen: Candidates, end: int, beams: Tensor) -> Chosen:
    """Tell apart what has ended and what stays open, of each sentence as many as its beam."""
    alive = chosen.totals > -math.inf
    ended = (chosen.pieces == end) & alive
    going = alive & ~ended
    going &= going.cumsum(1) <= beams
    totals = chosen.totals.masked_fill(~going, -math.inf)
    order = (~going).byte().argsort(dim=1, stable=True)[:, : int(beams.max())]
    s, c = ended.nonzero(as_tuple=True)
    opened = replace(chosen, totals=totals).take(order)
    return chosen, opened, list(zip(items(s), items(c), strict=True))
