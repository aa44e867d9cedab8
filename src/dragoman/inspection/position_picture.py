"""What tells positions apart, as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.inspection.positions import PositionView
from dragoman.inspection.run_picture import new_figure, save_picture

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#777777")
_DASHES = ("-", "--", "-.", ":")


def draw_positions(views: Sequence[PositionView], path: Path) -> None:
    """Draw each scheme as PNG: its numbers at the left, its curves over the distance at the right.

    Raises:
        MissingExtraError: matplotlib is not installed.
        DataError: the file cannot be written.
    """
    figure = new_figure((12, 4.6 * len(views)), "a picture of positions")
    panels = figure.subplots(len(views), 2, squeeze=False)
    for (left, right), view in zip(panels, views, strict=True):
        image = _draw_numbers(left, view)
        figure.colorbar(image, ax=left, fraction=0.05)
        _draw_curves(right, view)
    save_picture(figure, path)


def _draw_numbers(axes: Any, view: PositionView) -> Any:  # Any: half of matplotlib has no types
    most = float(np.abs(view.picture).max()) or 1.0
    rows, columns = view.picture.shape
    left, top = view.first_column - 0.5, view.first - 0.5
    image = axes.imshow(
        view.picture,
        cmap="RdBu_r",  # white is zero; red and blue are told apart by all eyes
        vmin=-most,
        vmax=most,
        aspect="auto",
        interpolation="nearest",
        extent=(left, left + columns, top + rows, top),
    )
    axes.set_title(view.title, fontsize=10)
    axes.set_xlabel(view.columns)
    axes.set_ylabel(view.rows)
    return image


def _draw_curves(axes: Any, view: PositionView) -> None:
    for number, (name, curve) in enumerate(view.curves.items()):
        axes.plot(
            view.offsets,
            curve,
            color=_COLOURS[number % len(_COLOURS)],
            linestyle=_DASHES[number // len(_COLOURS) % len(_DASHES)],
            label=name,
            linewidth=1.4,
        )
    axes.set_xlabel("offset of the key from the query")
    axes.set_title(view.value, fontsize=10)
    axes.grid(alpha=0.25)
    if len(view.curves) > 1:
        axes.legend(fontsize=8, ncols=2)
