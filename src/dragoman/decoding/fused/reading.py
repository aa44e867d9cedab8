"""One text read by a packed model several pieces at a time; see ``dragoman.decoding.reading``.

Shapes: N pieces read, V vocabulary.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from dragoman.decoding.fused.choosing import log_softmax
from dragoman.decoding.fused.following import follow
from dragoman.decoding.fused.room import Room
from dragoman.decoding.fused.running import Past, encode
from dragoman.decoding.fused.session import FIRST_STEPS, FusedModel
from dragoman.nn import EncoderDecoder

# As in ``dragoman.decoding.reading``; whole numbers are added up without error.
_ROUNDING = {"float32": 1e-4, "bfloat16": 0.0, "int8": 0.0}


class FusedReader:
    """See ``Reader``; of one text at a time, as all of them are computed in the same room.

    Args:
        model: the one that was packed.
        packed: its packed form.
    """

    def __init__(self, model: EncoderDecoder, packed: FusedModel) -> None:
        self.model, self.packed, self._room = model, packed, Room()

    @torch.inference_mode()
    def begin(self, source: Sequence[int], opening: Sequence[int]) -> "FusedReading":
        """Encode the source and read all but the last piece of the opening."""
        reading = FusedReading(self.packed, source, self._room)
        return reading.read(opening[:-1])[1] if len(opening) > 1 else reading


class FusedReading:
    """See ``Reading``; is changed by each call, and gives itself back.

    Args:
        model: packed.
        source: ids, end symbol included.
        room: what to compute in; of nothing else that is still used.
    """

    def __init__(self, model: FusedModel, source: Sequence[int], room: Room) -> None:
        self.model, self.room = model, room
        positions = model.source_positions(len(source))
        self._source = encode(model.packed, [source], positions, room)
        self._past = Past(model.packed, room, FIRST_STEPS, 1)
        self._time = 0

    @property
    def rounding(self) -> float:
        """None is known in bfloat16."""
        return _ROUNDING[self.model.packed.kind]

    @property
    def device(self) -> torch.device:
        """Packed models are on the CPU."""
        return torch.device("cpu")

    @property
    def most(self) -> int | None:
        """The positions learned."""
        return self.model.packed.decoder.layer.max_length

    def read(self, ids: Sequence[int]) -> "tuple[Tensor, FusedReading]":
        """Run the decoder once over all of them."""
        new, time = np.array(ids, np.int64), self._time
        self._past.room_for(time + new.size, 1)
        positions = self.model.target_positions(time + new.size)
        model, by = self.model.packed, self.model.packed.generator
        run = follow(model, self.room, self._source, self._past, new, time, positions)
        self._time = time + new.size
        out = torch.empty(run.rows, by.outputs)
        log_softmax(run.product(by), run.scales, by.columns, by.bias, out.numpy(), run.rows)
        return out, self

    def cut(self, length: int) -> "FusedReading":
        """Write later positions anew."""
        self._time = length
        return self
