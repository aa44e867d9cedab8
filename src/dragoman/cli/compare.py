"""``dragoman compare``: variants of a recipe side by side."""

import json
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

import dragoman
from dragoman.cli.options import Setting

_SHOWN = ("Notice", "Started", "Validated", "Stopped")  # of the events of a training


def compare(
    file: Annotated[Path, typer.Argument(help="Variants and budget, TOML.", metavar="FILE")],
    run: Annotated[
        Path | None, typer.Option(help="Folder; runs/compare-NAME unless given.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Train each for this long, instead of the file's budget.")
    ] = None,
    settings: Setting = None,
    restart: Annotated[bool, typer.Option(help="Throw away what the folder holds.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    json_output: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Train variants of a translator on the same data, order and budget, and compare them.

    The same command goes on where it was stopped.
    """
    last: Any = None  # Any: naming the events loads torch
    with _stoppable() as stop:
        for last in dragoman.compare(
            file,
            run,
            minutes=minutes,
            overrides=settings or (),
            device=device,
            restart=restart,
            should_stop=stop,
        ):
            for line in _described(last):
                print(line, file=sys.stderr, flush=True)
    if type(last).__name__ == "Stopped":
        raise typer.Exit(130)
    if json_output:
        print(json.dumps(last.compared.summary(), ensure_ascii=False))
        return
    for line in last.compared.lines():
        print(line)


def _described(event: Any) -> list[str]:
    """Say an event in a line, or in none."""
    from dragoman.cli.console import describe  # loads torch

    match type(event).__name__:
        case "VariantStarted":
            return [f"[{event.number}/{event.runs}] {event.name}, seed {event.seed}"]
        case "VariantDone":
            found = event.measured
            state = "finished earlier" if event.earlier else "done"
            return [
                f"{event.name}, seed {event.seed}: {state}: BLEU {found.bleu:.2f} after "
                f"{found.updates:,} updates, {found.training_seconds / 60:.1f} minutes of training"
            ]
        case "ComparisonDone":
            return [f"{event.folder} holds comparison.md, comparison.json and comparison.png", ""]
        case name if name in _SHOWN:
            return [f"  {describe(event)}"]
        case _:
            return []


@contextmanager
def _stoppable() -> Generator[Callable[[], str]]:
    """Let Ctrl-C end the comparison after the update in hand, and a second one at once."""
    interrupted: list[int] = []

    def interrupt(number: int, _: object) -> None:
        if interrupted:
            raise KeyboardInterrupt
        interrupted.append(number)
        print(
            "\nstopping after this update; press Ctrl-C again to leave at once without saving",
            file=sys.stderr,
            flush=True,
        )

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield lambda: "interrupted" if interrupted else ""
    finally:
        signal.signal(signal.SIGINT, before)
