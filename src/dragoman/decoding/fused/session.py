"""Sources being decoded by a packed model: a ``Session`` with a shorter way to the best pieces.

Shapes: S sentences, W rows each, R = S·W rows, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dragoman.decoding.fused.choosing import best, log_softmax
from dragoman.decoding.fused.packing import CannotPack, PackedModel
from dragoman.decoding.fused.products import Kind
from dragoman.decoding.fused.room import Room
from dragoman.decoding.fused.running import Pass, Past, encode, step
from dragoman.decoding.fused.selecting import reorder
from dragoman.errors import ConfigError

LOGITS = 1 << 18  # numbers that stay in the cache of a core until they are read
FIRST_STEPS = 128  # positions that there is room for at first


class FusedModel:
    """A packed model with the positions that have been asked for; shared by all workers."""

    def __init__(self, packed: PackedModel) -> None:
        self.packed = packed
        self._source = packed.encoder.positions(0)
        self._target = packed.decoder.positions(0)

    @classmethod
    def of(cls, model: nn.Module, kind: Kind) -> "FusedModel":
        """Pack a model.

        Raises:
            ConfigError: it has a part that is not known here.
        """
        try:
            return cls(PackedModel.pack(model, kind))
        except CannotPack as error:
            problem = f"fused does not know {error}"
            hint = "set engine to torch"
            if kind == "int8":
                hint = "int8 is for fused alone; set dtype to float32 or bfloat16"
            raise ConfigError("engine", problem, hint) from None

    def source_positions(self, count: int) -> Any:
        """Give at least so many positions of the source side, (count, D)."""
        known = self._source  # other threads may replace it at any moment
        if len(known) < count:
            known = self.packed.encoder.positions(self._enough(count, source=True))
            self._source = known
        return known

    def target_positions(self, count: int) -> Any:
        """Give at least so many positions of the target side, (count, D)."""
        known = self._target  # as above
        if len(known) < count:
            known = self.packed.decoder.positions(self._enough(count, source=False))
            self._target = known
        return known

    def _enough(self, count: int, *, source: bool) -> int:
        stack = self.packed.encoder if source else self.packed.decoder
        most = stack.layer.max_length
        return max(count, 2 * count if most is None else most)


class FusedSession:
    """See ``Session``; is changed by each step, and gives itself back.

    Args:
        model: packed.
        sources: ids of each sentence, end symbol included.
        room: what to compute in; of no other session that is still used.
        width: rows that a sentence will have; more cost a copy.
    """

    def __init__(
        self,
        model: FusedModel,
        sources: Sequence[Sequence[int]],
        room: Room | None = None,
        *,
        width: int = 1,
    ) -> None:
        self.model, self.room = model, room or Room()
        positions = model.source_positions(max(map(len, sources), default=0))
        self._sources = encode(model.packed, sources, positions, self.room)
        self._source = np.arange(len(sources))
        self._past = Past(model.packed, self.room, FIRST_STEPS, len(sources) * width)
        self._spare = np.zeros_like(self._past.slots)
        self._time, self._sentences = 0, len(sources)

    @property
    def sentences(self) -> int:
        """How many sentences S are being decoded."""
        return self._sentences

    @property
    def device(self) -> torch.device:
        """Where ids and indices are expected."""
        return torch.device("cpu")

    def step(self, ids: Tensor) -> tuple[Tensor, "FusedSession"]:
        """Feed ids (R,), get log-probabilities (R, V) in float32."""
        run, by = self._feed(ids.numpy()), self.model.packed.generator
        out = torch.empty(run.rows, by.outputs)
        for rows in run.parts(LOGITS // by.outputs):
            y, scales = run.product(by, rows), run.scales[rows]
            log_softmax(y, scales, by.columns, by.bias, out.numpy()[rows], len(scales))
        return out, self

    def best(self, ids: Any, count: int, never: Any) -> tuple[Any, Any]:
        """Feed ids (R,), get the best log-probabilities, float32, and pieces, (R, count) each.

        Args:
            ids: int64.
            count: how many; fewer if V is less.
            never: ids that are not chosen, int64.
        """
        run, by = self._feed(ids), self.model.packed.generator
        count = min(count, by.outputs)
        values = np.empty((run.rows, count), np.float32)
        pieces = np.empty((run.rows, count), np.int64)
        for rows in run.parts(LOGITS // by.outputs):
            y, scales = run.product(by, rows), run.scales[rows]
            to = values[rows], pieces[rows]
            best(y, scales, by.columns, by.bias, never, count, *to, len(scales))
        return values, pieces

    def select(self, rows: Tensor, sentences: Tensor | None) -> "FusedSession":
        """Keep rows and sentences."""
        if sentences is not None:
            self._sentences = sentences.numel()
        self.keep(rows.numpy())
        return self

    def keep(self, rows: Any) -> None:
        """Keep rows in this order, possibly repeated, int64."""
        self._past.room_for(self._time, rows.size)
        if self._spare.shape != self._past.slots.shape:
            self._spare = np.zeros_like(self._past.slots)
        reorder(self._past.slots, rows, self._time, self._spare)
        self._past.slots, self._spare = self._spare, self._past.slots
        self._source = self._source[rows]

    def _feed(self, ids: Any) -> Pass:
        self._past.room_for(self._time + 1, ids.size)
        positions = self.model.target_positions(self._time + 1)
        run = step(
            self.model.packed,
            self.room,
            self._sources,
            self._past,
            ids,
            self._source,
            self._time,
            positions,
        )
        self._time += 1
        return run
