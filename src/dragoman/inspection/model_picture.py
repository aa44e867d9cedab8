"""A model as a picture, inputs at the bottom as in figure 1."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.inspection.model_shape import Block, Role, Stack
from dragoman.inspection.run_picture import new_figure, save_picture

_FILLS: dict[Role, str] = {
    "plain": "#FFFFFF",
    "table": "#FBE3C8",
    "attention": "#CFE3F5",
    "feed_forward": "#D5EBDC",
    "norm": "#F3F0D2",
    "output": "#E6DDF0",
}


_WIDE, _HIGH, _GAP, _COLUMN = 3.7, 0.66, 0.25, 4.7  # of a box and between them
_INK, _ARROW, _CROSS = "#1b1f24", "#444444", "#0072B2"
Point = tuple[float, float]


def draw_shape(stacks: Sequence[Stack], title: str, path: Path) -> None:
    """Draw the diagram as PNG, inputs at the bottom as in figure 1.

    Raises:
        MissingExtraError: matplotlib is not installed.
        DataError: the file cannot be written.
    """
    most = max(len(each.before) + len(each.layer) + len(each.after) for each in stacks)
    top = most * (_HIGH + _GAP) + 1.1
    figure = new_figure((_COLUMN * len(stacks) * 0.95 + 0.4, 0.56 * top + 0.4), "a diagram")
    axes = figure.subplots()
    memory: Point | None = None
    for column, stack in enumerate(stacks):
        memory = _draw_stack(axes, stack, _COLUMN * column, memory)
    axes.set_xlim(-0.4, _COLUMN * len(stacks) - 0.1)
    axes.set_ylim(-0.2, top)
    axes.axis("off")
    axes.set_title(title, fontsize=11, parse_math=False)
    save_picture(figure, path)


def _draw_stack(axes: Any, stack: Stack, x: float, memory: Point | None) -> Point:
    """Draw one column; give the place where its output leaves to the right.

    Any: half of matplotlib has no types.
    """
    first, last = len(stack.before), len(stack.before) + len(stack.layer)
    middle, step = x + _WIDE / 2, _HIGH + _GAP
    height = 0.0
    for place, block in enumerate((*stack.before, *stack.layer, *stack.after)):
        # The frame of the layers takes room of its own below and above them.
        y = place * step + 0.25 * (place >= first) + 0.25 * (place >= last)
        if place:
            arrow = {"arrowstyle": "-|>", "color": _ARROW, "linewidth": 1.1}
            axes.annotate("", (middle, y), (middle, height), arrowprops=arrow, zorder=5)
        _draw_block(axes, block, x, y)
        if block.reads_encoder and memory is not None:
            _draw_memory(axes, memory, (x, y + _HIGH / 2))
        height = y + _HIGH
    _draw_frame(axes, stack, x, first * step + 0.25, last * step - _GAP + 0.25)
    extra = 0.3 if stack.after else 0.5
    axes.text(middle, height + extra, stack.name, ha="center", fontsize=11, fontweight="bold")
    return x + _WIDE, height - _HIGH / 2


def _draw_block(axes: Any, block: Block, x: float, y: float) -> None:
    from matplotlib.patches import FancyBboxPatch  # optional; whoever comes so far has it

    patch = FancyBboxPatch(
        *((x, y), _WIDE, _HIGH),
        boxstyle="round,pad=0,rounding_size=0.1",
        edgecolor="#FFFFFF" if block.role == "plain" else "#555555",
        facecolor=_FILLS[block.role],
        linewidth=0.9,
        zorder=3,
    )
    axes.add_patch(patch)
    style = {"ha": "center", "va": "center", "fontsize": 9, "color": _INK, "zorder": 4}
    axes.text(x + _WIDE / 2, y + _HIGH / 2, block.text, **style)


def _draw_memory(axes: Any, start: Point, end: Point) -> None:
    """Lead what the encoder says, between the columns, to where the decoder reads it."""
    between = end[0] - 0.45
    corners = [start, (between, start[1]), (between, end[1])]
    style = {"color": _CROSS, "linewidth": 1.6, "zorder": 6}
    axes.plot([x for x, _ in corners], [y for _, y in corners], **style)
    arrow = {"arrowstyle": "-|>", "color": _CROSS, "linewidth": 1.6, "shrinkA": 0}
    axes.annotate("", end, corners[-1], arrowprops=arrow, zorder=6)


def _draw_frame(axes: Any, stack: Stack, x: float, bottom: float, top: float) -> None:
    """Draw the frame around one layer, and how many there are."""
    from matplotlib.patches import Rectangle  # optional; whoever comes so far has it

    corner, size = (x - 0.15, bottom - 0.15), (_WIDE + 0.3, top - bottom + 0.3)
    frame = Rectangle(corner, *size, facecolor="#F6F8FA", edgecolor="#888888", zorder=1)
    axes.add_patch(frame)
    style = {"fontsize": 10, "va": "bottom", "color": _INK}
    axes.text(x + _WIDE + 0.2, bottom - 0.15, f"x {stack.times}", **style)
