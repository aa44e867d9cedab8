"""``dragoman inspect complexity``: table 1 of the paper, filled in and measured."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.lines import lines_out, say
from dragoman.cli.options import Json
from dragoman.errors import ConfigError


def inspect_complexity(
    n: Annotated[int, typer.Option("--n", min=1, help="Length of the sequence.")] = 64,
    d: Annotated[int, typer.Option("--d", min=1, help="Representation width.")] = 512,
    k: Annotated[int, typer.Option("--k", min=2, help="Kernel size of convolutions.")] = 3,
    r: Annotated[
        int, typer.Option("--r", min=3, help="Keys that restricted self-attention sees; odd.")
    ] = 31,
    heads: Annotated[int, typer.Option(min=1, help="Heads of attention; divide d.")] = 8,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Time our layers too: n / 4 to 4 n, and the crossover."),
    ] = False,
    batch: Annotated[
        int, typer.Option(min=1, help="Sequences that go through together when measured.")
    ] = 1,
    longest: Annotated[
        int, typer.Option(min=8, help="Length at which a timed crossing is looked for no further.")
    ] = 2_048,
    output: Annotated[
        Path | None, typer.Option(help="Picture, PNG; none unless given; extra plot.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Compare layers as table 1 of the paper does: operations, sequential steps, path lengths."""
    from dragoman.inspection import Complexity, LayerSizes, draw_complexity  # loads torch
    from dragoman.run import measure_crossing, measure_layers

    if output is not None and output.suffix.lower() != ".png":
        raise ConfigError("--output", f"{output} is not named .png", "pictures are PNG")
    try:
        sizes = LayerSizes(d=d, k=k, r=r, heads=heads)
    except ValueError as error:
        name, _, problem = str(error).partition(": ")
        raise ConfigError(f"--{name}", problem) from None
    found = Complexity(n, sizes)
    if measure:
        say("measuring, which can take a minute")
        lengths = sorted({max(1, n * step // 4) for step in (1, 2, 4, 8, 16)})
        widths = [width for width in (d // 4, d // 2, d) if width >= heads and width % heads == 0]
        found = Complexity(
            n,
            sizes,
            list(measure_layers(sizes, lengths, batch=batch)),
            [
                measure_crossing(
                    replace(sizes, d=width), against=kind, longest=longest, batch=batch
                )
                for kind in ("recurrent", "recurrent, LSTM", "convolutional")
                for width in widths
            ],
            batch,
        )
    with lines_out(None) as write:
        for line in [json.dumps(found.summary())] if json_output else found.lines():
            write(line)
    if output is not None:
        draw_complexity(found, output)
        say(f"{output} holds the picture")
