"""``dragoman inspect field``: how far layers see."""

from typing import Annotated

import typer

from dragoman.cli.inspecting import Png, check_png, print_lines
from dragoman.cli.lines import say
from dragoman.errors import ConfigError


def inspect_field(
    positions: Annotated[int, typer.Option(min=2, max=64, help="Positions n.")] = 16,
    kernel: Annotated[int, typer.Option(min=2, help="Kernel k of convolutions.")] = 3,
    keys: Annotated[int, typer.Option(min=3, help="Keys r of restricted self-attention.")] = 7,
    png: Png = None,
) -> None:
    """Show how many layers of each kind connect the last position with the first (table 1)."""
    check_png("--png", png)
    if keys % 2 == 0:
        problem = f"{keys} is even, and the keys are centred on the query"
        raise ConfigError("--keys", problem, f"try {keys - 1} or {keys + 1}")
    from dragoman.inspection import draw_fields, field_lines, field_sketches  # loads torch

    sketches = field_sketches(positions, k=kernel, r=keys)
    if png is not None:
        draw_fields(sketches, png)
        say(f"{png} holds the picture")
    print_lines(field_lines(sketches))
