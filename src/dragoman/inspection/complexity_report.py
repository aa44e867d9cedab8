"""Table 1 for given sizes as text and for programs, with measurements beside it.

Letters as in ``complexity.py``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dragoman.inspection.complexity import LayerSizes, crossing, crossings, layer_kinds


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
                f"{sequences_in_words(self.batch)} forward and backward in float32; "
                "memory beside the weights",
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


def sequences_in_words(batch: int) -> str:
    """Say how many went through together."""
    return "one sequence" if batch == 1 else f"{batch:,} sequences at once"


def by_layer(measured: Sequence[MeasuredLayer]) -> dict[str, dict[int, MeasuredLayer]]:
    """Sort measurements by the name of the layer, then by length."""
    found: dict[str, dict[int, MeasuredLayer]] = {}
    for one in measured:
        found.setdefault(one.name, {})[one.n] = one
    return found


def _grid(
    title: str, measured: Sequence[MeasuredLayer], say: Callable[[MeasuredLayer], str]
) -> list[list[str]]:
    lengths = sorted({one.n for one in measured})
    rows = [[title, *(f"n {n:,}" for n in lengths)]]
    for name, points in by_layer(measured).items():
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
