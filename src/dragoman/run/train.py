"""One run from a recipe to a model folder: read, learn, train, choose weights, write the card."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from dragoman.device import choose_device
from dragoman.errors import CheckpointError, DragomanError
from dragoman.recipe import Recipe, read_recipe
from dragoman.run.begin import Asked, Begun, begin
from dragoman.run.current import CurrentRun
from dragoman.run.folder import RunFolder
from dragoman.run.start_from import model_table
from dragoman.run.tensorboard import check_tensorboard, mirror
from dragoman.training import Event, Notice, repeatable, training_loop
from dragoman.training.distributed import Group, join_group, lead


def train(
    recipe: Recipe | str | Path,
    run: str | Path | None = None,
    *,
    device: str = "auto",
    restart: bool = False,
    accept_changes: bool = False,
    start_from: str | Path | None = None,
    should_stop: Callable[[], str] = lambda: "",
    report: Callable[[str], None] = lambda _: None,
) -> Iterator[Event]:
    """Train a model; an unfinished run of the same recipe in the same folder is continued.

    Started by ``torchrun``, several processes share the run; all must call this alike, and the
    events are those of the first one.

    Args:
        recipe: all choices, or the path of a TOML file that holds them.
        run: folder to make or to continue; ``runs/NAME`` for a recipe file of that name.
        device: ``auto``, ``cpu``, ``cuda``, ...
        restart: throw away what the folder holds.
        accept_changes: go on although the recipe differs from the one in the folder.
        start_from: model or run folder whose weights, tokenizers and shapes a new run takes over;
            need not be given again to go on.
        should_stop: asked after every update, in every process; a reason ends this sitting, saved.
        report: told in words, before the first event, how far preparing a large corpus is.

    Yields:
        What happens; the same is kept in ``metrics.jsonl``.

    Raises:
        ConfigError: the recipe is wrong.
        DataError: a corpus is wrong.
        ModelError: the model to start from is missing or damaged.
        CheckpointError: the folder holds another run, or cannot be written.
        DragomanError: another process of the run has stopped or hangs.
    """
    name = "translator" if isinstance(recipe, Recipe) else Path(recipe).stem
    folder = RunFolder(Path(run) if run is not None else Path("runs") / name)
    if not isinstance(recipe, Recipe):
        recipe = read_recipe(recipe, model=model_table(folder.path, start_from, restart=restart))
    asked = Asked(
        restart=restart,
        accept_changes=accept_changes,
        start_from=start_from,
        should_stop=should_stop,
        report=report,
    )
    limit = recipe.training.process_timeout
    group = join_group(choose_device(device), timeout_seconds=limit)
    with group.guard():
        try:
            for event in _train(recipe, folder, group, asked):
                if group.leader:
                    yield event
        except OSError as error:
            raise CheckpointError(
                f"{folder.path}: cannot be written: {error.strerror or error}; make room or choose "
                "another --run; the same command goes on from the last checkpoint"
            ) from error


def _train(recipe: Recipe, folder: RunFolder, group: Group, asked: Asked) -> Iterator[Event]:
    watched = recipe.training.tensorboard and group.leader
    if watched:
        check_tensorboard()
    with ExitStack() as held:
        begun = begin(recipe, folder, group, asked, held)
        if begun is None:
            yield Notice(text=f"{folder.path}: this run is finished; --restart trains it again")
            group.leave()
            return
        events = _run(recipe, folder, begun, group, asked)
        events = mirror(events, folder.path) if watched else events
        try:
            yield from folder.record(events) if group.leader else events
        except DragomanError:
            if begun.new and group.leader and not folder.recipe_file.exists():
                folder.abandon()
            raise


def _run(
    recipe: Recipe, folder: RunFolder, begun: Begun, group: Group, asked: Asked
) -> Iterator[Event]:
    task, start = begun.task, begun.start
    yield from (Notice(text=text) for text in (start.notices() if start else ()))
    yield from (Notice(text=text) for text in task.notices())
    given = recipe
    recipe = replace(recipe, validation=replace(recipe.validation, metrics=task.metrics))
    with repeatable(recipe.training.deterministic, group.device):
        run = CurrentRun(recipe, folder, task, group, start)
        yield from run.resume()
        run.check_data()
        yield from run.notices()
        lead(group, lambda: folder.write_recipe(given))  # from here on there is a run
        yield run.started()
        yield from training_loop(
            run.trainer, folder.checkpoints, recipe.validation, run.hooks(asked.should_stop)
        )
        if run.trainer.done or run.out_of_patience:
            yield from run.finish()
        else:
            run.write_unfinished()
            group.leave()
