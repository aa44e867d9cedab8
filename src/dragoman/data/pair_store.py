"""Pairs as ids on disk: written once, part by part, then read by as many runs as like.

A folder holds the ids of both sides one after the other (``source.ids``, ``target.ids``), where
each text begins (``.offsets``), the line each pair came from (``numbers``), and ``store.json``,
which is written last. Until then ``progress.json`` says how much of the rest is good: after a crash
what goes beyond it is cut off, and writing goes on from there. All numbers are little-endian.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter

from dragoman.atomic import write_text
from dragoman.data.store import ArrayFile, IdStore
from dragoman.tokenization import Packed

FORMAT = 1
_SIDES = ("source", "target")
_FILES = ("source.ids", "source.offsets", "target.ids", "target.offsets", "numbers")
Json = dict[str, Any]  # Any: what JSON holds
Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True, eq=False)
class PairStore:
    """Pairs as ids.

    Args:
        sources: bare source ids.
        targets: bare target ids.
        numbers: line, row or unit each pair came from, (N,).
        fingerprint: digest of all ids.
        counts: what was counted while they were prepared, as JSON holds it.
    """

    sources: IdStore
    targets: IdStore
    numbers: ArrayFile
    fingerprint: str
    counts: Json


def open_pair_store(folder: Path, key: str) -> PairStore | None:
    """Open a store that is whole; all ids are read once, to see that they are as they were written.

    Args:
        folder: of the store.
        key: what was prepared, and how.

    Returns:
        None when there is none, it is not whole or damaged, or another text was prepared there.
    """
    table = _read_table(folder / "store.json", key)
    try:
        source, target = (
            IdStore.from_files(folder / f"{side}.ids", folder / f"{side}.offsets", ids)
            for side, ids in zip(_SIDES, table["types"], strict=True)
        )
        numbers = ArrayFile(folder / "numbers", "<i8")
        if not len(source) == len(target) == numbers.size == table["pairs"]:
            return None
        if table["fingerprint"] != _fingerprint(folder):
            return None
        return PairStore(source, target, numbers, table["fingerprint"], table["counts"])
    except (OSError, ValueError, TypeError, LookupError):
        return None


class PairStoreWriter:
    """Writes a store; closed without ``finish``, it can be taken up by the next.

    Args:
        folder: made if it is not there.
        key: what is prepared, and how; another key begins anew.
        sizes: pieces of the source and of the target vocabulary.

    Raises:
        OSError: the folder cannot be written.
    """

    def __init__(self, folder: Path, key: str, sizes: tuple[int, int]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._key = folder, key
        self._types = ["<u2" if size <= 2**16 else "<i4" for size in sizes]
        good = _read_progress(folder, key)
        good_bytes = good.bytes(self._types)
        if not _are_as_written(folder, good, good_bytes):
            good, good_bytes = _Progress(), dict.fromkeys(_FILES, 0)
        for old in (folder / "store.json", *folder.glob("plan-*")):  # of another store
            old.unlink(missing_ok=True)
        self.taken = good.taken  # pairs of the stream that need not come again
        self.pairs = good.pairs  # of them, those that are in the store
        self.lengths = good.lengths  # counts of the rule for long pairs
        self._ids = [*good.ids]
        self._sums: dict[str, int] = dict(zip(_FILES, good.sums, strict=True))
        with ExitStack() as opened:  # closes those that were opened when one cannot be
            self._files = {
                name: opened.enter_context(_open_at(folder / name, size))
                for name, size in good_bytes.items()
            }
            opened.pop_all()
        if not good.taken:
            for side in _SIDES:
                self._write(f"{side}.offsets", np.zeros(1, "<i8").tobytes())

    def __enter__(self) -> "PairStoreWriter":
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            with suppress(OSError):  # what finds no room now was not kept, and is written again
                file.close()

    def append(self, source: Packed, target: Packed, numbers: NDArray[np.int64]) -> None:
        """Write some pairs.

        Raises:
            OSError: the disk is full.
        """
        for number, (side, packed) in enumerate(zip(_SIDES, (source, target), strict=True)):
            ids = packed.ids.astype(self._types[number])
            self._write(f"{side}.ids", ids.tobytes())
            ends = self._ids[number] + packed.lengths.astype(np.int64).cumsum()
            self._write(f"{side}.offsets", ends.astype("<i8").tobytes())
            self._ids[number] += ids.size
        self._write("numbers", numbers.astype("<i8").tobytes())
        self.pairs += numbers.size

    def keep(self, taken: int, lengths: Json) -> None:
        """Make sure that what is written so far survives.

        Args:
            taken: pairs of the stream that led to it.
            lengths: what the rule for long pairs has counted.

        Raises:
            OSError: the disk is full.
        """
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        ids = self._ids[0], self._ids[1]
        one, two, three, four, five = self._sums.values()
        good = _Progress(taken, self.pairs, ids, lengths, (one, two, three, four, five))
        table = {"format": FORMAT, "key": self._key, **asdict(good)}
        write_text(self._folder / "progress.json", json.dumps(table))

    def finish(self, counts: Json) -> None:
        """Declare the store whole; ``keep`` must have come last.

        Args:
            counts: what is worth knowing of the text.

        Raises:
            OSError: the disk is full.
        """
        table = {
            "format": FORMAT,
            "key": self._key,
            "pairs": self.pairs,
            "types": self._types,
            "fingerprint": _fingerprint(self._folder),
            "counts": counts,
        }
        write_text(self._folder / "store.json", json.dumps(table))
        (self._folder / "progress.json").unlink(missing_ok=True)

    def _write(self, name: str, data: bytes) -> None:
        self._files[name].write(data)
        self._sums[name] = crc32(data, self._sums[name])


@dataclass(frozen=True, slots=True)
class _Progress:
    """How much of a store that is being written is good; nothing, unless said."""

    taken: Count = 0
    pairs: Count = 0
    ids: tuple[Count, Count] = (0, 0)  # of each side
    lengths: dict[str, Count] = field(default_factory=dict[str, int])
    sums: tuple[Count, Count, Count, Count, Count] = (0, 0, 0, 0, 0)  # CRC-32 of what is good

    def bytes(self, types: Sequence[str]) -> dict[str, int]:
        """Say how much of each file that is; ``types`` are those of the ids."""
        if not self.taken:
            return dict.fromkeys(_FILES, 0)
        sizes = [8 * (self.pairs + 1), 8 * self.pairs]  # where each text begins, and numbers
        ids = [np.dtype(name).itemsize * count for name, count in zip(types, self.ids, strict=True)]
        return dict(zip(_FILES, (ids[0], sizes[0], ids[1], *sizes), strict=True))


_PROGRESS = TypeAdapter(_Progress)


def _read_progress(folder: Path, key: str) -> _Progress:
    """Read how far an earlier writing came; the very beginning if that is not known."""
    table = _read_table(folder / "progress.json", key)
    try:
        return _PROGRESS.validate_json(json.dumps(table), strict=True)
    except ValueError:
        return _Progress()


def _are_as_written(folder: Path, good: _Progress, sizes: dict[str, int]) -> bool:
    """Say whether what should be good of each file is there, bit for bit."""
    for (name, size), expected in zip(sizes.items(), good.sums, strict=True):
        found, left = 0, size
        with suppress(FileNotFoundError), (folder / name).open("rb") as file:
            while left and (block := file.read(min(left, 1 << 24))):
                found, left = crc32(block, found), left - len(block)
        if left or found != expected:
            return False
    return True


def _fingerprint(folder: Path) -> str:
    """Digest the ids of both sides, and where each text begins."""
    digest = hashlib.sha256()
    for side in _SIDES:
        for name in (f"{side}.offsets", f"{side}.ids"):
            with (folder / name).open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _open_at(path: Path, size: int) -> BinaryIO:
    """Open a file for writing behind its first bytes; what comes after them is gone."""
    file = path.open("r+b" if path.exists() else "w+b")
    file.truncate(size)
    file.seek(size)
    return file


def _read_table(path: Path, key: str) -> Json:
    """Read a JSON object of this format and key; an empty one when there is none."""
    try:
        table = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(table, dict):
        return {}
    found = cast("Json", table)
    return found if found.get("format") == FORMAT and found.get("key") == key else {}
