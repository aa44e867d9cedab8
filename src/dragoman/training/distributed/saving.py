r"""Tensors saved in as many files as there are processes, and read by any other number of them.

Each process writes the rows that it keeps (``model-00001-of-00002.safetensors``); nothing is
gathered. The files are ordinary safetensors; their metadata say where rows belong::

    {"shards": "{\"encoder.weight\": [0, [512, 512]], ...}"}    first row here, whole shape

A file without such metadata holds whole tensors, so both kinds are read in the same way.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import (
    save_file,  # pyright: ignore[reportUnknownVariableType]  # its PathLike has no parameter
)
from torch import Tensor, nn

from dragoman.bundle import read_tensors
from dragoman.errors import CheckpointError
from dragoman.training.distributed.group import Group
from dragoman.training.distributed.sharding import local_rows

_KEY = "shards"


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a tensor in one file."""

    file: Path
    first: int  # row of the whole tensor
    rows: int
    shape: tuple[int, ...]  # of the whole tensor


def shard_name(stem: str, rank: int, size: int) -> str:
    """Name the file of one process."""
    return f"{stem}-{rank + 1:05d}-of-{size:05d}.safetensors"


def write_shard(folder: Path, stem: str, tensors: Mapping[str, Tensor], group: Group) -> Path:
    """Write the rows that this process keeps; the leader also writes what is not split.

    Args:
        folder: the same for all processes.
        stem: ``model`` or ``optimizer``.
        tensors: by name, the same names in every process.
        group: the processes.

    Raises:
        OSError: the folder cannot be written, or the disk is full.
    """
    kept: dict[str, Tensor] = {}
    places: dict[str, tuple[int, list[int]]] = {}
    for name, tensor in tensors.items():
        rows, first = local_rows(tensor, group)
        if rows.shape == tensor.shape and not group.leader:
            continue  # not split, or all of it is kept elsewhere
        if rows.numel() == 0 and tensor.numel():
            continue  # fewer rows than processes
        kept[name] = rows.cpu().contiguous()
        places[name] = (first, list(tensor.shape))
    path = folder / shard_name(stem, group.rank, group.size)
    save_file(kept, path, metadata={_KEY: json.dumps(places)})
    return path


def shard_files(folder: Path, stem: str) -> list[Path]:
    """Find the file, or the files of all processes, in which ``stem`` was saved.

    Raises:
        CheckpointError: there is none, or one is missing.
    """
    whole = folder / f"{stem}.safetensors"
    if whole.is_file():
        return [whole]
    found = sorted(folder.glob(f"{stem}-?????-of-?????.safetensors"))
    if not found:
        raise CheckpointError(f"{whole}: no such file")
    size = int(found[0].stem.rpartition("-")[2])
    files = [folder / shard_name(stem, rank, size) for rank in range(size)]
    for file in files:
        if not file.is_file():
            raise CheckpointError(f"{file}: no such file; it is one of {size} of this checkpoint")
    return files


def read_whole(folder: Path, stem: str) -> dict[str, Tensor]:
    """Read all of ``stem``, saved by any number of processes; on the CPU.

    Raises:
        CheckpointError: a file of several processes is missing or damaged.
        ModelError: the one file is missing or damaged.
    """
    if not any(folder.glob(f"{stem}-?????-of-?????.safetensors")):
        return read_tensors(folder / f"{stem}.safetensors")
    with ShardReader(shard_files(folder, stem)) as reader:
        return {name: reader.read(name) for name in reader.names}


