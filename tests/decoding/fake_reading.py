"""Stand-ins for speculative decoding: a table read several pieces at a time, and bad drafters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from dragoman.decoding import Proposal
from tests.fakes import Ids, Table


@dataclass(frozen=True)
class TableReading:
    """A text looked up in a table; see ``dragoman.decoding.Reading``.

    It insists on being used as a reading must be, each value once.
    """

    table: Table
    fed: Ids = ()
    most: int | None = None
    rounding: float = 0.0
    reads: list[int] = field(default_factory=list[int])  # pieces in each, shared
    _used: list[bool] = field(default_factory=list[bool])

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def read(self, ids: Sequence[int]) -> "tuple[Tensor, TableReading]":
        self._use()
        assert len(ids) > 0
        self.reads.append(len(ids))
        fed = (*self.fed, *ids)
        assert self.most is None or len(fed) <= self.most
        ends = range(len(self.fed) + 1, len(fed) + 1)
        rows = [self.table(fed[:end]) for end in ends]
        log_probs = torch.tensor(rows, dtype=torch.float64).log()
        return log_probs, replace(self, fed=fed, _used=[])

    def cut(self, length: int) -> "TableReading":
        self._use()
        assert 0 <= length <= len(self.fed)
        return replace(self, fed=self.fed[:length], _used=[])

    def _use(self) -> None:
        assert not self._used, "a reading was used twice"
        self._used.append(True)


@dataclass
class ScriptedDrafter:
    """Proposes what a function of the text says, as if certain; notes what it was told."""

    script: Callable[[Ids], Sequence[int]]
    told: list[Ids] = field(default_factory=list[Ids])

    def propose(self, written: Sequence[int], most: int, choose: object) -> Proposal:
        self.told.append(tuple(written))
        return Proposal(tuple(self.script(tuple(written)))[:most])
