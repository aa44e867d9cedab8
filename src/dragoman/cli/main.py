"""Commands and options, each a few lines over the library.

Nothing here imports torch before a command needs it: ``dragoman.X`` loads on first use.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

import dragoman
from dragoman.cli.check import check
from dragoman.cli.compare import compare
from dragoman.cli.converting import export, import_
from dragoman.cli.get import get
from dragoman.cli.inspect import inspect
from dragoman.cli.lines import say
from dragoman.cli.measuring import evaluate
from dragoman.cli.one_sided import classify, fill, generate
from dragoman.cli.options import Json
from dragoman.cli.plan import plan
from dragoman.cli.scoring import score
from dragoman.cli.serving import serve
from dragoman.cli.training import quickstart, train
from dragoman.cli.translating import translate
from dragoman.cli.trees import trees
from dragoman.cli.verify import verify_resume
from dragoman.errors import ConfigError, DragomanError

app = typer.Typer(
    name="dragoman",
    help="Train and use the Transformer of 'Attention Is All You Need' on your own text.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(asked: bool) -> None:
    if asked:
        print(version("dragoman"))
        raise typer.Exit


@app.callback()
def every_command(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print it and stop."),
    ] = False,
) -> None:
    """Train and use the Transformer of 'Attention Is All You Need' on your own text."""


app.command()(quickstart)
app.command()(train)


for _command in (translate, generate, classify, fill, score, evaluate):
    app.command()(_command)


@app.command()
def average(
    checkpoints: Annotated[
        list[Path], typer.Argument(help="Checkpoints of one run, or model folders.")
    ],
    to: Annotated[Path, typer.Option(help="Model folder to make.")],
) -> None:
    """Average the weights of checkpoints into a model folder (section 6.1)."""
    dragoman.average(checkpoints, to)
    say(f"{to} holds the average of {len(checkpoints)} checkpoints")


@app.command()
def doctor(json_output: Json = False) -> None:
    """Say what this machine has and what of Dragoman works on it."""
    found = dragoman.diagnose()
    if json_output:
        print(json.dumps(found))
        return
    for section, entries in found.items():
        print(section)
        for name, value in entries.items():
            print(f"  {name:<20} {value}")


app.command()(export)
app.command("import")(import_)
app.command()(check)
app.command()(get)
app.command()(compare)
app.command()(serve)
app.command()(plan)
app.command()(verify_resume)
app.add_typer(inspect)
app.add_typer(trees)


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Returns:
        Exit status: 0 done, 2 something the user can mend, 1 a bug, 130 interrupted, 143
        terminated.
    """
    try:
        status = app(args=arguments, standalone_mode=False)  # what typer.Exit was raised with
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return 130
    except DragomanError as error:
        several = isinstance(error, ConfigError)  # a mistake a line; elsewhere one and its details
        if several and os.environ.get("RANK", "0") != "0":
            return 2  # of several processes the first says it for all
        for number, line in enumerate(str(error).splitlines()):
            say(f"error: {line}" if several or number == 0 else line)
        return 2
    except OSError as error:  # a file that cannot be written, a disk that is full
        say(f"error: {error.filename or 'output'}: {error.strerror or error}")
        return 2
    except Exception as error:
        wrong_usage: Callable[[], str] | None = getattr(error, "format_message", None)
        if wrong_usage is not None:  # typer does not make the class of these public
            bare = type(error).__name__ == "NoArgsIsHelpError"
            say(wrong_usage() if bare else f"error: {wrong_usage()}")
            return 2
        traceback.print_exc()
        say("this is a bug in dragoman; please report it with the lines above")
        return 1
    return status if isinstance(status, int) else 0


def entry() -> None:
    """Run the command line and end the process."""
    sys.exit(main())
