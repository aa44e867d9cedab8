"""Curves of what may stand between two layers, with their slopes (section 3.3)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from dragoman.inspection.run_picture import new_figure, save_picture
from dragoman.nn import ACTIVATIONS

Floats = npt.NDArray[np.float64]
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
_DASHES = ("-", "--", ":", "-.")


@dataclass(frozen=True, slots=True)
class ActivationCurve:
    """One function at some places.

    Args:
        x: where.
        values: of the function.
        slopes: of the function; at a corner that of PyTorch.
    """

    x: Floats
    values: Floats
    slopes: Floats


def activation_curves(x: Floats) -> dict[str, ActivationCurve]:
    """Compute every activation that recipes know, by name."""
    return {name: _curve(name, x) for name in ACTIVATIONS}


def _curve(name: str, x: Floats) -> ActivationCurve:
    places = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    values = ACTIVATIONS[name](places)
    (slopes,) = torch.autograd.grad(values.sum(), places)
    return ActivationCurve(x, values.detach().numpy(), slopes.numpy())


def activation_lines() -> list[str]:
    """Write a table of values, for some places."""
    x = np.array([-4.0, -3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0])
    curves = activation_curves(x)
    lines = ["    x" + "".join(f"{name:>12}" for name in curves)]
    for place, at in enumerate(x):
        # Zero has no sign here: what rounds to it from below would show one.
        values = (round(float(curve.values[place]), 4) + 0.0 for curve in curves.values())
        lines.append(f"{at:>5.1f}" + "".join(f"{value:>12.4f}" for value in values))
    return lines


def draw_activations(path: Path) -> None:
    """Draw values and slopes of all as PNG.

    Raises:
        MissingExtraError: matplotlib is not installed.
        DataError: the file cannot be written.
    """
    figure = new_figure((11, 4.4), "a picture of activations")
    left, right = figure.subplots(1, 2)
    curves = activation_curves(np.linspace(-4, 4, 801))
    for number, (name, curve) in enumerate(curves.items()):
        style = {"color": _COLOURS[number % 4], "linestyle": _DASHES[number % 4], "label": name}
        left.plot(curve.x, curve.values, linewidth=1.8, **style)
        right.plot(curve.x, curve.slopes, linewidth=1.8, **style)
    for axes, title in ((left, "value"), (right, "slope")):
        axes.set_title(title, fontsize=11)
        axes.set_xlabel("x")
        axes.grid(alpha=0.25)
        axes.axhline(0, color="#555555", linewidth=0.8)
        axes.axvline(0, color="#555555", linewidth=0.8)
        axes.legend(fontsize=9)
    save_picture(figure, path)
