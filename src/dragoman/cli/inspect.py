"""``dragoman inspect``: look at a run, a model or a recipe, and change nothing."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import dragoman
from dragoman.cli.complexity import inspect_complexity
from dragoman.cli.inspecting import check_png, print_lines
from dragoman.cli.inspecting_activations import inspect_activations
from dragoman.cli.inspecting_attention import inspect_attention
from dragoman.cli.inspecting_embedding import inspect_embedding
from dragoman.cli.inspecting_field import inspect_field
from dragoman.cli.inspecting_heads import inspect_heads
from dragoman.cli.inspecting_masks import inspect_masks
from dragoman.cli.inspecting_model import inspect_model
from dragoman.cli.inspecting_positions import inspect_positions
from dragoman.cli.lines import say
from dragoman.cli.options import Json, Setting
from dragoman.errors import ConfigError, MissingExtraError

inspect = typer.Typer(
    name="inspect",
    help="Look at a run, a model or a recipe, and change nothing.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
inspect.command("model")(inspect_model)
inspect.command("heads")(inspect_heads)
inspect.command("embedding")(inspect_embedding)
inspect.command("positions")(inspect_positions)
inspect.command("masks")(inspect_masks)
inspect.command("field")(inspect_field)
inspect.command("activations")(inspect_activations)
inspect.command("attention")(inspect_attention)
inspect.command("complexity")(inspect_complexity)


@inspect.command("run")
def inspect_run(
    run: Annotated[Path, typer.Argument(help="Run folder, finished or not.", metavar="RUN")],
    output: Annotated[
        Path | None, typer.Option(help="Picture, PNG; RUN/run.png unless given.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Sum up a training and draw its curves."""
    from dragoman.inspection import draw_run, read_run, run_lines, run_summary  # loads torch

    check_png("--output", output)
    history = read_run(run)
    summary = [json.dumps(run_summary(history), ensure_ascii=False)] if json_output else None
    print_lines(summary or run_lines(history))
    picture = output or run / "run.png"
    try:
        draw_run(history, picture)
    except MissingExtraError as error:
        if output is not None:
            raise
        say(f"no picture: {error}")
    else:
        say(f"{picture} holds the picture")


@inspect.command("schedule")
def inspect_schedule(
    recipe: Annotated[Path, typer.Argument(help="Recipe, TOML.", metavar="RECIPE")],
    settings: Setting = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Updates in the run; the recipe's unless given.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Picture, PNG; none unless given.")] = None,
    json_output: Json = False,
) -> None:
    """Print the learning rates of a recipe; no data is read."""
    from dragoman.inspection import Rates, draw_rates  # loads torch

    check_png("--output", output)
    chosen = dragoman.read_recipe(recipe, settings or ())
    training, width = chosen.training, chosen.model.d_model
    length = _updates(chosen, steps, str(recipe))
    title = f"{_schedule(chosen)}, warmup {training.warmup:,}, d_model {width}, {length:,} updates"
    rates = Rates(training.learning_rate(width, length), training.warmup, length, title)
    if json_output:
        rows = [{"update": step, "learning_rate": rate} for step, rate in rates.table()]
        print_lines([json.dumps({"updates": length, "warmup": training.warmup, "rates": rows})])
    else:
        print_lines(rates.lines())
    if output is not None:
        draw_rates(rates, output)
        say(f"{output} holds the picture")


def _updates(recipe: Any, steps: int | None, file: str) -> int:  # Any: naming it loads torch
    """Say how long the run is; epochs have a length only together with the data."""
    if steps is not None:
        return steps
    epochs = recipe.training.epochs
    if epochs is not None:
        problem = f"how many updates {epochs} epochs are depends on the data"
        hint = "give --steps; a run says in its first lines how many it has"
        raise ConfigError("training.epochs", problem, hint).inside(file=file)
    return recipe.training.last_step(1)  # the data does not matter


def _schedule(recipe: Any) -> str:
    """Name the schedule and its numbers."""
    from dragoman.configfile import write_record

    kind, *numbers = write_record(recipe.training.schedule).items()
    return ", ".join([kind[1], *(f"{name} {value:g}" for name, value in numbers)])
