"""Table 1 for given sizes as text, for programs and as a picture, with measurements beside it.

Letters as in ``complexity.py``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.inspection.complexity import LayerSizes, crossing, crossings, layer_kinds
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


@dataclass(frozen=True, slots=True)
class MeasuredLayer:
    """One training pass of one layer over a batch of sequences.

    Args:
        name: of the kind of layer.
        n: positions.
        seconds: forward and backward, the fastest of several.
        peak_bytes: most that tensors held at once, beside the weights; gradients included.
    """

    name: str
    n: int
    seconds: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class MeasuredCrossing:
    """From which length on self-attention took longer than another kind of layer.

    Args:
        d: representation width.
        name: of the other kind.
        n: positions; None where it was still faster at ``longest``.
        longest: positions up to which it was looked for.
        shortest: positions from which it was looked for; ``n`` where it was slower there already.
    """

    d: int
    name: str
    n: float | None
    longest: int
    shortest: int = 1

    @property
    def below(self) -> bool:
        """Whether self-attention was slower at every length."""
        return self.n is not None and self.n <= self.shortest


@dataclass(frozen=True, slots=True)
class Complexity:
    """Table 1 filled in.

    Args:
        n: positions.
        sizes: of the layers.
        measured: none unless asked.
        crossed: measured for several widths; none unless asked.
        batch: sequences that went through together when measured.
    """

    n: int
    sizes: LayerSizes
    measured: Sequence[MeasuredLayer] = ()
    crossed: Sequence[MeasuredCrossing] = ()
    batch: int = 1

    def lines(self) -> list[str]:
        """Say it for people."""
        sizes = self.sizes
        given = f"n {self.n:,}, d {sizes.d:,}, k {sizes.k}, r {sizes.r}, heads {sizes.heads}"
        lines = [f"Table 1 of the paper with {given}", "", *self._terms(), ""]
        lines += [
            "operations: the term of table 1 filled in",
            "multiplications: of a real layer, with its projections",
        ]
        if self.measured:
            lines += ["", *_table(_grid("time, ms", self.measured, _milliseconds))]
            lines += ["", *_table(_grid("memory, MiB", self.measured, _mebibytes))]
            lines += [
                "",
                f"{_sequences(self.batch)} forward and backward in float32; memory beside the "
                "weights",
                "our restricted self-attention forms all n² scores, and hides those too far away",
            ]
        lines += ["", *self._crossings()]
        return lines

    def summary(self) -> dict[str, Any]:  # Any: as JSON holds it
        """Say it for programs; a path that never ends is null."""
        rows: list[dict[str, Any]] = []
        for kind in layer_kinds(self.sizes):
            cost = kind.cost(self.n)
            rows.append(
                {
                    "layer": kind.name,
                    "formula": kind.terms[0],
                    "operations": cost.per_layer,
                    "multiplications": kind.multiplications(self.n),
                    "sequential": cost.sequential,
                    "max_path": cost.max_path if math.isfinite(cost.max_path) else None,
                }
            )
        return {
            "n": self.n,
            **asdict(self.sizes),
            "batch": self.batch,
            "layers": rows,
            "crossings": [asdict(one) for one in crossings(self.sizes)],
            "measured": [asdict(one) for one in self.measured],
            "measured_crossings": [asdict(one) for one in self.crossed],
        }

    def _terms(self) -> list[str]:
        rows = [["layer", "formula", "operations", "multiplications", "sequential", "path", ""]]
        for kind in layer_kinds(self.sizes):
            cost = kind.cost(self.n)
            formula, _, path = kind.terms
            rows.append(
                [
                    kind.name,
                    formula,
                    f"{cost.per_layer:,}",
                    f"{kind.multiplications(self.n):,}",
                    f"{cost.sequential:,}",
                    f"{cost.max_path:,.4g}",
                    "" if path in ("1", "n") else path,
                ]
            )
        return _table(rows, left=(0, 1, 6))

    def _crossings(self) -> list[str]:
        rows = [["self-attention costs less while n is below", "by table 1", "multiplied"]]
        for one in crossings(self.sizes):
            rows.append([f"  {one.name}", _limit(one.terms), _limit(one.multiplications)])
        lines = _table(rows)
        if self.crossed:
            rows = [["self-attention is faster while n is below", "table 1", "multiplied", "timed"]]
            for one in self.crossed:
                found = f"above {one.longest:,}" if one.n is None else f"{one.n:,.0f}"
                found = f"below {one.shortest:,}" if one.below else found
                terms, counted = crossings_at(self.sizes, one.d, one.name)
                rows.append([f"  d {one.d:,}, {one.name}", _limit(terms), _limit(counted), found])
            lines += ["", *_table(rows)]
        return lines


def crossings_at(sizes: LayerSizes, d: int, name: str) -> tuple[int | None, int | None]:
    """Say from which n on self-attention costs as much as a kind of layer at width d.

    Returns:
        By the terms of table 1, and by multiplications; 1 is always, None never.
    """
    attention, *others = layer_kinds(replace(sizes, d=d, heads=1))
    other = next(kind for kind in others if kind.name == name)
    return (
        crossing(lambda n: attention.cost(n).per_layer, lambda n: other.cost(n).per_layer),
        crossing(attention.multiplications, other.multiplications),
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
    for (name, points), style in zip(_by_layer(found.measured).items(), _STYLES, strict=True):
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
    axes.set_title(f"measured, d = {found.sizes.d:,}, {_sequences(found.batch)}", fontsize=10)


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


def _sequences(batch: int) -> str:
    return "one sequence" if batch == 1 else f"{batch:,} sequences at once"


def _by_layer(measured: Sequence[MeasuredLayer]) -> dict[str, dict[int, MeasuredLayer]]:
    found: dict[str, dict[int, MeasuredLayer]] = {}
    for one in measured:
        found.setdefault(one.name, {})[one.n] = one
    return found


def _grid(
    title: str, measured: Sequence[MeasuredLayer], say: Callable[[MeasuredLayer], str]
) -> list[list[str]]:
    lengths = sorted({one.n for one in measured})
    rows = [[title, *(f"n {n:,}" for n in lengths)]]
    for name, points in _by_layer(measured).items():
        rows.append([name, *(say(points[n]) if n in points else "" for n in lengths)])
    return rows


def _milliseconds(one: MeasuredLayer) -> str:
    return f"{1e3 * one.seconds:,.2f}"


def _mebibytes(one: MeasuredLayer) -> str:
    return f"{one.peak_bytes / 2**20:,.2f}"


def _limit(n: int | None) -> str:
    """Say a crossing: the first n that is no longer cheaper."""
    if n is None:
        return "any"
    return "none" if n <= 1 else f"{n:,}"


def _table(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Align columns: those of numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:<{width}}" if number in left else f"{cell:>{width}}"
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
