"""``dragoman verify-resume``: whether a recipe goes on exactly where it was stopped."""

import json
from pathlib import Path
from typing import Annotated

import typer

import dragoman
from dragoman.cli.lines import say
from dragoman.cli.options import Device, Json, Setting


def verify_resume(
    recipe: Annotated[Path, typer.Argument(help="Recipe, TOML.", metavar="RECIPE")],
    updates: Annotated[int, typer.Option(min=2, help="Updates of each of the two runs.")] = 12,
    stop_at: Annotated[int, typer.Option(min=1, help="Update after which one is stopped.")] = 5,
    settings: Setting = None,
    run: Annotated[
        Path | None, typer.Option(help="New folder that keeps both runs; none unless given.")
    ] = None,
    device: Device = "auto",
    json_output: Json = False,
) -> None:
    """Prove on your recipe that stopping and going on is the same as never stopping.

    Trains a few updates straight, and again with a stop in between, each sitting in a process of
    its own, and compares everything bit by bit. Exit status 0: equal; 2: the first difference is
    named.
    """
    chosen = dragoman.read_recipe(recipe, settings or ())
    say(f"training {updates:,} updates straight, then again with a stop after update {stop_at:,}")
    found = dragoman.verify_resume(chosen, run, updates=updates, stop_at=stop_at, device=device)
    if json_output:
        print(json.dumps(found.summary()))
    else:
        for line in found.lines():
            print(line)
    say(found.verdict if found.equal else f"error: {found.verdict}")
    if not found.equal:
        raise typer.Exit(2)
