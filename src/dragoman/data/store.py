"""Ids of many sequences, one after the other in flat arrays: 4 bytes an id, 8 a sequence."""

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


class IdStore:
    """Sequences of piece ids; read-only, so that many readers may share it.

    Args:
        ids: all ids, one sequence after the other, int32, (I,).
        offsets: where each sequence starts, and at last where the last one ends, int64, (N + 1,).

    Raises:
        ValueError: the offsets do not rise from 0 to I.
    """

    def __init__(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        bounds_fit = offsets.size > 0 and offsets[0] == 0 and offsets[-1] == ids.size
        if not bounds_fit or np.any(np.diff(offsets) < 0):
            raise ValueError(f"offsets: must rise from 0 to {ids.size}, the number of ids")
        self._ids, self._offsets = ids.view(), offsets.view()
        self._ids.flags.writeable = self._offsets.flags.writeable = False

    @classmethod
    def from_sequences(cls, sequences: Iterable[Sequence[int]]) -> "IdStore":
        """Gather sequences, which may be a stream; empty ones are kept.

        Raises:
            ValueError: an id is negative or has more than 31 bits.
        """
        ids, offsets = array("i"), array("q", [0])
        try:
            for sequence in sequences:
                ids.extend(sequence)
                offsets.append(len(ids))
        except OverflowError:
            raise ValueError("sequences: an id has more than 31 bits") from None
        flat = np.array(ids, dtype=np.int32)
        if flat.size and flat.min() < 0:
            raise ValueError(f"sequences: {flat.min()} is negative, and ids count from 0")
        return cls(flat, np.array(offsets, dtype=np.int64))

    def __len__(self) -> int:
        return self._offsets.size - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        if not 0 <= index < len(self):
            raise IndexError(f"sequence {index} of {len(self)}")
        return self._ids[self._offsets[index] : self._offsets[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Ids in each sequence, (N,)."""
        return np.diff(self._offsets)

    @property
    def ids(self) -> NDArray[np.int32]:
        """All ids, one sequence after the other, (I,)."""
        return self._ids

    def rows(self) -> list[list[int]]:
        """All sequences as lists."""
        return [self[index].tolist() for index in range(len(self))]

    def take(self, indices: NDArray[np.int64], longest: int | None = None) -> "IdStore":
        """Choose sequences, in the order of ``indices``, each cut after ``longest`` ids."""
        return IdStore.from_sequences(self[int(index)][:longest].tolist() for index in indices)
