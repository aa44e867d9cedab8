"""Exact resumption, and averaging of the last checkpoints (section 6.1).

A checkpoint is a folder ``step-00001000`` with the weights (``model.safetensors``), the optimizer's
moments and the random state (``optimizer.safetensors``) and the position in the run
(``state.json``). It is written aside and renamed, so a folder of that name is complete.
"""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor, nn

from dragoman.atomic import new_folder, remove_leftovers
from dragoman.bundle import load_weights, model_weights, read_tensors
from dragoman.errors import CheckpointError, ModelError

_NAME = re.compile(r"step-(\d{8,})")
_RANDOM = "random_state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands; with the tensors of a checkpoint, all that its future depends on."""

    step: int = 0  # updates made
    batches: Mapping[str, int] = field(default_factory=dict[str, int])  # position in the data
    target_tokens: int = 0  # real target pieces seen
    seconds: float = 0.0  # time spent, all sittings
    data: str = ""  # fingerprint of the training text and its tokenizers
    best: float | None = None  # best validation so far
    best_step: int = 0
    validations_since_best: int = 0


def save_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress
) -> Path:
    """Write a checkpoint below ``folder``; it stands whole or not at all.

    Raises:
        CheckpointError: the disk is full or the folder cannot be written.
    """
    path = folder / f"step-{progress.step:08d}"
    try:
        with new_folder(path) as aside:
            (aside / "model.safetensors").write_bytes(save(model_weights(model)))
            tensors = optimizer_tensors(model, optimizer)
            (aside / "optimizer.safetensors").write_bytes(save(tensors))
            text = json.dumps(asdict(progress), indent=2) + "\n"
            (aside / "state.json").write_text(text, encoding="utf-8")
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot be written: {error.strerror or error}; make room or choose another "
            "folder, then go on from the checkpoint before with the same command"
        ) from None
    return path


def load_checkpoint(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> Progress:
    """Put back everything as it was when ``path`` was saved, PyTorch's random state included.

    Raises:
        CheckpointError: the checkpoint is damaged or belongs to another model.
    """
    try:
        state = json.loads((path / "state.json").read_bytes())
        progress = replace(Progress(), **state)
        load_weights(model, read_tensors(path / "model.safetensors"), str(path))
        _load_optimizer(model, optimizer, read_tensors(path / "optimizer.safetensors"))
    except (OSError, ValueError, TypeError, KeyError, ModelError) as error:
        raise CheckpointError(
            f"{path}: is damaged: {error}; delete it to go on from an older one"
        ) from None
    return progress


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
            shutil.rmtree(path, ignore_errors=True)
    return remove_leftovers(folder) if folder.is_dir() else []


def average_checkpoints(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Average the weights of checkpoints or model folders (section 6.1).

    Raises:
        CheckpointError: they differ in names or shapes, or there are none.
        ModelError: a file is missing or damaged.
    """
    if not paths:
        raise CheckpointError("there are no checkpoints to average")
    weights = [read_tensors(path / "model.safetensors") for path in paths]
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


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Name the optimizer's moments after the weights; add PyTorch's random state."""
    tensors = {_RANDOM: torch.get_rng_state()}
    for name, weight in model.named_parameters():
        for moment, value in optimizer.state.get(weight, {}).items():
            tensors[f"{name}.{moment}"] = torch.as_tensor(value).detach().cpu().contiguous()
    return tensors


def _load_optimizer(
    model: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    torch.set_rng_state(tensors.pop(_RANDOM))
    for name, weight in model.named_parameters():
        moments = {
            key.rpartition(".")[2]: value
            for key, value in tensors.items()
            if key.rpartition(".")[0] == name
        }
        optimizer.state[weight] = {
            moment: value if moment == "step" else value.to(weight.device)
            for moment, value in moments.items()
        }
