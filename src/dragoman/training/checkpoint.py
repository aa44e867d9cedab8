"""Exact resumption, and averaging of the last checkpoints (section 6.1).

A checkpoint is a folder ``step-00001000`` with the weights (``model.safetensors``), what the
optimizer remembers (``optimizer.safetensors``) and the position in the run (``state.json``, with
the digests of all three). Processes that split the weights write a file each in place of one
(``model-00001-of-00002.safetensors``); any number of processes can read either. It is written
aside and renamed, so a folder of that name is complete. Dropout needs no place here: its numbers
follow from the seed and the update.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import save
from torch import Tensor

from dragoman.atomic import new_folder, remove_folder, remove_leftovers
from dragoman.errors import CheckpointError, ModelError
from dragoman.training.distributed import Alone, Group, lead, read_whole, write_shard
from dragoman.training.sharded_weights import AnyWeights, ShardedWeights
from dragoman.training.weights import Weights

_NAME = re.compile(r"step-(\d{8,})")
_DAMAGES = (OSError, ValueError, TypeError, KeyError, AttributeError, ModelError, CheckpointError)
_WEIGHTS, _MOMENTS, _STATE = "model.safetensors", "optimizer.safetensors", "state.json"
_DIGESTS = "sha256"  # in the state: of each file by its name


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands; with the tensors of a checkpoint, all that its future depends on."""

    step: int = 0  # updates made, skipped ones included
    batches: Mapping[str, int] = field(default_factory=dict[str, int])  # position in the data
    order: str = ""  # digest of which examples were learned from until here, in their order
    target_tokens: int = 0  # real target pieces seen
    seconds: float = 0.0  # time spent, all sittings
    data: str = ""  # fingerprint of the training text and its tokenizers
    best: float | None = None  # best validation so far
    best_step: int = 0
    validations_since_best: int = 0
    skipped: int = 0  # updates whose loss or gradient was no number, but for overflows of fp16
    skipped_in_a_row: int = 0
    loss_scale: float | None = None  # of fp16
    good_updates: int = 0  # since the loss scale changed


def save_checkpoint(
    folder: Path, weights: AnyWeights, progress: Progress, group: Group | None = None
) -> Path:
    """Write a checkpoint below ``folder``; it stands whole or not at all.

    Args:
        folder: gets it.
        weights: of the run.
        progress: of the run.
        group: the processes of the run, all of which must call this; one unless given.

    Raises:
        CheckpointError: the disk is full or the folder cannot be written.
    """
    path = folder / f"step-{progress.step:08d}"
    group = Alone() if group is None else group
    try:
        if isinstance(weights, ShardedWeights):
            _save_split(path, weights, progress, group)
        else:
            lead(group, lambda: _save_whole(path, weights, progress))
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot be written: {error.strerror or error}; make room or choose another "
            "folder, then go on from the checkpoint before with the same command"
        ) from None
    return path


def load_checkpoint(path: Path, weights: AnyWeights, *, verify: bool = True) -> Progress:
    """Put back everything as it was when ``path`` was saved.

    Args:
        path: the checkpoint.
        weights: get what was saved.
        verify: whether to compare the files with their digests first.

    Raises:
        CheckpointError: the checkpoint is damaged or belongs to another model; nothing has
            changed then, unless the weights are split.
    """
    try:
        state = cast("dict[str, Any]", json.loads((path / _STATE).read_bytes()))  # Any: JSON
        if verify:
            _verify(path, state)
        progress = replace(Progress(), **{k: v for k, v in state.items() if k != _DIGESTS})
        weights.read(path)
    except _DAMAGES as error:
        raise CheckpointError(
            f"{path}: is damaged: {error}; delete it to go on from an older one"
        ) from None
    return progress


def verify_checkpoint(path: Path) -> None:
    """See that the files of a checkpoint are what was saved.

    Raises:
        CheckpointError: one is not.
    """
    try:
        _verify(path, json.loads((path / _STATE).read_bytes()))
    except _DAMAGES as error:
        raise CheckpointError(f"{path}: is damaged: {error}") from None


def _verify(path: Path, state: Mapping[str, Any]) -> None:
    digests = dict(state[_DIGESTS])
    own = digests.pop(_STATE)
    if _digest_state({**state, _DIGESTS: digests}) != own:
        raise ModelError(f"{_STATE} is not what was saved")
    for name, digest in digests.items():
        if _digest_file(path / name) != digest:
            raise ModelError(f"{name} is not what was saved")


