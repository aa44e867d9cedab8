"""``dragoman inspect activations``: curves of what stands between two layers."""

from dragoman.cli.inspecting import Png, check_png, print_lines
from dragoman.cli.lines import say


def inspect_activations(png: Png = None) -> None:
    """Print the activations that recipes know; the picture has their slopes too."""
    check_png("--png", png)
    from dragoman.inspection import activation_lines, draw_activations  # loads torch

    if png is not None:
        draw_activations(png)
        say(f"{png} holds the picture")
    print_lines(activation_lines())
