"""Ids of many sequences, one after the other in flat arrays: in memory, or on disk.

Files are read where they are asked for and nowhere else. Mapping them into memory would be as fast,
but whatever is near is mapped with what is read, in stretches of megabytes, until a corpus that is
read in random order counts as memory of the process from end to end (measured: 40,000 rows of a
file of 400 MB took 413 MB so, and nothing this way). Processes share what the system keeps of a
file either way.
"""

import os
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import overload
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1_000_000  # numbers looked at together


class ArrayFile:
    """A file as an array that takes no memory.

    Args:
        path: the file; it must not change.
        dtype: of its numbers.

    Raises:
        OSError: it cannot be read.
        ValueError: its size is not that of whole numbers.
    """

    def __init__(self, path: Path, dtype: str) -> None:
        self._type = np.dtype(dtype)
        self._handle = os.open(path, os.O_RDONLY)
        finalize(self, os.close, self._handle)
        self.size, rest = divmod(os.fstat(self._handle).st_size, self._type.itemsize)
        if rest:
            raise ValueError(f"{path}: {rest} bytes too many for {self._type}")

    @overload
    def __getitem__(self, index: slice) -> NDArray[np.integer]: ...

    @overload
    def __getitem__(self, index: NDArray[np.integer]) -> NDArray[np.integer]: ...

    def __getitem__(self, index: slice | NDArray[np.integer]) -> NDArray[np.integer]:
        """Read a stretch, or some numbers; the latter one by one, unless they are many."""
        if isinstance(index, slice):
            start, stop, step = index.indices(self.size)
            return self._read(start, max(start, stop))[::step]
        found = np.empty(index.size, self._type)
        if index.size * 1_000 < self.size:
            for place, number in enumerate(index.tolist()):
                found[place] = self._read(number, number + 1)[0]
            return found
        for start in range(0, self.size, _BLOCK):
            inside = (index >= start) & (index < start + _BLOCK)
            found[inside] = self[start : start + _BLOCK][index[inside] - start]
        return found

    def _read(self, start: int, stop: int) -> NDArray[np.integer]:
        size = self._type.itemsize
        data, at = b"", start * size
        while len(data) < (stop - start) * size:  # of a large stretch less may come at once
            more = os.pread(self._handle, (stop - start) * size - len(data), at + len(data))
            if not more:
                raise OSError("a file of prepared ids was cut short while it was in use")
            data = data + more if data else more
        return np.frombuffer(data, self._type)


class IdStore:
    """Sequences of piece ids; read-only, so that many readers may share it.

    Args:
        ids: all ids, one sequence after the other, (I,).
        offsets: where each sequence starts, and at last where the last one ends, int64, (N + 1,).

    Raises:
        ValueError: the offsets do not rise from 0 to I.
    """

    def __init__(
        self, ids: NDArray[np.integer] | ArrayFile, offsets: NDArray[np.int64] | ArrayFile
    ) -> None:
        before = 0
        fits = offsets.size > 0
        for start in range(0, offsets.size, _BLOCK):
            block = offsets[start : start + _BLOCK]
            fits = fits and int(block[0]) >= before and not np.any(np.diff(block) < 0)
            fits = fits and (start > 0 or block[0] == 0)
            before = int(block[-1])
        if not fits or before != ids.size:
            raise ValueError(f"offsets: must rise from 0 to {ids.size}, the number of ids")
        if not isinstance(ids, ArrayFile):
            ids = ids.view()
            ids.flags.writeable = False
        self._ids, self._offsets = ids, offsets

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

    @classmethod
    def from_files(cls, ids: Path, offsets: Path, dtype: str) -> "IdStore":
        """Read two files, little-endian, as sequences are asked for.

        Args:
            ids: all ids.
            offsets: as for the class, int64.
            dtype: of the ids, such as ``<u2``.

        Raises:
            ValueError: the files do not fit each other.
            OSError: one cannot be read.
        """
        return cls(ArrayFile(ids, dtype), ArrayFile(offsets, "<i8"))

    def __len__(self) -> int:
        return self._offsets.size - 1

    def __getitem__(self, index: int) -> NDArray[np.integer]:
        if not 0 <= index < len(self):
            raise IndexError(f"sequence {index} of {len(self)}")
        start, stop = self._offsets[index : index + 2].tolist()
        return self._ids[start:stop]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Ids in each sequence, (N,)."""
        return self.lengths_between(0, len(self))

    @property
    def ids(self) -> NDArray[np.integer]:
        """All ids, one sequence after the other, (I,)."""
        return self._ids[:]

    def lengths_between(self, start: int, stop: int) -> NDArray[np.int64]:
        """Count the ids of sequences ``start`` to ``stop``, (stop - start,)."""
        return np.diff(self._offsets[start : stop + 1]).astype(np.int64)

    def lengths_at(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the ids of some sequences, (B,)."""
        return (self._offsets[indices + 1] - self._offsets[indices]).astype(np.int64)

    def rows(self) -> list[list[int]]:
        """All sequences as lists."""
        return [self[index].tolist() for index in range(len(self))]

    def take(self, indices: NDArray[np.int64], longest: int | None = None) -> "IdStore":
        """Choose sequences, in the order of ``indices``, each cut after ``longest`` ids."""
        return IdStore.from_sequences(self[int(index)][:longest].tolist() for index in indices)


class PairLengths:
    """Lengths of the pairs of two stores; see ``planning.Lengths``.

    Args:
        sources: N sequences.
        targets: as many.
        added: symbols that each side gains in a batch; where the sides differ, (2, 1).

    Raises:
        ValueError: the sides differ in number.
    """

    def __init__(
        self, sources: IdStore, targets: IdStore, *, added: int | NDArray[np.int64]
    ) -> None:
        if len(sources) != len(targets):
            raise ValueError(
                f"lengths: {len(sources)} sources and {len(targets)} targets make no batches"
            )
        self._sides, self._added = (sources, targets), added

    def __len__(self) -> int:
        return len(self._sides[0])

    def block(self, start: int, stop: int) -> NDArray[np.int64]:
        """Give the lengths of pairs ``start`` to ``stop``, (2, stop - start)."""
        return self._added + np.stack([side.lengths_between(start, stop) for side in self._sides])

    def at(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the lengths of some pairs, (2, B)."""
        return self._added + np.stack([side.lengths_at(pairs) for side in self._sides])
