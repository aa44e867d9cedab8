"""Commands that train, and what signals mean to them."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import dragoman
from dragoman.cli.lines import lines_out, say
from dragoman.cli.measuring import refuse
from dragoman.cli.options import Device, Setting
from dragoman.errors import ConfigError


def quickstart(
    run: Annotated[Path, typer.Option(help="Run folder to make.")] = Path("runs/quickstart"),
) -> None:
    """See a translator learn German to English from a built-in corpus, in a few minutes."""
    say(f"dragoman quickstart: German to English from the built-in corpus, into {run}")
    status = _train(dragoman.quickstart_recipe(run), run)
    if status:
        raise typer.Exit(status)
    called = "dragoman" if shutil.which("dragoman") else os.path.relpath(sys.argv[0])
    for line in dragoman.quickstart_results(run, command=called):
        print(line)


def train(
    recipe: Annotated[Path | None, typer.Argument(help="Recipe, TOML.", metavar="[RECIPE]")] = None,
    source: Annotated[Path | None, typer.Option(help="Instead of a recipe: source text.")] = None,
    target: Annotated[Path | None, typer.Option(help="Its translations, line by line.")] = None,
    run: Annotated[Path | None, typer.Option(help="Run folder; runs/NAME unless given.")] = None,
    from_model: Annotated[
        Path | None,
        typer.Option("--from", help="Start from this model: its weights, tokenizer and shapes."),
    ] = None,
    extend_vocabulary: Annotated[
        int, typer.Option(min=0, help="With --from: pieces to add at most, for the new text.")
    ] = 0,
    settings: Setting = None,
    dry_run: Annotated[
        bool, typer.Option(help="Print the resolved recipe, and what it needs, and stop.")
    ] = False,
    hardware: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[:COUNT]", help="With --dry-run: on what, as plan takes it."),
    ] = None,
    price: Annotated[
        float | None, typer.Option(min=0, help="With --dry-run: of one device for an hour.")
    ] = None,
    restart: Annotated[bool, typer.Option(help="Throw away what the run folder holds.")] = False,
    accept_changes: Annotated[
        bool, typer.Option(help="Go on although the recipe differs from the run's.")
    ] = False,
    device: Device = "auto",
) -> None:
    """Train a model from a recipe, or a translator from two files with sizes chosen for them.

    The same command goes on with an unfinished run.
    """
    from dragoman.run import dry_run as looked_at  # loads torch
    from dragoman.run import model_table

    if (recipe is None) == (source is None) or (source is None) != (target is None):
        raise ConfigError("", "give a recipe, or both --source and --target")
    if not dry_run:
        refuse({"--hardware": bool(hardware), "--price": price is not None}, "is for --dry-run")
    stem = source.name.partition(".")[0] if source is not None else ""
    folder = run or Path("runs") / (stem or Path(str(recipe)).stem)
    settings = [*(settings or ())]
    settings += [f"tokenizer.extend={extend_vocabulary}"] * bool(extend_vocabulary)
    model = model_table(folder, from_model, restart=restart)
    if source is not None and target is not None:
        chosen = dragoman.choose_recipe(source, target, settings, model=model)
    else:
        chosen = dragoman.read_recipe(str(recipe), settings, model=model)
    if dry_run:
        title = Path(str(recipe)).stem if recipe is not None else stem
        with lines_out(None) as write:
            for line in looked_at(chosen, hardware or (), title=title, price=price).lines():
                write(line)
        return
    status = _train(
        chosen,
        folder,
        device=device,
        restart=restart,
        accept_changes=accept_changes,
        start_from=from_model,
    )
    if status:
        raise typer.Exit(status)


def _train(recipe: Any, run: Path, **options: Any) -> int:  # Any: naming the types loads torch
    """Train with progress on standard error; Ctrl-C and SIGTERM save after the update in hand."""
    from dragoman.cli.console import show  # loads torch

    asked: list[int] = []  # signals, the first one first
    events: list[object] = []  # the first one
    before = {
        number: signal.signal(number, lambda number, _: _stop(asked, number, begun=bool(events)))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        reason = lambda: _STOPPED_BY[asked[0]] if asked else ""  # noqa: E731  # after each update
        report = partial(_preparing, asked)
        happening = dragoman.train(recipe, run, should_stop=reason, report=report, **options)
        last = show(_noted(happening, events))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 + asked[0] if asked and type(last).__name__ == "Stopped" else 0


_STOPPED_BY: dict[int, str] = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


def _noted(happening: Iterator[Any], events: list[object]) -> Iterator[Any]:
    """Pass events on, and remember the first: then preparing is over."""
    for event in happening:
        if not events:
            events.append(event)
        yield event


def _preparing(asked: list[int], text: str) -> None:
    """Say how far preparing is; what is prepared is kept, so a signal may end it here."""
    if asked:
        say(
            "stopped while preparing; what is prepared is kept, the same command goes on from there"
        )
        raise KeyboardInterrupt
    say(text)


def _stop(asked: list[int], number: int, *, begun: bool) -> None:
    """Note that a signal asks the run to stop; Ctrl-C pressed twice means at once.

    SIGTERM may come any number of times: ``timeout`` and schedulers send it to the process and
    to its group.
    """
    again = number in asked
    asked.append(number)
    if again and number == signal.SIGINT:
        raise KeyboardInterrupt
    if len(asked) > 1 or os.environ.get("RANK", "0") != "0":  # the first process says it for all
        return
    what = "after this update" if begun else "as soon as what is prepared so far is kept"
    hint = "; press Ctrl-C again to leave at once without saving" * (number == signal.SIGINT)
    with suppress(OSError, RuntimeError):  # nobody reads, or it came in the middle of a line
        say(f"\nstopping {what}{hint}")
