"""A thousand tables at once: a session that looks them up in one go, and all their sequences.

Tables are numbers: log-probabilities by table, by what was written before, and by piece. What was
written is a number too, in a tree with V branches: the root is 0, and piece v after node n makes
n·V + v + 1.

Shapes: N tables, M nodes, V vocabulary, Q sequences.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dragoman.decoding import coverage_penalty
from tests.fakes import Ids

START, END = 0, 1
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ManyTables:
    """Sources whose translations are looked up; see ``dragoman.decoding.Session``.

    Args:
        tables: log-probabilities, (N, M, V).
        rows: which table each row reads, and at which node it stands, (R,) each.
        sources: tables still read, (S,).
    """

    tables: Tensor
    rows: tuple[Tensor, Tensor]
    sources: Tensor

    @classmethod
    def start(cls, tables: Floats) -> "ManyTables":
        known = torch.arange(len(tables))
        return cls(torch.from_numpy(tables), (known, torch.full_like(known, -1)), known)

    @property
    def sentences(self) -> int:
        return len(self.sources)

    @property
    def device(self) -> torch.device:
        return self.tables.device

    def step(self, ids: Tensor) -> tuple[Tensor, "ManyTables"]:
        table, node = self.rows
        after = torch.where(node < 0, 0, node * self.tables.size(2) + ids + 1)
        return self.tables[table, after], replace(self, rows=(table, after))

    def select(self, rows: Tensor, sentences: Tensor | None) -> "ManyTables":
        table, node = self.rows
        sources = self.sources if sentences is None else self.sources[sentences]
        return replace(self, rows=(table[rows], node[rows]), sources=sources)


@dataclass(frozen=True)
class CoveringTables:
    """``ManyTables`` that also say what they look at; a ``CoveringSession``.

    Args:
        inner: the tables.
        looks: the attention with which the piece after a node is written, (N, M, L).
        covered: what rows have looked at so far, (R, L).
    """

    inner: ManyTables
    looks: Tensor
    covered: Tensor

    @classmethod
    def start(cls, tables: Floats, looks: Floats) -> "CoveringTables":
        inner, known = ManyTables.start(tables), torch.from_numpy(looks)
        return cls(inner, known, torch.zeros_like(known[:, 0]))

    @property
    def sentences(self) -> int:
        return self.inner.sentences

    @property
    def device(self) -> torch.device:
        return self.inner.device

    def step(self, ids: Tensor) -> tuple[Tensor, "CoveringTables"]:
        log_probs, inner = self.inner.step(ids)
        return log_probs, replace(self, inner=inner, covered=self.covered + self.looks[inner.rows])

    def select(self, rows: Tensor, sentences: Tensor | None) -> "CoveringTables":
        return replace(self, inner=self.inner.select(rows, sentences), covered=self.covered[rows])

    def coverage(self, beta: float) -> Tensor:
        return coverage_penalty(self.covered, torch.ones_like(self.covered).bool(), beta)


def node_of(ids: Ids, vocabulary: int) -> int:
    """Number what was written."""
    node = 0
    for piece in ids:
        node = node * vocabulary + piece + 1
    return node


def nodes(vocabulary: int, steps: int) -> int:
    """Count what may be written before the last of so many steps."""
    return sum(vocabulary**n for n in range(steps))


def sequences(vocabulary: int, limit: int) -> Iterator[Ids]:
    """Give every sequence that may end within the limit, without its end."""
    for length in range(limit):
        yield from product(range(2, vocabulary), repeat=length)


def running_totals(tables: Floats, ids: Ids) -> Floats:
    """Add up a sequence and its end piece by piece in every table, (N, pieces)."""
    pieces = (*ids, END)
    vocabulary = tables.shape[2]
    each = [tables[:, node_of(ids[:n], vocabulary), piece] for n, piece in enumerate(pieces)]
    return np.cumsum(np.stack(each, axis=1), axis=1)
