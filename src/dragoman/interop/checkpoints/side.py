"""The other side of a certificate for a checkpoint: its second reading, searched by our search."""

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch, Symbols, search
from dragoman.interop.checkpoints.second_reading import Array, SecondReading


class CheckpointSide:
    """A checkpoint as its trainer would run it; see ``Side`` and ``Layered``.

    Args:
        name: of the trainer.
        reading: of the checkpoint.
        bundle: what was read of it; tells which ids a search never writes.
    """

    patience: float | None = None
    reads_empty = True

    def __init__(self, name: str, reading: SecondReading, bundle: Bundle) -> None:
        self.name, self.banned = name, bundle.frame.never_written
        self.longest = reading.wording.longest
        self._reading, self._symbols = reading, Symbols.of(bundle.frame)

    def log_probs(self, source: Sequence[int], target: Sequence[int]) -> Array:
        """Score bare ids: (T + 1, V)."""
        logits = self._run(source, target)["generator"].double()
        return logits.log_softmax(-1).float().numpy()

    def translate(self, source: Sequence[int], *, beam: int, max_length: int) -> list[int]:
        """Search for bare ids; the best log-probability a piece, the end symbol included."""
        config = BeamSearch(beam=beam, length_penalty="average", alpha=1.0)
        session = _Recomputing(self, tuple(source), ((),), fed=False)
        (found,) = search(session, config, self._symbols, [max_length])
        return list(found[0].ids) if found else []

    def layers(self, source: Sequence[int], target: Sequence[int]) -> dict[str, Array]:
        """Give the output of each part by our names, in the order of computing."""
        return {name: each.numpy() for name, each in self._run(source, target).items()}

    def _run(self, source: Sequence[int], target: Sequence[int]) -> dict[str, Tensor]:
        wording = self._reading.wording
        framed = [*wording.before, *source, *wording.after] or [wording.padding]
        return self._reading.run(framed, [wording.start, *target])


class _Recomputing:
    """One source and rows of pieces written so far; every step computes all of them anew."""

    def __init__(
        self,
        side: CheckpointSide,
        source: tuple[int, ...],
        rows: tuple[tuple[int, ...], ...],
        *,
        fed: bool,
    ) -> None:
        self.sentences, self.device = 1, torch.device("cpu")
        self._side, self._source, self._rows, self._fed = side, source, rows, fed

    def step(self, ids: Tensor) -> tuple[Tensor, "_Recomputing"]:
        """Feed one id to each row; the first is the start, which the side knows."""
        rows = self._rows
        if self._fed:
            fed = map(int, ids)
            rows = tuple((*row, number) for row, number in zip(rows, fed, strict=True))
        scored = [torch.tensor(self._side.log_probs(self._source, row)[-1]) for row in rows]
        return torch.stack(scored), _Recomputing(self._side, self._source, rows, fed=True)

    def select(self, rows: Tensor, sentences: Tensor | None) -> Self:
        """Keep some rows."""
        kept = tuple(self._rows[number] for number in map(int, rows))
        return type(self)(self._side, self._source, kept, fed=self._fed)
