"""``dragoman inspect positions``: what tells positions apart."""

from typing import Annotated

import typer

from dragoman.cli.inspecting import Png, RecipeOrModel, check_png, print_lines, read_subject
from dragoman.cli.lines import say
from dragoman.cli.options import Setting


def inspect_positions(
    subject: RecipeOrModel,
    settings: Setting = None,
    length: Annotated[int, typer.Option(min=2, max=2000, help="Positions.")] = 64,
    png: Png = None,
) -> None:
    """Show what tells positions apart, and how near ones differ from far ones (section 3.5).

    Of a recipe, what is to be learned has its first random values.
    """
    check_png("--png", png)
    from dragoman.inspection import draw_positions, position_views  # loads torch

    chosen = read_subject(subject, settings)
    views = position_views(chosen.config, chosen.model, length=length)
    if png is not None:
        draw_positions(views, png)
        say(f"{png} holds the picture")
    lines: list[str] = []
    for view in views:
        lines += [*([""] if lines else []), *view.lines()]
    print_lines(lines)
