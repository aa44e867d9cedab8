"""Stand-ins for slow parts: the model that is a table of probabilities."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import torch
from torch import Tensor

Ids = tuple[int, ...]
Table = Callable[[Ids], Sequence[float]]  # prefix, start symbol included, to V probabilities


def written_table(rows: Mapping[str, Mapping[str, float]], vocabulary: int) -> Table:
    """Make a table of rows such as ``{"0 2": {"4": 0.9, "1": 0.1}}``, the form of the golden cases.

    A prefix without a row of its own has that of its last piece, ``"* 2"``; a piece without a
    number has probability 0.
    """

    def following(prefix: Ids) -> list[float]:
        row = rows.get(" ".join(map(str, prefix)))
        row = rows[f"* {prefix[-1]}"] if row is None else row
        return [row.get(str(piece), 0.0) for piece in range(vocabulary)]

    return following


def random_table(seed: int, vocabulary: int, *, evenness: float = 1.0) -> Table:
    """Make a table in which every prefix draws its own probabilities.

    Args:
        seed: of the whole table; the same prefix always gets the same numbers.
        vocabulary: V.
        evenness: of the Dirichlet distribution; small numbers make sure models.
    """

    @cache
    def following(prefix: Ids) -> list[float]:
        rng = np.random.default_rng([seed, *prefix])
        return rng.dirichlet([evenness] * vocabulary).tolist()

    return following


@dataclass(frozen=True)
class Selection:
    """A call of ``select``: rows and sentences kept, and how many there were."""

    rows: list[int]
    sentences: list[int] | None
    old_rows: int
    old_sentences: int


@dataclass(frozen=True)
class TableSession:
    """Sources whose translations are looked up in tables; see ``dragoman.decoding.Session``.

    It insists on being used as a session must be, each value once.

    Args:
        tables: one per sentence.
        prefixes: what each row was fed.
        dtype: of the log-probabilities.
        fed: rows in each step, shared by all values that come of one session.
        selections: calls of ``select``, likewise.
    """

    tables: tuple[Table, ...]
    prefixes: tuple[Ids, ...]
    dtype: torch.dtype = torch.float64
    fed: list[int] = field(default_factory=list[int])
    selections: list[Selection] = field(default_factory=list[Selection])
    _used: list[bool] = field(default_factory=list[bool])

    @classmethod
    def start(cls, *tables: Table, dtype: torch.dtype = torch.float64) -> "TableSession":
        return cls(tables, ((),) * len(tables), dtype)

    @property
    def sentences(self) -> int:
        return len(self.tables)

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def step(self, ids: Tensor) -> tuple[Tensor, "TableSession"]:
        self._use()
        assert ids.dtype == torch.int64
        assert ids.shape == (len(self.prefixes),)
        self.fed.append(len(ids))
        pairs = zip(self.prefixes, ids.tolist(), strict=True)
        prefixes = tuple((*prefix, piece) for prefix, piece in pairs)
        width = len(prefixes) // len(self.tables)
        rows = [self.tables[row // width](prefix) for row, prefix in enumerate(prefixes)]
        log_probs = torch.tensor(rows, dtype=torch.float64).log().to(self.dtype)
        return log_probs, replace(self, prefixes=prefixes, _used=[])

    def select(self, rows: Tensor, sentences: Tensor | None) -> "TableSession":
        self._use()
        kept = list(range(len(self.tables))) if sentences is None else sentences.tolist()
        chosen = rows.tolist()
        old_width, width = len(self.prefixes) // len(self.tables), len(chosen) // len(kept)
        assert len(chosen) == width * len(kept)
        assert [row // old_width for row in chosen] == [s for s in kept for _ in range(width)]
        seen = None if sentences is None else kept
        self.selections.append(Selection(chosen, seen, len(self.prefixes), len(self.tables)))
        return replace(
            self,
            tables=tuple(self.tables[s] for s in kept),
            prefixes=tuple(self.prefixes[row] for row in chosen),
            _used=[],
        )

    def _use(self) -> None:
        assert not self._used, "a session value was used twice"
        self._used.append(True)


def log_prob(table: Table, pieces: Sequence[int], start: int) -> float:
    """Log-probability of ``pieces`` after the start symbol, by the chain rule."""
    probabilities = [table((start, *pieces[:place]))[piece] for place, piece in enumerate(pieces)]
    return math.fsum(math.log(p) if p > 0 else -math.inf for p in probabilities)