def _save_whole(path: Path, weights: Weights, progress: Progress) -> None:
    files = {_WEIGHTS: save(weights.tensors()), _MOMENTS: save(weights.moments())}
    digests = {name: _digest(data) for name, data in files.items()}
    with new_folder(path) as aside:
        for name, data in files.items():
            (aside / name).write_bytes(data)
        (aside / _STATE).write_text(_state(progress, digests), encoding="utf-8")


def _save_split(path: Path, weights: ShardedWeights, progress: Progress, group: Group) -> None:
    """Let each process write what it keeps into the folder that the leader makes and closes."""
    with ExitStack() as stack:
        aside = Path(lead(group, lambda: str(stack.enter_context(new_folder(path)))))
        written = [
            write_shard(aside, "model", weights.tensors(), group),
            write_shard(aside, "optimizer", weights.moments(), group),
        ]
        told = group.collect(json.dumps({file.name: _digest_file(file) for file in written}))
        digests = {name: digest for one in told for name, digest in json.loads(one).items()}

        def close() -> None:
            (aside / _STATE).write_text(_state(progress, digests), encoding="utf-8")
            stack.close()

        lead(group, close)


def _state(progress: Progress, digests: Mapping[str, str]) -> str:
    state = asdict(progress) | {_DIGESTS: dict(digests)}
    state[_DIGESTS][_STATE] = _digest_state(state)
    return json.dumps(state, indent=2) + "\n"


def _digest_state(state: Mapping[str, Any]) -> str:
    """Digest all of a state but this digest itself, however it is laid out."""
    return _digest(json.dumps(state, sort_keys=True).encode())


def _digest_file(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def checkpoints(folder: Path) -> list[Path]:
    """List the complete checkpoints below ``folder``, oldest first."""
    if not folder.is_dir():
        return []
    found = [path for path in folder.iterdir() if path.is_dir() and _NAME.fullmatch(path.name)]
    return sorted(found, key=checkpoint_step)


def checkpoint_step(path: Path) -> int:
    """Read the step off a checkpoint's name."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise ValueError(f"{path.name}: is not the name of a checkpoint")
    return int(match[1])


def regular_checkpoints(folder: Path, *, every: int) -> list[Path]:
    """List those that every run of the recipe makes, oldest first: each ``every`` and the newest.

    Where a sitting stopped there may be one more; it must not change what the run ends with.
    """
    found = checkpoints(folder)
    return [path for path in found[:-1] if checkpoint_step(path) % every == 0] + found[-1:]


def clean(folder: Path, *, keep: int, every: int = 1) -> list[str]:
    """Remove all but the newest ``keep`` regular checkpoints, and what a kill left unfinished.

    Returns:
        The names of unfinished ones.
    """
    kept = regular_checkpoints(folder, every=every)[-keep:]
    for path in checkpoints(folder):
        if path not in kept:
            remove_folder(path)
    return remove_leftovers(folder) if folder.is_dir() else []


def average_checkpoints(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Average the weights of checkpoints or model folders (section 6.1).

    Raises:
        CheckpointError: they differ in names or shapes, or there are none.
        ModelError: a file is missing or damaged.
    """
    if not paths:
        raise CheckpointError("there are no checkpoints to average")
    weights = [read_whole(path, "model") for path in paths]
    for path, other in zip(paths, weights, strict=True):
        differing = sorted(
            name
            for name in weights[0].keys() | other.keys()
            if name not in other
            or name not in weights[0]
            or other[name].shape != weights[0][name].shape
        )
        if differing:
            raise CheckpointError(
                f"{path}: does not fit {paths[0]}: {', '.join(differing[:3])} differ; average "
                "checkpoints of one run"
            )
    return average_tensors(weights)


def average_tensors(weights: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Average tensors of the same names and shapes, the newest last.

    Sums run in float32 at least. Averaging equal tensors gives the same bits; integer tensors
    (counters) are those of the newest.
    """
    averaged: dict[str, Tensor] = {}
    for name, newest in weights[-1].items():
        if not newest.is_floating_point():
            averaged[name] = newest.clone()
            continue
        wide = newest.dtype if newest.dtype == torch.float64 else torch.float32
        base = weights[0][name].to(wide)
        # The mean of differences to the first: exactly zero when all are equal.
        difference = torch.zeros_like(base)
        for other in weights[1:]:
            difference += other[name].to(wide) - base
        averaged[name] = (base + difference / len(weights)).to(newest.dtype)
    return averaged
