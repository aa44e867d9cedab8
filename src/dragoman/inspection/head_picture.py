"""What each head is worth, as a picture."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from dragoman.inspection.attention_maps import AttentionKind
from dragoman.inspection.head_importance import HeadEffect
from dragoman.inspection.run_picture import new_figure, save_picture

_TITLES = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}


def draw_heads(effects: Sequence[HeadEffect], path: Path, measured: str) -> None:
    """Draw each kind as PNG, a row a layer and a column a head, with the numbers.

    Raises:
        MissingExtraError: matplotlib is not installed.
        DataError: the file cannot be written.
    """
    kinds = [kind for kind in get_args(AttentionKind) if any(e.head.kind == kind for e in effects)]
    heads = 1 + max(effect.head.head for effect in effects)
    layers = 1 + max(effect.head.layer for effect in effects)
    most = max(abs(effect.worse) for effect in effects) or 1.0
    wide = max(3.4, 0.62 * heads + 1)
    figure = new_figure((wide * len(kinds) + 1, max(2.8, 0.5 * layers + 1.6)), "a picture of heads")
    panels = figure.subplots(1, len(kinds), squeeze=False).ravel()
    image = None
    for axes, kind in zip(panels, kinds, strict=True):
        table = np.full((layers, heads), math.nan)
        for effect in effects:
            if effect.head.kind == kind:
                table[effect.head.layer, effect.head.head] = effect.worse
        image = _draw_kind(axes, table, most)
        axes.set_title(_TITLES[kind], fontsize=10)
    scale = figure.colorbar(image, ax=list(panels), fraction=0.04)
    scale.set_label(f"{measured}, worse by", fontsize=8)
    save_picture(figure, path)


def _draw_kind(axes: Any, table: npt.NDArray[np.float64], most: float) -> Any:
    """Draw one table (layers, heads). Any: half of matplotlib has no types."""
    # Orange for worse, violet for better: told apart by all eyes, white is no change.
    image = axes.imshow(table, cmap="PuOr_r", vmin=-most, vmax=most, aspect="auto")
    digits = 3 if most < 0.1 else 2
    for (layer, head), value in np.ndenumerate(table):
        if not math.isnan(value):
            ink = "white" if abs(value) > 0.7 * most else "#1b1f24"
            shown = f"{round(float(value), digits) + 0.0:.{digits}f}"  # no minus before a zero
            axes.text(head, layer, shown, ha="center", va="center", fontsize=8, color=ink)
    layers, heads = table.shape
    axes.set_xticks(range(heads), [str(head + 1) for head in range(heads)])
    axes.set_yticks(range(layers), [str(layer + 1) for layer in range(layers)])
    axes.set_xlabel("head")
    axes.set_ylabel("layer")
    axes.tick_params(length=0)
    return image
