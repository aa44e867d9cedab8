"""Keys and values of past positions, as a value passed in and returned.

A decoder that adds one piece at a time computes the keys and values of each position once and
keeps them, instead of running the whole prefix again. Nothing here changes in place: ``append`` and
``select`` give new values, so a search may keep an old one.

Shapes: B rows, G key heads, K positions, E width of a key, F width of a value.
"""

from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor


class Known(Protocol):
    """What an attention module knows of some positions: keys and values, or sums over them."""

    @property
    def length(self) -> int:
        """How many positions there have been."""
        ...

    def select(self, rows: Tensor) -> Self:
        """Keep ``rows`` (int64, in this order, possibly repeated)."""
        ...


@dataclass(frozen=True, slots=True)
class KeyValues:
    """What one attention module knows of some positions.

    Args:
        keys: (B, G, K, E).
        values: (B, G, K, F).
        forgotten: positions before these that nothing can see any more.
    """

    keys: Tensor
    values: Tensor
    forgotten: int = 0

    @property
    def length(self) -> int:
        """How many positions there have been."""
        return self.forgotten + self.keys.size(2)

    def append(self, new: "KeyValues") -> "KeyValues":
        """Add the positions of ``new`` after these."""
        return KeyValues(
            torch.cat((self.keys, new.keys), dim=2),
            torch.cat((self.values, new.values), dim=2),
            self.forgotten,
        )

    def last(self, count: int) -> "KeyValues":
        """Keep the newest ``count`` positions."""
        surplus = self.keys.size(2) - count
        if surplus <= 0:
            return self
        # Copies, so that what is forgotten is also freed.
        keys, values = self.keys[:, :, surplus:].clone(), self.values[:, :, surplus:].clone()
        return KeyValues(keys, values, self.forgotten + surplus)

    def cut(self, length: int) -> "KeyValues":
        """Go back to when there had been ``length`` positions; shares memory with this.

        Raises:
            ValueError: there have not been so many, or some that could be seen then are forgotten.
        """
        if not 0 <= length <= self.length:
            raise ValueError(f"length: {length} is not between 0 and {self.length}")
        if length == self.length:
            return self
        if self.forgotten:
            raise ValueError(f"{self.forgotten} positions are forgotten, so there is no way back")
        return KeyValues(self.keys[:, :, :length], self.values[:, :, :length])

    def select(self, rows: Tensor) -> "KeyValues":
        """Keep ``rows`` (int64, in this order, possibly repeated)."""
        keys, values = self.keys.index_select(0, rows), self.values.index_select(0, rows)
        return KeyValues(keys, values, self.forgotten)


@dataclass(frozen=True, slots=True)
class DecoderCache:
    """All that a decoder keeps between two steps.

    The rows of ``own`` are hypotheses, those of ``memory`` are sources: B = sources x width, the
    hypotheses of one source side by side. Keys of a source are never copied for its hypotheses.

    Args:
        own: past target positions, one entry per layer (None before the first step).
        memory: projected source, one entry per layer; none where there is no source to read.
        memory_visible: boolean, (sources, 1, 1, S): which source positions are real; S is 0 where
            there is no source to read.
        length: how many target positions have been fed.
    """

    own: tuple[Known | None, ...]
    memory: tuple[Known, ...]
    memory_visible: Tensor
    length: int = 0

    def cut(self, length: int) -> "DecoderCache":
        """Go back to when ``length`` target positions had been fed; shares memory with this.

        Raises:
            ValueError: as ``KeyValues.cut``.
            TypeError: a layer keeps sums over positions, which cannot be taken apart.
        """
        own: list[Known | None] = []
        for past in self.own:
            if past is not None and not isinstance(past, KeyValues):
                raise TypeError(f"{type(past).__name__} cannot be cut back")
            own.append(None if past is None or length == 0 else past.cut(length))
        return DecoderCache(tuple(own), self.memory, self.memory_visible, length)

    def select(self, rows: Tensor | None, sources: Tensor | None) -> "DecoderCache":
        """Keep hypotheses ``rows`` and ``sources`` (int64); None keeps all as they are."""
        own, memory, visible = self.own, self.memory, self.memory_visible
        if rows is not None:
            own = tuple(None if past is None else past.select(rows) for past in own)
        if sources is not None:
            memory = tuple(known.select(sources) for known in memory)
            visible = visible.index_select(0, sources)
        return DecoderCache(own, memory, visible, self.length)
