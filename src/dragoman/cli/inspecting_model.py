"""``dragoman inspect model``: what it is made of."""

import json

from dragoman.cli.inspecting import Png, RecipeOrModel, check_png, print_lines, read_subject
from dragoman.cli.lines import say
from dragoman.cli.options import Json, Setting


def inspect_model(
    subject: RecipeOrModel,
    settings: Setting = None,
    json_output: Json = False,
    png: Png = None,
) -> None:
    """Draw the diagram of a model (figure 1) and count what its parts learn.

    Of a recipe, the vocabulary counts with the size asked for; little text gives fewer pieces.
    """
    check_png("--png", png)
    from dragoman.inspection import (  # loads torch
        count_lines,
        draw_shape,
        model_stacks,
        part_counts,
        stack_lines,
    )

    chosen = read_subject(subject, settings)
    counts, stacks = part_counts(chosen.config), model_stacks(chosen.config)
    total = sum(count.total for count in counts)
    if png is not None:
        draw_shape(stacks, f"{chosen.name}: {total:,} parameters", png)
        say(f"{png} holds the picture")
    if json_output:
        rows = [
            {"part": each.part, "layers": each.times, "each": each.each, "total": each.total}
            for each in counts
        ]
        print_lines([json.dumps({"parameters": total, "parts": rows})])
    else:
        print_lines([*stack_lines(stacks), "", *count_lines(counts)])
    if chosen.assumed:
        say(f"note: {chosen.assumed}")
