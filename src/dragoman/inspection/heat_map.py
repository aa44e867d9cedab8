"""Weights as text, for terminals."""

import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_SHADES = " ░▒▓█"


def heat_map(weights: npt.NDArray[np.float32], rows: Sequence[str], columns: Sequence[str]) -> str:
    """Draw weights as text: darker is more, in five shades of equal steps.

    Args:
        weights: (rows, columns), each row summing to 1.
        rows: labels of the rows.
        columns: labels of the columns, written downwards above the map.

    Returns:
        Lines without a trailing line break.
    """
    names = [_letters(name.strip() or name) for name in columns]
    margin = max((_width(name) for name in rows), default=0) + 1
    height = max((len(name) for name in names), default=0)
    lines: list[str] = []
    for line in range(height):
        down = [
            name[line - height + len(name)] if line >= height - len(name) else " " for name in names
        ]
        # A wide letter takes the gap that follows it as well.
        cells = "".join(letter + " " * (2 - _width(letter)) for letter in down)
        lines.append(" " * (margin + 1) + cells)
    for name, row in zip(rows, weights, strict=True):
        shades = [_SHADES[min(int(weight * len(_SHADES)), len(_SHADES) - 1)] for weight in row]
        lines.append(" " * (margin - _width(name)) + name + " " + " ".join(shades))
    return "\n".join(line.rstrip() for line in lines)


def _letters(text: str) -> list[str]:
    """Cut text into what takes cells of its own, each with the marks upon it."""
    letters: list[str] = []
    for character in text:
        if letters and not _width(character):
            letters[-1] += character
        else:
            letters.append(character)
    return letters


def _width(text: str) -> int:
    """Count the cells of a terminal that text takes: two for wide letters, none for marks."""
    return sum(
        0
        if unicodedata.category(each) in ("Mn", "Me", "Cf")
        else 1 + (unicodedata.east_asian_width(each) in "WF")
        for each in text
    )
