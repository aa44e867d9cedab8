"""Table 1 as a picture: costs over the length, and where n against d makes layers cost the same."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.inspection.complexity import LayerSizes, layer_kinds
from dragoman.inspection.complexity_report import (
    Complexity,
    MeasuredCrossing,
    by_layer,
    crossings_at,
    sequences_in_words,
)
from dragoman.inspection.run_picture import new_figure, save_picture

_STYLES = (  # colours of Okabe and Ito (2008); dash and marker tell lines apart as well
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#E69F00", "--", "D"),
    ("#009E73", "-.", "^"),
    ("#56B4E9", "-.", "v"),
    ("#CC79A7", ":", "P"),
    ("#555555", ":", "X"),
    ("#000000", "-", "*"),
)


def draw_complexity(found: Complexity, path: Path) -> None:
    """Draw costs over the length, and the crossover of n against d, as PNG.

    The curves are measured times where there are any, otherwise the terms of table 1.

    Raises:
        MissingExtraError: matplotlib is not installed.
        DataError: the file cannot be written.
    """
    figure = new_figure((14, 5), "the picture of table 1")
    left, right = figure.subplots(1, 2)
    if found.measured:
        _draw_measured(left, found)
    else:
        _draw_terms(left, found)
    _draw_crossings(right, found)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.grid(alpha=0.25)
    left.legend(fontsize=8)
    right.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    save_picture(figure, path)


def _draw_measured(axes: Any, found: Complexity) -> None:
    for (name, points), style in zip(by_layer(found.measured).items(), _STYLES, strict=True):
        colour, dash, marker = style
        axes.plot(
            list(points),
            [1e3 * one.seconds for one in points.values()],
            color=colour,
            linestyle=dash,
            marker=marker,
            markersize=4,
            label=name,
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("n, positions")
    axes.set_ylabel("milliseconds, forward and backward")
    axes.set_title(
        f"measured, d = {found.sizes.d:,}, {sequences_in_words(found.batch)}", fontsize=10
    )


def _draw_terms(axes: Any, found: Complexity) -> None:
    lengths = [2**power for power in range(2, max(12, found.n.bit_length() + 2))]
    for kind, (colour, dash, _) in zip(layer_kinds(found.sizes), _STYLES, strict=True):
        costs = [kind.cost(n).per_layer for n in lengths]
        axes.plot(lengths, costs, color=colour, linestyle=dash, label=kind.name)
    axes.axvline(found.n, color="#555555", linewidth=0.9, linestyle=":")
    axes.set_yscale("log")
    axes.set_xlabel("n, positions; dotted: the given n")
    axes.set_ylabel("operations")
    axes.set_title(f"by table 1, d = {found.sizes.d:,}", fontsize=10)


def _draw_crossings(axes: Any, found: Complexity) -> None:
    widths = sorted({one.d for one in found.crossed} | {32, 64, 128, 256, 512, 1024})
    axes.plot(widths, widths, color="#0072B2", label="n = d: table 1, against recurrence")
    axes.fill_between(widths, widths, min(widths), color="#0072B2", alpha=0.08, linewidth=0)
    for number, name in enumerate(dict.fromkeys(one.name for one in found.crossed)):
        crossed = [one for one in found.crossed if one.name == name]
        _draw_crossed(axes, found.sizes, widths, crossed, number + 1)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("d, representation width")
    axes.set_ylabel("n, positions")
    axes.set_title("below a line self-attention costs less", fontsize=10)


def _draw_crossed(
    axes: Any,
    sizes: LayerSizes,
    widths: Sequence[int],
    crossed: Sequence[MeasuredCrossing],
    style: int,
) -> None:
    """Draw where one other kind of layer was met: points as timed, a line by multiplications."""
    colour, _, marker = _STYLES[style]
    name = crossed[0].name
    counted = [(d, crossings_at(sizes, d, name)[1]) for d in widths]
    line = [(d, n) for d, n in counted if n is not None and n > 1]
    if line:
        label = f"{name}, by multiplications"
        axes.plot(*zip(*line, strict=True), color=colour, linestyle="--", label=label)
    met = [(one.d, one.n) for one in crossed if one.n is not None and not one.below]
    if met:
        label = f"{name}, timed"
        axes.plot(*zip(*met, strict=True), color=colour, linestyle="", marker=marker, label=label)
    aside = 1.08 ** (style - 2)  # so that arrows of several kinds do not hide each other
    for label, arrow, ends in (
        ("still slower here", r"$\uparrow$", [(x.d, x.longest) for x in crossed if x.n is None]),
        ("faster from here on", r"$\downarrow$", [(x.d, x.shortest) for x in crossed if x.below]),
    ):
        if ends:
            widths, lengths = zip(*ends, strict=True)
            axes.plot(
                [aside * d for d in widths],
                lengths,
                color=colour,
                linestyle="",
                marker=arrow,
                markersize=10,
                label=f"{name}: {label}",
            )
