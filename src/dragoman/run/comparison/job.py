"""What goes between a comparison and the process of one variant: a job in, events out.

Both are JSON: the job on standard input, an event a line on standard output. A process of its own
is the only way to say how much memory one variant needed.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

from dragoman.configfile import Table, record, write_record
from dragoman.errors import DragomanError
from dragoman.recipe import Recipe
from dragoman.training import (
    Event,
    Finished,
    Notice,
    Saved,
    Started,
    StepDone,
    Stopped,
    Validated,
)

FAILED = "failed"  # the line of a process that met an error the user can mend
_EVENTS: dict[str, type[Event]] = {
    kind.__name__: kind for kind in (Notice, Started, StepDone, Validated, Saved, Stopped, Finished)
}


@record
class Job:
    """One variant to train and measure.

    Args:
        recipe: all choices, the test set included.
        folder: of the run.
        minutes: when the clock ends it; None when its updates do.
        device: ``auto``, ``cpu``, ``cuda``, ...
    """

    recipe: Recipe
    folder: Path
    minutes: float | None = None
    device: str = "auto"


def as_trained(recipe: Recipe) -> Recipe:
    """Take the test set out of a recipe: a comparison translates it once, at the end."""
    return replace(recipe, data=replace(recipe.data, test=None))


def event_line(event: Event) -> str:
    """Write an event as a line of JSON."""
    return json.dumps({"event": type(event).__name__, **asdict(event)}, default=str) + "\n"


def failure_line(error: DragomanError) -> str:
    """Write an error as a line of JSON."""
    return json.dumps({"event": FAILED, "text": str(error)}) + "\n"


def read_event(table: Table) -> Event:
    """Make an event of what ``event_line`` wrote."""
    fields = dict(table)
    kind: Any = _EVENTS[fields.pop("event")]  # Any: each has fields of its own
    if "path" in fields:
        fields["path"] = Path(fields["path"])
    return cast("Event", kind(**fields))


def run_job(job: Job, *, should_stop: Callable[[], str] = lambda: "") -> Iterator[Event]:
    """Train and measure a variant in a process of its own.

    Args:
        job: what to do; its folder may hold an unfinished run of the same.
        should_stop: asked after every event; a reason makes the process save and end.

    Yields:
        What happens; at last Finished once ``measured.json`` stands, or Stopped.

    Raises:
        DragomanError: what the process met, or that it came to an end by itself.
    """
    command = [sys.executable, "-m", "dragoman.run.comparison.variant"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C comes here alone, and goes on as ``should_stop``
    )
    assert process.stdin is not None
    assert process.stdout is not None
    asked = False
    try:
        with suppress(BrokenPipeError), process.stdin as stdin:  # one that ended says why below
            stdin.write(json.dumps(write_record(job)).encode("utf-8"))
        for line in process.stdout:
            table = cast("Table", json.loads(line))
            if table["event"] == FAILED:
                raise DragomanError(str(table["text"]))
            yield read_event(table)
            if not asked and should_stop():
                asked = True
                process.send_signal(signal.SIGINT)
        if process.wait() != 0:
            raise DragomanError(
                f"its process ended with status {process.returncode}; what it said stands above"
            )
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
