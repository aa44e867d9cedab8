"""Attention as a picture: one map with names, and beside it every head of its layer, small."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dragoman.inspection.attention_maps import AttentionKind, AttentionMaps
from dragoman.inspection.lettering import Lettering, piece_labels
from dragoman.inspection.run_picture import new_figure, save_picture

COLOURS = "Blues"  # white to dark blue: one hue, told apart by its lightness alone
_CELL = 0.24  # inches; a label of 8 points fits
_TITLE = 3.2  # inches that the longest title takes
_TITLES = {
    "encoder": "encoder: source to source",
    "decoder": "decoder: target to what was written before",
    "cross": "cross-attention: target to source",
}


def draw_attention(
    maps: AttentionMaps, path: Path, *, kind: AttentionKind, layer: int, head: int | None = None
) -> list[str]:
    """Draw the attention of one layer as PNG.

    Args:
        maps: of a pair.
        path: the picture appears there whole or not at all.
        kind: which use.
        layer: from 0.
        head: the one shown large, from 0; the mean of all heads unless given.

    Returns:
        What the picture cannot show, such as letters that no font has.

    Raises:
        MissingExtraError: matplotlib is not installed.
        DataError: the file cannot be written.
    """
    view = maps.view(kind)
    rows, columns = piece_labels(view.rows), piece_labels(view.columns)
    heads = view.weights.shape[1]
    wide = max(len(columns) * _CELL, _TITLE) + 0.09 * max(map(len, rows)) + 0.6
    high = len(rows) * _CELL + 0.09 * max(map(len, columns)) + 1.3
    small = 1.5  # inches that a small map takes
    across = max(1, math.ceil(heads / max(1, int(max(high, 3.2) // small))))
    figure = new_figure((wide + across * small, max(high, 3.2)), "a picture of attention")
    lettering = Lettering.of([*rows, *columns])
    left, right = figure.subfigures(1, 2, width_ratios=[wide, across * small])
    shown = "mean of all heads" if head is None else f"head {head + 1}"
    axes = left.subplots()
    _draw_map(axes, view.chosen(layer, head), rows, columns, lettering)
    # A title of the axes goes above the labels of the columns; one of the figure lies on them.
    axes.set_title(f"{_TITLES[kind]}\nlayer {layer + 1}, {shown}", loc="left", fontsize=10)
    axes.set_anchor("NW")
    down = math.ceil(heads / across)
    panels = np.atleast_1d(right.subplots(down, across, squeeze=False)).ravel()
    for number, panel in enumerate(panels):
        if number < heads:
            _draw_small(panel, view.weights[layer, number], f"head {number + 1}", number == head)
        else:
            panel.axis("off")
    save_picture(figure, path)
    return lettering.notes()


def _draw_map(
    axes: Any,  # Any: half of matplotlib has no types
    weights: npt.NDArray[np.float32],
    rows: Sequence[str],
    columns: Sequence[str],
    lettering: Lettering,
) -> None:
    image = axes.imshow(
        weights, cmap=COLOURS, vmin=0, vmax=1, aspect="equal", interpolation="nearest"
    )
    scale = axes.figure.colorbar(
        image, ax=axes, location="bottom", fraction=0.03, pad=0.02, shrink=0.4, ticks=[0, 0.5, 1]
    )
    scale.ax.tick_params(labelsize=7)
    scale.set_label("weight; each row sums to 1", fontsize=7)
    style: dict[str, Any] = {"fontsize": 8, "fontfamily": list(lettering.families)}
    style["parse_math"] = False  # a piece may hold $
    axes.xaxis.tick_top()
    down = [lettering.write_down(each) for each in columns]
    axes.set_xticks(range(len(columns)), [text for text, _ in down], linespacing=1.0, **style)
    axes.set_yticks(range(len(rows)), [lettering.write(each) for each in rows], **style)
    for label, (_, turned) in zip(axes.get_xticklabels(), down, strict=True):
        label.set_rotation(turned)
    axes.set_xticks(np.arange(0.5, len(columns) - 1), minor=True)
    axes.set_yticks(np.arange(0.5, len(rows) - 1), minor=True)
    axes.grid(which="minor", color="#DDDDDD", linewidth=0.5)
    axes.tick_params(which="both", length=0)
    for spine in axes.spines.values():
        spine.set_color("#999999")


def _draw_small(axes: Any, weights: npt.NDArray[np.float32], title: str, chosen: bool) -> None:
    axes.imshow(weights, cmap=COLOURS, vmin=0, vmax=1, aspect="equal", interpolation="nearest")
    axes.set_title(title, fontsize=8, fontweight="bold" if chosen else "normal", pad=3)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color("#D55E00" if chosen else "#999999")
        spine.set_linewidth(2 if chosen else 0.8)
