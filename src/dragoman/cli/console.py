"""Events as lines, with a progress bar on a terminal; everything goes to standard error.

Importing this loads torch, so ``main.py`` does it inside the commands that train.
"""

import sys
from collections.abc import Iterable

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from dragoman.training import (
    Event,
    Finished,
    Notice,
    Saved,
    Skipped,
    Started,
    StepDone,
    Stopped,
    Validated,
)


def show(events: Iterable[Event]) -> Event | None:
    """Print every event as it comes; give the last one.

    A terminal gets a progress bar below the lines, anything else plain lines only.
    """
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if console.is_terminal:
        return _show_on_terminal(events, console)
    last: Event | None = None
    for last in events:
        say(describe(last))
    return last


def say(line: str) -> None:
    """Print a line to standard error."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _show_on_terminal(events: Iterable[Event], console: Console) -> Event | None:
    last: Event | None = None
    columns = (
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} updates"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=1, visible=False)
        for last in events:
            match last:
                case Started():
                    progress.update(task, total=last.steps, completed=last.step, visible=True)
                case StepDone():
                    progress.update(task, completed=last.step, description=_speed(last))
                case _:
                    pass
            if not isinstance(last, StepDone | Saved):
                progress.console.print(describe(last), markup=False)
    return last


def describe(event: Event) -> str:
    """Say an event in one line."""
    match event:
        case Notice():
            return event.text
        case Started():
            return (
                f"training {event.parameters:,} weights on {event.pairs:,} examples, about "
                f"{event.batches_per_epoch:,} batches an epoch, from update {event.step + 1:,} of "
                f"{event.steps:,}"
            )
        case StepDone():
            return f"step {event.step:>7,}  {_speed(event)}"
        case Skipped():
            cause = f"; loss scale now {event.loss_scale:g}" if event.loss_scale else ""
            in_a_row = f", {event.in_a_row} in a row" if event.in_a_row > 1 else ""
            return (
                f"step {event.step:>7,}  skipped{in_a_row}: loss {event.loss_nats:g}, gradient "
                f"norm {event.gradient_norm:g}{cause}"
            )
        case Validated():
            scores = "".join(f"  {name} {value:.2f}" for name, value in event.scores.items())
            return (
                f"step {event.step:>7,}  validation: loss {event.loss_nats:6.3f} nats  perplexity "
                f"{event.perplexity:.2f}{scores}{'  (best so far)' if event.best else ''}"
            )
        case Saved():
            return f"step {event.step:>7,}  saved {event.path}"
        case Stopped():
            return (
                f"stopped after update {event.step:,} of {event.steps:,} ({event.reason}); "
                f"saved {event.path}; the same command goes on from there"
            )
        case Finished():
            return (
                f"done: {event.path} holds the {event.weights}, after {event.step:,} updates in "
                f"{_duration(event.seconds)}"
            )


def _speed(event: StepDone) -> str:
    return (
        f"loss {event.loss_nats:6.3f} nats  rate {event.learning_rate:.2e}  "
        f"{event.target_tokens_per_second:,.0f} tokens/s"
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
