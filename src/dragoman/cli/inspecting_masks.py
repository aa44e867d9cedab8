"""``dragoman inspect masks``: who may look at whom."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.inspecting import Png, check_png, print_lines, read_subject
from dragoman.cli.lines import say
from dragoman.cli.options import Setting
from dragoman.errors import ConfigError


def inspect_masks(
    subject: Annotated[
        Path | None,
        typer.Argument(
            help="Recipe (TOML) or model folder; each kind of mask alone unless given.",
            metavar="[RECIPE|MODEL]",
        ),
    ] = None,
    settings: Setting = None,
    length: Annotated[int, typer.Option(min=1, max=200, help="Positions.")] = 12,
    padding: Annotated[int, typer.Option(min=0, help="How many at the end are padding.")] = 3,
    png: Png = None,
) -> None:
    """Show masks as the attention of a model gets them (section 3.2.3)."""
    check_png("--png", png)
    if padding >= length:
        problem = f"{padding} of {length} positions leave nothing to see"
        raise ConfigError("--padding", problem, "give fewer, or a greater --length")
    from dragoman.inspection import draw_masks, mask_kinds, model_masks  # loads torch

    if subject is None:
        masks = mask_kinds(length, padding)
    else:
        masks = model_masks(read_subject(subject, settings).config, length, padding)
    if png is not None:
        draw_masks(masks, png)
        say(f"{png} holds the picture")
    lines: list[str] = []
    for mask in masks:
        lines += [*([""] if lines else []), *mask.lines()]
    print_lines(lines)
