"""How large batches may be in a run that asks for as much as fits, found once and kept with it."""

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from dragoman.atomic import write_text
from dragoman.configfile import read_record, record, write_record
from dragoman.data import SeekableBatches
from dragoman.errors import ConfigError
from dragoman.run.tasks import Task
from dragoman.training import LARGEST_BUDGET, Rehearsal


@record
class Budget:
    """What was found: most slots in a batch."""

    batch_tokens: Annotated[int, Field(ge=2)]


def fit_budget(task: Task, rehearsal: Rehearsal, file: Path) -> int:
    """Let a task make the largest batches that fit in memory; give their budget.

    Args:
        task: its budget is set.
        rehearsal: knows what fits.
        file: holds what was found when the run began, which holds from then on, since the order of
            its data follows from it.

    Raises:
        ConfigError: nothing says how much memory there is.
        TrainingError: not even small batches fit.
    """
    group = rehearsal.group
    found = int(group.tell(str(_kept(file))))  # the leader's file is what counts
    if not found:

        def batches(budget: int) -> SeekableBatches[Any]:  # Any: each task has its own
            task.budget = budget
            return task.batches()

        found = rehearsal.budget(batches, most=LARGEST_BUDGET)
        if group.leader:
            write_text(file, json.dumps(write_record(Budget(batch_tokens=found))) + "\n")
    task.budget = found
    return found


def _kept(file: Path) -> int:
    """Read what was found before; 0 is nothing."""
    try:
        table = json.loads(file.read_bytes())
        return read_record(Budget, table, file=str(file)).batch_tokens
    except (OSError, ValueError, ConfigError):
        return 0
