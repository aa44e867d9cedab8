"""Proof on a recipe of one's own that stopping and going on is the same as never stopping.

One run is trained straight; another is stopped, and goes on in a process that knows nothing but
what is on disk. Then all that both left behind is compared by its bits.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.atomic import write_text
from dragoman.errors import CheckpointError, ConfigError, TrainingError
from dragoman.recipe import Recipe, read_recipe, recipe_toml
from dragoman.run.folder import RunFolder
from dragoman.run.resume_check import ResumeCheck, compare_runs, first_difference, run_events
from dragoman.training import Started, Validated, checkpoints


@dataclass(frozen=True, slots=True)
class Sitting:
    """What one process trains, until the recipe's ``stop_after``.

    Args:
        recipe: file.
        folder: of the run.
        device: ``auto``, ``cpu``, ``cuda``, ...
        number: of the sitting, from 0; each has an order of hashes of its own.
    """

    recipe: Path
    folder: Path
    device: str
    number: int


def run_sitting(sitting: Sitting) -> None:
    """Train in a process of its own.

    Raises:
        TrainingError: it failed; with what it said.
    """
    command = [sys.executable, "-m", "dragoman", "train", str(sitting.recipe)]
    command += ["--run", str(sitting.folder), "--device", sitting.device]
    done = subprocess.run(
        command,
        env=os.environ | {"PYTHONHASHSEED": str(sitting.number)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = "\n".join(f"  {line}" for line in done.stderr.splitlines()[-10:])
        raise TrainingError(
            f"dragoman train ended with status {done.returncode}; mend what it said:\n{said}"
        )


def verify_resume(
    recipe: Recipe | str | Path,
    run: str | Path | None = None,
    *,
    updates: int = 12,
    stop_at: int = 5,
    device: str = "auto",
    sit: Callable[[Sitting], None] = run_sitting,
) -> ResumeCheck:
    """Train a recipe straight, and again with a stop; compare all that both runs leave behind.

    The recipe keeps its data, model, schedule and length, of which ``updates`` are made.
    Validations come before the stop and after, searching only for a few pieces; the test set is
    left alone. A stop that would fall on the end of an epoch is moved by an update.

    Args:
        recipe: all choices, or the path of a TOML file that holds them.
        run: new folder that keeps both runs; a temporary one unless given.
        updates: of each run, 2 or more; fewer when the recipe has fewer.
        stop_at: update after which the second run stops.
        device: where to train.
        sit: trains for one sitting.

    Raises:
        ConfigError: there is nothing to stop, or the recipe is wrong.
        CheckpointError: ``run`` holds something.
        TrainingError: a run failed.
    """
    if not 1 <= stop_at < updates:
        problem = f"{stop_at} of {updates} updates leaves nothing to go on with"
        raise ConfigError("stop_at", problem, f"choose from 1 to {max(1, updates - 1)}")
    recipe = recipe if isinstance(recipe, Recipe) else read_recipe(recipe)
    recipe = _shortened(recipe, validate_every=max(1, stop_at - 2))
    with _home(run) as home:
        straight, stopped = home / "straight", home / "stopped"
        whole = _recipe_file(home / "whole.toml", recipe, until=updates)
        sit(Sitting(whole, straight, device, 0))
        begun = run_events(straight, Started)[0]
        updates, epoch = min(updates, begun["steps"]), begun["batches_per_epoch"]
        if updates < 2:
            raise ConfigError("training", "a run of one update cannot be stopped", "make it longer")
        stop_at = _within_an_epoch(min(stop_at, updates - 1), updates, recipe, epoch)
        _measured_alike(straight, stopped)
        part = _recipe_file(home / "part.toml", recipe, until=stop_at)
        sit(Sitting(part, stopped, device, 1))
        place = _place(stopped, epoch)
        sit(Sitting(whole, stopped, device, 2))
        return ResumeCheck(
            updates=updates,
            stop_at=stop_at,
            place=place,
            comparisons=tuple(compare_runs(straight, stopped)),
            first_update=first_difference(straight, stopped),
        )


@contextmanager
def _home(run: str | Path | None) -> Generator[Path]:
    """Make the folder of both runs."""
    if run is None:
        with tempfile.TemporaryDirectory(prefix="dragoman-verify-resume-") as folder:
            yield Path(folder)
        return
    home = Path(run)
    if home.exists() and not (home.is_dir() and not any(home.iterdir())):
        raise CheckpointError(f"{home}: is not empty; choose a new folder for --run")
    home.mkdir(parents=True, exist_ok=True)
    yield home


def _shortened(recipe: Recipe, *, validate_every: int) -> Recipe:
    """Keep what the updates depend on; report each of them, and do little else."""
    return replace(
        recipe,
        data=replace(recipe.data, test=None),
        training=replace(
            recipe.training,
            checkpoint_every=1_000_000_000,  # where a sitting ends there is one anyway
            log_every=1,
            tensorboard=False,
            max_minutes=None,
        ),
        validation=replace(recipe.validation, every=validate_every, patience=None),
        decoding=replace(recipe.decoding, beam=1, n_best=1, max_length=8),
    )


def _recipe_file(path: Path, recipe: Recipe, *, until: int) -> Path:
    training = replace(recipe.training, stop_after=until)
    write_text(path, recipe_toml(replace(recipe, training=training)))
    return path


def _measured_alike(straight: Path, stopped: Path) -> None:
    """Give a new run what the other measured: the same machine may measure otherwise again."""
    stopped.mkdir()
    for file in (RunFolder(straight).kernels_file, RunFolder(straight).budget_file):
        if file.exists():
            shutil.copy(file, stopped)


def _within_an_epoch(stop_at: int, updates: int, recipe: Recipe, batches: int) -> int:
    """Move a stop off the end of an epoch, if there is another place."""
    near = (stop_at, stop_at - 1, stop_at + 1)
    within = (
        step
        for step in near
        if 1 <= step < updates and step * recipe.training.accumulate % batches != 0
    )
    return next(within, stop_at)


def _place(run: Path, batches: int) -> str:
    """Say where a run was stopped."""
    state = json.loads((checkpoints(run / "checkpoints")[-1] / "state.json").read_bytes())
    done = state["batches"]
    validations = len(run_events(run, Validated))
    before = f"after {validations} validations" if validations != 1 else "after 1 validation"
    return f"epoch {done['epoch']}, {done['batch']:,} of {batches:,} batches read, {before}"