class ShardReader:
    """Rows out of the files of a checkpoint; only what is asked for is read.

    Args:
        files: of all processes that saved, or the one file.

    Raises:
        CheckpointError: a file is missing or damaged, or rows are missing.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._open: dict[Path, Any] = {}  # Any: safetensors gives its files no type
        self._stack = ExitStack()
        self.pieces: dict[str, list[Piece]] = {}
        with ExitStack() as stack:
            for file in files:
                try:
                    self._add(stack, file)
                except (SafetensorError, OSError, ValueError, TypeError, KeyError) as error:
                    raise CheckpointError(f"{file}: cannot be read: {error}") from None
            self._check()
            self._stack = stack.pop_all()

    @property
    def names(self) -> list[str]:
        """Names of all tensors."""
        return sorted(self.pieces)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of the whole tensor."""
        return self.pieces[name][0].shape

    def read(self, name: str, first: int = 0, end: int | None = None) -> Tensor:
        """Read rows ``first`` to ``end`` (not included) of a tensor, all unless given; on the CPU.

        Raises:
            CheckpointError: a file is damaged.
            KeyError: there is no such tensor.
        """
        pieces = self.pieces[name]
        shape = pieces[0].shape
        if not shape:
            return self._open[pieces[0].file].get_tensor(name)
        end = shape[0] if end is None else min(end, shape[0])
        parts: list[Tensor] = []
        for piece in pieces:
            start, stop = max(first, piece.first), min(end, piece.first + piece.rows)
            if start < stop:
                rows = slice(start - piece.first, stop - piece.first)
                parts.append(self._open[piece.file].get_slice(name)[rows])
        if not parts:
            return self._open[pieces[0].file].get_slice(name)[0:0]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def close(self) -> None:
        """Close the files."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _add(self, stack: ExitStack, file: Path) -> None:
        opened = cast("Any", stack.enter_context(safe_open(str(file), framework="pt")))
        self._open[file] = opened
        metadata = cast("dict[str, str]", opened.metadata() or {})
        places = json.loads(metadata.get(_KEY, "{}"))
        for name in opened.keys():  # noqa: SIM118  # not a mapping
            shape = tuple(opened.get_slice(name).get_shape())
            first, whole = places.get(name, (0, shape))
            rows = shape[0] if shape else 1
            self.pieces.setdefault(name, []).append(Piece(file, int(first), rows, tuple(whole)))

    def _check(self) -> None:
        for name, pieces in self.pieces.items():
            pieces.sort(key=lambda piece: piece.first)
            reached = 0
            for piece in pieces:
                if piece.first != reached or piece.shape != pieces[0].shape:
                    raise CheckpointError(f"{piece.file}: {name}: does not fit the other files")
                reached += piece.rows
            if reached != (pieces[0].shape or (1,))[0]:
                raise CheckpointError(f"{pieces[-1].file}: {name}: rows from {reached} are missing")


@torch.no_grad()
def load_shards(tensors: Mapping[str, Tensor], reader: ShardReader, group: Group) -> None:
    """Fill tensors, split or whole, from a checkpoint of any number of processes.

    Raises:
        CheckpointError: a tensor is missing or has another shape.
    """
    for name, tensor in tensors.items():
        if name not in reader.pieces:
            raise CheckpointError(f"{name} is missing in the checkpoint")
        if reader.shape(name) != tuple(tensor.shape):
            raise CheckpointError(
                f"{name} is {reader.shape(name)} in the checkpoint, the model needs "
                f"{tuple(tensor.shape)}"
            )
        rows, first = local_rows(tensor, group)
        count = rows.size(0) if rows.dim() else 1
        if rows.numel():
            rows.copy_(reader.read(name, first, first + count))


def moments(module: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Name what the optimizer remembers after the weights; not copied, and split as they are."""
    return {
        f"{name}.{moment}": torch.as_tensor(value)
        for name, weight in module.named_parameters()
        for moment, value in optimizer.state.get(weight, {}).items()
    }


def load_moments(
    module: nn.Module, optimizer: torch.optim.Optimizer, reader: ShardReader, group: Group
) -> None:
    """Make the optimizer remember what a checkpoint of any number of processes holds.

    Raises:
        CheckpointError: a moment does not fit its weight.
    """
    stored: dict[str, list[str]] = {}
    for key in reader.names:
        name, _, moment = key.rpartition(".")
        stored.setdefault(name, []).append(moment)
    on_device = bool(optimizer.defaults.get("fused") or optimizer.defaults.get("capturable"))
    for name, weight in module.named_parameters():
        state: dict[str, Tensor] = {}
        for moment in stored.get(name, []):
            shape, like = reader.shape(f"{name}.{moment}"), reader.read(f"{name}.{moment}", 0, 0)
            if shape == tuple(weight.shape):
                state[moment] = torch.zeros_like(weight, dtype=like.dtype)
            else:
                device = weight.device if shape or on_device else "cpu"
                state[moment] = torch.zeros(shape, dtype=like.dtype, device=device)
        if state:
            load_shards({f"{name}.{moment}": t for moment, t in state.items()}, reader, group)
            optimizer.state[weight] = state
