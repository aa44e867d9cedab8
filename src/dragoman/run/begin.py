"""What comes before training: the folder of the run is checked, and its text read.

Of several processes the first goes ahead, since it alone writes: the others wait, then read what it
learned from the text instead of learning it again.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from dragoman.atomic import only_one
from dragoman.errors import CheckpointError
from dragoman.recipe import Recipe
from dragoman.run.folder import RunFolder
from dragoman.run.start_from import Start, check_start, find_start, keep_start
from dragoman.run.tasks import Task, prepare_task
from dragoman.training.distributed import Group, lead

_FINISHED, _NEW, _OPEN = "finished", "new", "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of a sitting beside its recipe; see ``train``."""

    restart: bool
    accept_changes: bool
    start_from: str | Path | None
    should_stop: Callable[[], str]
    report: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that can be trained.

    Args:
        task: what is learned.
        start: the model it starts from, if any.
        new: whether it begins now.
    """

    task: Task
    start: Start | None
    new: bool


def begin(
    recipe: Recipe, folder: RunFolder, group: Group, asked: Asked, held: ExitStack
) -> Begun | None:
    """Check the folder, hold it, and read the text.

    Args:
        recipe: all choices.
        folder: of the run.
        group: the processes of the run, all of which must call this.
        asked: what else is wanted.
        held: keeps the folder from other runs until it is closed.

    Returns:
        The run; None when it is finished already.

    Raises:
        ConfigError: the recipe is wrong.
        DataError: a corpus is wrong.
        ModelError: the model to start from is missing or damaged.
        CheckpointError: the folder holds another run, or cannot be written.
    """
    first: list[Begun] = []

    def go_ahead() -> str:
        status, begun = _begin(recipe, folder, asked, held)
        first.extend([begun] if begun else [])
        return status

    status = lead(group, go_ahead)
    if status == _FINISHED:
        return None
    if group.leader:
        return first[0]
    start = find_start(folder.path, asked.start_from, new=status == _NEW)
    given = start and start.given
    task = prepare_task(recipe, folder.path, reuse=True, given=given)
    return Begun(task, start, status == _NEW)


def _begin(
    recipe: Recipe, folder: RunFolder, asked: Asked, held: ExitStack
) -> tuple[str, Begun | None]:
    changed = folder.check(recipe, restart=asked.restart, accept_changes=asked.accept_changes)
    new = asked.restart or folder.status() == "new"
    start = find_start(folder.path, asked.start_from, new=new)
    check_start(start, recipe)
    if folder.status() == "finished" and not changed and not asked.restart:
        return _FINISHED, None
    there = folder.path.is_dir()
    if there:  # new tokenizers must not be written over those of a run that is being trained
        _hold(folder, held)
    # What was there is thrown away only when the new data has been read.
    given = start and start.given
    task = prepare_task(recipe, folder.path, reuse=not new, given=given, report=asked.report)
    if not there:  # data that cannot be used leaves no folder behind
        _hold(folder, held)
    if asked.restart:
        folder.clear()
    keep_start(folder.path, start)
    return _NEW if new else _OPEN, Begun(task, start, new)


def _hold(folder: RunFolder, held: ExitStack) -> None:
    if not held.enter_context(only_one(folder.path)):
        raise CheckpointError(
            f"{folder.path}: another process is training here; wait for it, or choose another --run"
        )
