"""One run from a recipe to a model folder: read, learn, train, choose weights, write the card."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch

from dragoman.atomic import only_one
from dragoman.device import choose_device
from dragoman.errors import CheckpointError
from dragoman.recipe import Recipe, read_recipe
from dragoman.run.current import CurrentRun, repeatable
from dragoman.run.folder import RunFolder
from dragoman.run.start_from import Start, check_start, find_start, keep_start, model_table
from dragoman.run.tasks import Task, prepare_task
from dragoman.training import Event, Notice, training_loop


def train(
    recipe: Recipe | str | Path,
    run: str | Path | None = None,
    *,
    device: str = "auto",
    restart: bool = False,
    accept_changes: bool = False,
    start_from: str | Path | None = None,
    should_stop: Callable[[], str] = lambda: "",
) -> Iterator[Event]:
    """Train a model; an unfinished run of the same recipe in the same folder is continued.

    Args:
        recipe: all choices, or the path of a TOML file that holds them.
        run: folder to make or to continue; ``runs/NAME`` for a recipe file of that name.
        device: ``auto``, ``cpu``, ``cuda``, ...
        restart: throw away what the folder holds.
        accept_changes: go on although the recipe differs from the one in the folder.
        start_from: model or run folder whose weights, tokenizers and shapes a new run takes over;
            need not be given again to go on.
        should_stop: asked after every update; a reason ends this sitting, saved.

    Yields:
        What happens; the same is kept in ``metrics.jsonl``.

    Raises:
        ConfigError: the recipe is wrong.
        DataError: a corpus is wrong.
        ModelError: the model to start from is missing or damaged.
        CheckpointError: the folder holds another run, or cannot be written.
    """
    name = "translator" if isinstance(recipe, Recipe) else Path(recipe).stem
    folder = RunFolder(Path(run) if run is not None else Path("runs") / name)
    if not isinstance(recipe, Recipe):
        recipe = read_recipe(recipe, model=model_table(folder.path, start_from, restart=restart))
    try:
        yield from _train(
            recipe, folder, choose_device(device), restart, accept_changes, should_stop, start_from
        )
    except OSError as error:
        raise CheckpointError(
            f"{folder.path}: cannot be written: {error.strerror or error}; make room or choose "
            "another --run; the same command goes on from the last checkpoint"
        ) from error


def _train(
    recipe: Recipe,
    folder: RunFolder,
    device: torch.device,
    restart: bool,
    accept_changes: bool,
    should_stop: Callable[[], str],
    start_from: str | Path | None,
) -> Iterator[Event]:
    changed = folder.check(recipe, restart=restart, accept_changes=accept_changes)
    start = find_start(folder.path, start_from, new=restart or folder.status() == "new")
    check_start(start, recipe)
    if folder.status() == "finished" and not changed and not restart:
        yield Notice(text=f"{folder.path}: this run is finished; --restart trains it again")
        return
    # What was there is thrown away only when the new data has been read.
    reuse = not restart and folder.status() != "new"
    task = prepare_task(recipe, folder.path, reuse=reuse, given=start and start.given)
    with only_one(folder.path) as ours:
        if not ours:
            raise CheckpointError(
                f"{folder.path}: another process is training here; wait for it, or choose another "
                "--run"
            )
        if restart:
            folder.clear()
        keep_start(folder.path, start)
        folder.write_recipe(recipe)
        yield from folder.record(_run(recipe, folder, task, device, should_stop, start))


def _run(
    recipe: Recipe,
    folder: RunFolder,
    task: Task,
    device: torch.device,
    should_stop: Callable[[], str],
    start: Start | None,
) -> Iterator[Event]:
    yield from (Notice(text=text) for text in (start.notices() if start else ()))
    yield from (Notice(text=text) for text in task.notices())
    recipe = replace(recipe, validation=replace(recipe.validation, metrics=task.metrics))
    with repeatable(recipe.training.deterministic, device):
        run = CurrentRun(recipe, folder, task, device, start)
        yield from folder.resume(run.trainer)
        run.check_data()
        yield from run.notices()
        yield run.started()
        yield from training_loop(
            run.trainer, folder.checkpoints, recipe.validation, run.hooks(should_stop)
        )
        if run.trainer.done or run.out_of_patience:
            yield from run.finish()
        elif not (folder.path / "model.safetensors").exists():
            run.write(f"weights after {run.trainer.progress.step:,} updates of an unfinished run")
