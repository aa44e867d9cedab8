"""Continuations of the hypotheses that a beam search has open.

Shapes: S sentences still searched, C candidates of a sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.decoding.hypothesis import items


@dataclass(frozen=True, slots=True)
class Leaf:
    """The last piece of a hypothesis, from which the others are traced back."""

    step: int
    row: int  # among those fed in this step
    piece: int
    log_prob: float
    total: float  # of the whole hypothesis
    score: float
    truncated: bool


@dataclass(frozen=True, slots=True)
class Past:
    """What was open after a step, one entry per row: enough to trace hypotheses back."""

    rows: list[int]  # of the step before
    pieces: list[int]
    log_probs: list[float]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Continuations of the hypotheses that were open, best first in each sentence; (S, C) each."""

    rows: Tensor  # int64: which of the rows fed in this step is continued
    pieces: Tensor  # int64
    log_probs: Tensor  # float64, of the pieces, the model's own
    totals: Tensor  # float64, what whole hypotheses have grown to; -inf: there is none

    @classmethod
    def start(cls, sentences: int, piece: int) -> "Candidates":
        """Make one hypothesis per sentence that holds nothing but the start symbol."""
        rows = torch.arange(sentences)[:, None]
        nothing = torch.zeros((sentences, 1), dtype=torch.float64)
        return cls(rows, torch.full_like(rows, piece), nothing, nothing)

    def take(self, order: Tensor) -> "Candidates":
        """Pick columns of each sentence, (S, C')."""
        return Candidates(
            self.rows.gather(1, order),
            self.pieces.gather(1, order),
            self.log_probs.gather(1, order),
            self.totals.gather(1, order),
        )

    def first(self, width: int) -> "Candidates":
        """Pick the best ones of each sentence."""
        if width >= self.rows.size(1):
            return self
        return Candidates(
            self.rows[:, :width],
            self.pieces[:, :width],
            self.log_probs[:, :width],
            self.totals[:, :width],
        )

    def keep(self, sentences: Tensor) -> "Candidates":
        """Pick sentences, (S',)."""
        return Candidates(
            self.rows[sentences],
            self.pieces[sentences],
            self.log_probs[sentences],
            self.totals[sentences],
        )

    def past(self) -> Past:
        """Write down what tracing back needs."""
        return Past(items(self.rows), items(self.pieces), items(self.log_probs))

    def leaf(self, s: int, c: int, step: int, score: float, *, truncated: bool = False) -> Leaf:
        """End hypothesis c of sentence s."""
        return Leaf(
            step=step,
            row=int(self.rows[s, c]),
            piece=int(self.pieces[s, c]),
            log_prob=float(self.log_probs[s, c]),
            total=float(self.totals[s, c]),
            score=score,
            truncated=truncated,
        )

    @staticmethod
    def beside(parts: "Sequence[Candidates]") -> "Candidates":
        """Put those of several groups side by side in each sentence."""
        if len(parts) == 1:
            return parts[0]
        return Candidates(
            torch.cat([part.rows for part in parts], dim=1),
            torch.cat([part.pieces for part in parts], dim=1),
            torch.cat([part.log_probs for part in parts], dim=1),
            torch.cat([part.totals for part in parts], dim=1),
        )
