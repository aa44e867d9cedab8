"""The other side of a certificate for a checkpoint: its second reading, searched by our search."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Self

import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch, Symbols, search
from dragoman.interop.checkpoints.second_reading import Array, SecondReading


def widened(bundle: Bundle) -> Bundle:
    """Copy a model in float64, for a certificate.

    The second reading is in float64, too, so that no difference can be laid to rounding: trained
    models magnify that of float32 to more than a certificate allows where text is drawn.
    """
    return replace(bundle, model=deepcopy(bundle.model).double())


class CheckpointSide:
    """A checkpoint as its trainer would run it; see ``Side`` and ``Layered``.

    Args:
        name: of the trainer.
        reading: of the checkpoint.
        bundle: what was read of it; tells which ids a search never writes.
    """

    def __init__(self, name: str, reading: SecondReading, bundle: Bundle) -> None:
        self.name = name
        self.longest, self.patience = reading.wording.longest, None
        self.banned = bundle.frame.never_written
        # Without symbols around it nothing is left of an empty source, and trainers skip it.
        self.reads_empty = bool(reading.wording.before or reading.wording.after)
        self._reading, self._symbols = reading, Symbols.of(bundle.frame)

    def log_probs(self, source: Sequence[int], target: Sequence[int]) -> Array:
        """Score bare ids: (T + 1, V)."""
        return self.scores(target, self.read(source)[1]).float().numpy()

    def translate(self, source: Sequence[int], *, beam: int, max_length: int) -> list[int]:
        """Search for bare ids; the best log-probability a piece, the end symbol included."""
        config = BeamSearch(beam=beam, length_penalty="average", alpha=1.0)
        session = _Recomputing(self, self.read(source)[1], ((),), fed=False)
        (found,) = search(session, config, self._symbols, [max_length])
        return list(found[0].ids) if found else []

    def layers(self, source: Sequence[int], target: Sequence[int]) -> dict[str, Array]:
        """Give the output of each part by our names, in the order of computing."""
        seen, memory = self.read(source)
        both = seen | self._reading.decode([self._reading.wording.start, *target], memory)
        return {name: each.float().numpy() for name, each in both.items()}

    def read(self, source: Sequence[int]) -> tuple[dict[str, Tensor], Tensor]:
        """Read bare ids: what comes out of each part, and what targets read."""
        wording = self._reading.wording
        return self._reading.encode([*wording.before, *source, *wording.after])

    def scores(self, target: Sequence[int], memory: Tensor, *, last: bool = False) -> Tensor:
        """Score bare ids after a source that was read: (T + 1, V), or the last row alone."""
        start = self._reading.wording.start
        logits = self._reading.decode([start, *target], memory, last=last)["generator"]
        return logits.log_softmax(-1)


class _Recomputing:
    """One source and rows of pieces written so far; every step computes all of them anew."""

    def __init__(
        self,
        side: CheckpointSide,
        memory: Tensor,
        rows: tuple[tuple[int, ...], ...],
        *,
        fed: bool,
    ) -> None:
        self.sentences, self.device = 1, torch.device("cpu")
        self._side, self._memory, self._rows, self._fed = side, memory, rows, fed

    def step(self, ids: Tensor) -> tuple[Tensor, "_Recomputing"]:
        """Feed one id to each row; the first is the start, which the side knows."""
        rows = self._rows
        if self._fed:
            fed = map(int, ids)
            rows = tuple((*row, number) for row, number in zip(rows, fed, strict=True))
        scored = [self._side.scores(row, self._memory, last=True)[-1] for row in rows]
        return torch.stack(scored), _Recomputing(self._side, self._memory, rows, fed=True)

    def select(self, rows: Tensor, sentences: Tensor | None) -> Self:
        """Keep some rows."""
        kept = tuple(self._rows[number] for number in map(int, rows))
        return type(self)(self._side, self._memory, kept, fed=self._fed)
