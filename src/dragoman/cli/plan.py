"""``dragoman plan``: memory, time and cost of a recipe on given hardware, before it runs."""

import json
from pathlib import Path
from typing import Annotated

import typer

import dragoman
from dragoman.cli.lines import lines_out, say
from dragoman.cli.options import Json, Setting


def plan(
    recipe: Annotated[Path, typer.Argument(help="Recipe, TOML.", metavar="RECIPE")],
    hardware: Annotated[
        list[str] | None,
        typer.Option(
            "--hardware",
            metavar="NAME[:COUNT]",
            help="p100, v100, a100, h100, h200, rtx3090, rtx4090, or cpu, threads of this machine; "
            "may be repeated; one of each unless given.",
        ),
    ] = None,
    settings: Setting = None,
    length: Annotated[
        int, typer.Option(min=2, help="Pieces of a sentence on each side, the end symbol included.")
    ] = 32,
    measure: Annotated[
        bool, typer.Option("--measure", help="Time a few updates on this machine too.")
    ] = False,
    price: Annotated[
        float | None, typer.Option(min=0, help="Of one device for an hour, in any currency.")
    ] = None,
    utilization: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=1, help="Share of the peak that an update reaches; has a source else."
        ),
    ] = None,
    json_output: Json = False,
) -> None:
    """Say what a training needs: memory, operations, speed, time, cost; no data is read."""
    from dragoman.run import plan as planned  # loads torch

    chosen = dragoman.read_recipe(recipe, settings or ())
    if measure:
        say("timing a few updates")
    found = planned(
        chosen,
        hardware or (),
        title=recipe.stem,
        length=length,
        price=price,
        utilization=utilization,
        measure=measure,
    )
    with lines_out(None) as write:
        for line in [json.dumps(found.summary())] if json_output else found.lines():
            write(line)
