"""A table of probabilities that also says what it looks at."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from dragoman.decoding import coverage_penalty
from tests.fakes import Ids, Table, TableSession


def looking_at(seed: int, prefix: Ids, positions: int) -> list[float]:
    """Draw the attention with which the piece after a prefix is written."""
    return np.random.default_rng([seed, 7, *prefix]).dirichlet([0.5] * positions).tolist()


@dataclass(frozen=True)
class CoveringTable:
    """A ``TableSession`` that is a ``CoveringSession`` too."""

    inner: TableSession
    seed: int
    positions: int
    covered: tuple[Tensor, ...]

    @classmethod
    def begin(cls, seed: int, positions: int, *tables: Table) -> "CoveringTable":
        nothing = torch.zeros(positions, dtype=torch.float64)
        return cls(TableSession.start(*tables), seed, positions, (nothing,) * len(tables))

    @property
    def sentences(self) -> int:
        return self.inner.sentences

    @property
    def device(self) -> torch.device:
        return self.inner.device

    def step(self, ids: Tensor) -> tuple[Tensor, "CoveringTable"]:
        log_probs, inner = self.inner.step(ids)
        looks = [looking_at(self.seed, prefix, self.positions) for prefix in inner.prefixes]
        pairs = zip(self.covered, looks, strict=True)
        covered = tuple(old + torch.tensor(look, dtype=torch.float64) for old, look in pairs)
        return log_probs, replace(self, inner=inner, covered=covered)

    def select(self, rows: Tensor, sentences: Tensor | None) -> "CoveringTable":
        covered = tuple(self.covered[row] for row in rows.tolist())
        return replace(self, inner=self.inner.select(rows, sentences), covered=covered)

    def coverage(self, beta: float) -> Tensor:
        covered = torch.stack(self.covered)
        return coverage_penalty(covered, torch.ones_like(covered, dtype=torch.bool), beta)
