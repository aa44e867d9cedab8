"""How proposed pieces are judged: as greedy search would choose, or as sampling would draw.

A judge belongs to one text and is asked about its pieces in order.

Shapes: G pieces proposed, G + 1 rows of log-probabilities, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from dragoman.decoding.candidates import Candidates
from dragoman.decoding.constraints import Ban, Guide
from dragoman.decoding.drafting import Proposal
from dragoman.decoding.hypothesis import Symbols, items
from dragoman.decoding.sampling import Sampling, draw_pieces, filter_log_probs
from dragoman.decoding.settings import BeamSearch
from dragoman.decoding.speculative import speculative_step
from dragoman.errors import ModelError

NOT_NUMBERS = (
    "the model gives log-probabilities that are not numbers; its weights are damaged, or its "
    "training diverged: try an earlier checkpoint"
)


@dataclass(slots=True)
class Judged:
    """What comes next.

    Args:
        accepted: how many of the proposed pieces, from the first on, stay.
        pieces: those, and one more of the model's own unless an end symbol was accepted.
        log_probs: natural logarithms, the model's own, one per piece.
        growth: what the hypothesis grows by, one per piece.
        stuck: nothing may come after ``pieces``.
        close: rounding could have decided otherwise.
    """

    accepted: int = 0
    pieces: list[int] = field(default_factory=list[int])
    log_probs: list[float] = field(default_factory=list[float])
    growth: list[float] = field(default_factory=list[float])
    stuck: bool = False
    close: bool = False

    def add(self, piece: int, log_prob: float, growth: float) -> None:
        """Note one piece more."""
        self.pieces.append(piece)
        self.log_probs.append(log_prob)
        self.growth.append(growth)


class Greedy:
    """Accepts what a beam of one would choose, with every control that it obeys.

    Args:
        config: of the search; of its beam, groups and coverage nothing is used.
        symbols: ids treated apart.
        ban: phrases that may not come.
        device: where log-probabilities lie.
        forced: how many pieces must come first.
        rounding: of the reading; two pieces closer than this are called close.
    """

    def __init__(
        self,
        config: BeamSearch,
        symbols: Symbols,
        ban: Ban | None,
        *,
        device: torch.device,
        forced: int = 0,
        rounding: float = 0.0,
    ) -> None:
        self.symbols, self.forced = symbols, forced
        self.rounding = rounding * max(1.0, config.repetition_penalty)
        self.guide = Guide.start(config, symbols, ban, 1, device)
        self.simple = not self.guide.remembers and ban is None and config.min_length <= 1
        self.before = self.guide  # before the last piece

    def choose(self, log_probs: Tensor) -> tuple[int, None]:
        """Draft the likeliest piece that is not banned."""
        return int(log_probs.index_fill_(1, self.guide.never, -math.inf).argmax()), None

    def force(self, log_probs: Tensor, pieces: Sequence[int]) -> Judged:
        """Take pieces that must come, by log-probabilities (P, V)."""
        judged = Judged()
        for row, piece in zip(log_probs, pieces, strict=True):
            log_prob = float(row[piece])
            if math.isnan(log_prob):
                raise ModelError(NOT_NUMBERS)
            judged.add(piece, log_prob, log_prob)
            judged.stuck |= log_prob == -math.inf
            self._follow(piece)
        return judged

    def judge(self, log_probs: Tensor, proposal: Proposal) -> Judged:
        """Accept up to the first piece that is not the best, by log-probabilities (G + 1, V)."""
        judged = Judged()
        ahead = self._all_at_once(log_probs) if self.simple else None
        for place, proposed in enumerate([*proposal.pieces, None]):
            row = self._one(log_probs[place : place + 1]) if ahead is None else ahead[place]
            piece, growth, own, near = row
            if growth == -math.inf:
                judged.stuck = True
                return judged
            if not growth < math.inf:  # NaN
                raise ModelError(NOT_NUMBERS)
            judged.add(piece, own, growth)
            judged.close |= near > 1
            self._follow(piece)
            if piece != proposed:
                return judged
            judged.accepted += 1
            if piece == self.symbols.end:
                return judged
        return judged

    def may_stop(self, piece: int) -> bool:
        """Say whether the text may be cut off after ``piece``, its last."""
        return self.before.may_stop(0, piece)

    def _all_at_once(self, log_probs: Tensor) -> list[tuple[int, float, float, int]]:
        """Find of each row the best piece, its log-probability twice, and how many are close."""
        log_probs.index_fill_(1, self.guide.never, -math.inf)
        best = log_probs.argmax(dim=1, keepdim=True)
        values = log_probs.gather(1, best)
        if self.rounding:
            near = items((log_probs > values - self.rounding).sum(dim=1))
        else:
            near = [1] * log_probs.size(0)
        known = items(values)
        return list(zip(items(best), known, known, near, strict=True))

    def _one(self, log_probs: Tensor) -> tuple[int, float, float, int]:
        """Do the same for what comes next, (1, V), under controls."""
        own = log_probs.clone() if self.guide.rescales else log_probs
        adjusted = self.guide.adjust(log_probs)[0]
        piece = int(adjusted.argmax())
        near = int((adjusted > adjusted[piece] - self.rounding).sum()) if self.rounding else 1
        return piece, float(adjusted[piece]), float(own[0, piece]), near

    def _follow(self, piece: int) -> None:
        if not self.simple:
            self.before = self.guide
            self.guide = self.guide.follow(Candidates.start(1, piece), [self.forced])


class Drawing:
    """Accepts and draws so that texts come as often as when the large model draws alone.

    Args:
        config: how both models draw.
        symbols: ids treated apart.
        number: from 0 up; decides the draws together with ``config.seed``.
    """

    def __init__(self, config: Sampling, symbols: Symbols, number: int) -> None:
        self.config, self.end = config, symbols.end
        self.never = torch.tensor(symbols.banned, dtype=torch.int64)
        sequence = np.random.SeedSequence(config.seed, spawn_key=(number,))
        self.luck = np.random.Generator(np.random.PCG64(sequence))

    def choose(self, log_probs: Tensor) -> tuple[int, Tensor]:
        """Draft a piece as the large model would draw it from these log-probabilities."""
        kept, doubtful = self._kept(log_probs.cpu().double())
        if doubtful.any():
            raise ModelError("the draft gives no log-probabilities that a piece could be drawn by")
        return int(draw_pieces(kept, self._uniform(1))), kept[0].exp()

    def force(self, log_probs: Tensor, pieces: Sequence[int]) -> Judged:
        """Take pieces that must come, by log-probabilities (P, V)."""
        judged = Judged()
        for row, piece in zip(log_probs, pieces, strict=True):
            judged.add(piece, float(row[piece]), float(row[piece]))
        return judged

    def judge(self, log_probs: Tensor, proposal: Proposal) -> Judged:
        """Accept by chance and draw the piece after that, by log-probabilities (G + 1, V)."""
        own = log_probs.cpu().double()
        kept, doubtful = self._kept(own)
        pieces = torch.tensor(proposal.pieces, dtype=torch.int64)
        draft = proposal.chances
        if draft is None:
            draft = one_hot(pieces, own.size(1)).double()
        verdict = speculative_step(
            kept.exp()[None], draft[None], pieces[None], self._uniform(len(pieces))[None]
        )
        accepted = int(verdict.accepted)
        if doubtful[: accepted + 1].any():
            raise ModelError(NOT_NUMBERS if own[: accepted + 1].isnan().any() else _IMPOSSIBLE)
        chosen = list(proposal.pieces[:accepted])
        if not chosen or chosen[-1] != self.end:
            chosen.append(int(draw_pieces(verdict.following.log(), self._uniform(1))))
        known = items(own[: len(chosen)].gather(1, torch.tensor(chosen)[:, None]))
        return Judged(accepted, chosen, known, known)

    def may_stop(self, piece: int) -> bool:
        """A text may be cut off anywhere."""
        return True

    def _kept(self, log_probs: Tensor) -> tuple[Tensor, Tensor]:
        """Give the log-probabilities that pieces are drawn by, and which rows have none."""
        allowed = log_probs.index_fill(1, self.never, -math.inf)
        doubtful = ~allowed.amax(dim=1).isfinite()
        if doubtful.any():  # anything will do: a row that counts is refused
            allowed[doubtful] = 0.0
        config = self.config
        kept = filter_log_probs(
            allowed,
            temperature=config.temperature,
            top_k=config.top_k,
            top_p=config.top_p,
            min_p=config.min_p,
        )
        return kept, doubtful

    def _uniform(self, count: int) -> Tensor:
        return torch.tensor([self.luck.random() for _ in range(count)], dtype=torch.float64)


_IMPOSSIBLE = "every piece that may follow has probability 0"
