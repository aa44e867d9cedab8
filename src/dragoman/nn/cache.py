"""Keys and values of past positions, as a value passed in and returned.

A decoder that adds one piece at a time computes the keys and values of each position once and
keeps them, instead of running the whole prefix again. Nothing here changes in place: ``append`` and
``select`` give new values, so a search may keep an old one.

Shapes: B rows, G key heads, K positions, E width of a key, F width of a value.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class KeyValues:
    """What one attention module knows of some positions.

    Args:
        keys: (B, G, K, E).
        values: (B, G, K, F).
    """

    keys: Tensor
    values: Tensor

    @property
    def length(self) -> int:
        """How many positions K are known."""
        return self.keys.size(2)

    def append(self, new: "KeyValues") -> "KeyValues":
        """Add the positions of ``new`` after these."""
        return KeyValues(
            torch.cat((self.keys, new.keys), dim=2), torch.cat((self.values, new.values), dim=2)
        )

    def select(self, rows: Tensor) -> "KeyValues":
        """Keep ``rows`` (int64, in this order, possibly repeated)."""
        return KeyValues(self.keys.index_select(0, rows), self.values.index_select(0, rows))


@dataclass(frozen=True, slots=True)
class DecoderCache:
    """All that a decoder keeps between two steps.

    The rows of ``own`` are hypotheses, those of ``memory`` are sources: B = sources x width, the
    hypotheses of one source side by side. Keys of a source are never copied for its hypotheses.

    Args:
        own: past target positions, one entry per layer (None before the first step).
        memory: projected source, one entry per layer.
        memory_visible: boolean, (sources, 1, 1, S): which source positions are real.
    """

    own: tuple[KeyValues | None, ...]
    memory: tuple[KeyValues, ...]
    memory_visible: Tensor

    @property
    def length(self) -> int:
        """How many target positions are known."""
        first = self.own[0] if self.own else None
        return 0 if first is None else first.length

    def select(self, rows: Tensor | None, sources: Tensor | None) -> "DecoderCache":
        """Keep hypotheses ``rows`` and ``sources`` (int64); None keeps all as they are."""
        own, memory, visible = self.own, self.memory, self.memory_visible
        if rows is not None:
            own = tuple(None if past is None else past.select(rows) for past in own)
        if sources is not None:
            memory = tuple(known.select(sources) for known in memory)
            visible = visible.index_select(0, sources)
        return DecoderCache(own, memory, visible)
