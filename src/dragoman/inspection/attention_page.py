"""Attention as one page: every layer and head of the three uses, and lines from word to word.

It is a single file that asks for nothing else, and its own policy forbids it to.
"""

import base64
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, get_args

import numpy as np

from dragoman.inspection.attention_maps import AttentionKind, AttentionMaps
from dragoman.inspection.lettering import piece_labels

_STEPS = 65_535  # weights travel as 16 bits each; 1 is all of them


def attention_page(maps: Sequence[AttentionMaps], title: str) -> str:
    """Make the page of some pairs.

    Args:
        maps: of each pair, at least one.
        title: stands above, such as the name of the model.

    Returns:
        HTML.

    Raises:
        ValueError: there is no pair.
    """
    if not maps:
        raise ValueError("no pair to show")
    held = json.dumps(
        {"title": title, "pairs": [_pair(each) for each in maps]},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    for sign in "<>&\u2028\u2029":  # none of them may end the script or a line of it
        held = held.replace(sign, f"\\u{ord(sign):04x}")
    template = files("dragoman.inspection").joinpath("attention_page.html").read_text("utf-8")
    return template.replace("/*DATA*/null", held)


def _pair(maps: AttentionMaps) -> dict[str, Any]:  # Any: values of JSON
    views: dict[str, Any] = {}
    for kind in get_args(AttentionKind):
        view = maps.view(kind)
        numbers = np.rint(view.weights.clip(0, 1) * _STEPS).astype("<u2")
        views[kind] = {
            "shape": list(numbers.shape),
            "rows": piece_labels(view.rows),
            "columns": piece_labels(view.columns),
            "weights": base64.b64encode(numbers.tobytes()).decode("ascii"),
        }
    return views
