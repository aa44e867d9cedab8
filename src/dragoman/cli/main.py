"""Commands and options, each a few lines over the library.

Nothing here imports torch before a command needs it: ``dragoman.X`` loads on first use.
"""

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

import dragoman
from dragoman.cli.check import check
from dragoman.cli.compare import compare
from dragoman.cli.inspect import inspect
from dragoman.cli.lines import lines_in, lines_out, say
from dragoman.cli.measuring import evaluate, score
from dragoman.cli.one_sided import classify, fill, generate
from dragoman.cli.options import (
    Alpha,
    BatchTokens,
    Beam,
    Device,
    Dtype,
    Input,
    Json,
    ModelFolder,
    Setting,
)
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


@app.command()
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


@app.command()
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
    dry_run: Annotated[bool, typer.Option(help="Print the resolved recipe and stop.")] = False,
    restart: Annotated[bool, typer.Option(help="Throw away what the run folder holds.")] = False,
    accept_changes: Annotated[
        bool, typer.Option(help="Go on although the recipe differs from the run's.")
    ] = False,
    device: Device = "auto",
) -> None:
    """Train a model from a recipe, or a translator from two files with sizes chosen for them.

    The same command goes on with an unfinished run.
    """
    from dragoman.run import model_table  # loads torch

    if (recipe is None) == (source is None) or (source is None) != (target is None):
        raise ConfigError("", "give a recipe, or both --source and --target")
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
        print(dragoman.recipe_toml(chosen), end="")
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


@app.command()
def translate(
    model: ModelFolder,
    input: Input = None,
    output: Annotated[Path | None, typer.Option(help="Standard output unless given.")] = None,
    beam: Beam = 4,
    alpha: Alpha = 0.6,
    n_best: Annotated[int, typer.Option(min=1, help="Translations per line, tab between.")] = 1,
    max_length: Annotated[
        int | None, typer.Option(min=1, help="Most pieces; source length + 50 unless given.")
    ] = None,
    too_long: Annotated[
        str, typer.Option(help="Lines longer than the model takes: split, cut or blank.")
    ] = "split",
    batch_tokens: BatchTokens = 4096,
    device: Device = "auto",
    dtype: Dtype = "auto",
    engine: Annotated[str, typer.Option(help="auto, torch.")] = "auto",
    format: Annotated[str, typer.Option(help="text: one segment a line.")] = "text",
    json_lines: Json = False,
) -> None:
    """Translate line by line: exactly one line out for each line in.

    Blank lines stay blank and lines without letters are copied.
    """
    if format != "text":
        raise ConfigError("--format", f"{format!r} is not a format", "choose from text")
    translator = dragoman.Translator.load(model, device=device, dtype=dtype, engine=engine)
    unfinished: list[str] = []
    with lines_in(input) as lines, lines_out(output) as write:
        translations = translator.stream(
            lines,
            beam=beam,
            alpha=alpha,
            n_best=n_best,
            max_length=max_length,
            too_long=too_long,
            batch_tokens=batch_tokens,
            at_once=1 if input is None and sys.stdin.isatty() else 0,
        )
        for number, translation in enumerate(translations, start=1):
            if translation.parts > 1:
                say(f"line {number}: longer than the model takes; in {translation.parts} parts")
            if translation.shortened:
                unfinished.append(f"line {number}: longer than the model takes; {too_long}")
            if json_lines:
                write(json.dumps({"line": number, **_plain(translation)}, ensure_ascii=False))
            else:
                texts = [candidate.text for candidate in translation.hypotheses]
                write("\t".join(dragoman.one_line(text, tabs=n_best == 1) for text in texts))
    for line in unfinished:
        say(f"{input or 'standard input'}: {line}")
    if unfinished:
        raise typer.Exit(2)


for _command in (generate, classify, fill, score, evaluate):
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


app.command()(check)
app.command()(compare)
app.command()(verify_resume)
app.add_typer(inspect)


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


def _train(recipe: Any, run: Path, **options: Any) -> int:  # Any: naming the types loads torch
    """Train with progress on standard error; Ctrl-C and SIGTERM save after the update in hand."""
    from dragoman.cli.console import show  # loads torch

    asked: list[int] = []  # signals, the first one first
    before = {
        number: signal.signal(number, lambda number, _: _stop(asked, number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        reason = lambda: _STOPPED_BY[asked[0]] if asked else ""  # noqa: E731  # after each update
        last = show(dragoman.train(recipe, run, should_stop=reason, **options))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 + asked[0] if asked and type(last).__name__ == "Stopped" else 0


_STOPPED_BY: dict[int, str] = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


def _stop(asked: list[int], number: int) -> None:
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
    hint = "; press Ctrl-C again to leave at once without saving" * (number == signal.SIGINT)
    with suppress(OSError, RuntimeError):  # nobody reads, or it came in the middle of a line
        say(f"\nstopping after this update{hint}")


def _plain(translation: Any) -> dict[str, Any]:  # Any: naming the type loads torch
    best = {name: getattr(translation, name) for name in ("text", "score", "truncated")}
    return {**best, **asdict(translation)}
