"""A comparison as a picture: BLEU with its intervals, and losses on the way.

The colours are those of Okabe and Ito (2008), which people who see few colours can tell apart; each
variant has a marker and a dash of its own as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.atomic import new_file
from dragoman.errors import MissingExtraError
from dragoman.run.comparison.rows import Row
from dragoman.run.comparison.table import Compared

_BLACK = "#000000"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
_DASHES = ("-", "--", "-.", ":")
_MANY = 6  # points of a curve whose first quarter is left out
_ROW_INCHES, _GAP = 0.27, 0.9  # height of a row; room above a group, in rows


@dataclass(frozen=True, slots=True)
class _Look:
    colour: str
    marker: str
    dash: str
    place: float  # on the axis of variants, downwards


def draw_comparison(compared: Compared, path: Path) -> None:
    """Draw BLEU of each variant with its interval, and the loss over updates or minutes, as PNG.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # optional
    except ImportError:
        raise MissingExtraError("the picture of a comparison", "plot") from None
    looks = _looks(compared.rows)
    height = max(3.6, 1.3 + _ROW_INCHES * (looks[-1].place + 1))
    figure: Any = Figure(
        figsize=(12.5, height), layout="constrained"
    )  # Any: half of it has no types
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    _draw_bleu(left, compared, looks)
    _draw_curves(right, compared, looks)
    figure.suptitle(f"{compared.name}: {compared.budget} for each variant")
    with new_file(path) as file:
        figure.savefig(file, format="png", dpi=150, metadata={"Software": None})


def _looks(rows: Sequence[Row]) -> list[_Look]:
    """Give each group a colour, each variant in it a marker and a dash; the first row is black."""
    groups = list(dict.fromkeys(row.group for row in rows[1:]))
    seen: dict[str, int] = {}
    looks: list[_Look] = []
    place, above = 0.0, rows[0].group
    for row in rows:
        if row.group != above:
            place, above = place + _GAP, row.group
        if not looks:
            looks.append(_Look(_BLACK, "o", "-", place))
        else:
            colour = _COLOURS[groups.index(row.group) % len(_COLOURS)]
            number = seen.get(colour, 0)  # groups that share a colour share its markers out
            seen[colour] = number + 1
            marker, dash = _MARKERS[number % len(_MARKERS)], _DASHES[number % len(_DASHES)]
            looks.append(_Look(colour, marker, dash, place))
        place += 1
    return looks


def _draw_bleu(axes: Any, compared: Compared, looks: Sequence[_Look]) -> None:
    first = compared.rows[0]
    axes.axvspan(first.bleu_low, first.bleu_high, color="#000000", alpha=0.07, linewidth=0)
    axes.axvline(first.bleu, color=_BLACK, linewidth=0.8, linestyle=":")
    above = first.group
    for row, look in zip(compared.rows, looks, strict=True):
        below, over = max(row.bleu - row.bleu_low, 0), max(row.bleu_high - row.bleu, 0)
        axes.errorbar(
            row.bleu,
            look.place,
            xerr=[[below], [over]],
            color=look.colour,
            marker=look.marker,
            markersize=6.5,
            capsize=3,
            linewidth=1.4,
        )
        if row.group != above:
            above = row.group
            axes.annotate(
                row.group,
                (0, look.place - 0.85),
                xycoords=("axes fraction", "data"),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
                fontweight="bold",
                color=look.colour,
            )
    axes.set_yticks([look.place for look in looks], [row.name for row in compared.rows])
    axes.set_ylim(looks[-1].place + 0.8, -0.8)
    right = axes.secondary_yaxis("right")
    right.set_yticks([look.place for look in looks], [_numbers(row) for row in compared.rows])
    right.tick_params(length=0, labelsize=8)
    axes.set_xlabel("BLEU, 95 % interval; grey: that of the first variant")
    axes.grid(axis="x", alpha=0.25)


def _numbers(row: Row) -> str:
    found = "" if row.perplexity is None else f"  ppl {row.perplexity:.2f}"
    return f"{row.bleu:.2f}{found}"


def _draw_curves(axes: Any, compared: Compared, looks: Sequence[_Look]) -> None:
    by_time = any(run.minutes is not None for row in compared.rows for run in row.runs)
    for row, look in zip(compared.rows, looks, strict=True):
        curve = row.runs[0].curve
        if len(curve) >= _MANY:  # the end is where they differ
            curve = curve[len(curve) // 4 :]
        axes.plot(
            [point.seconds / 60 if by_time else point.step for point in curve],
            [point.loss_nats for point in curve],
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker,
            markersize=4.5,
            linewidth=1.2,
        )
    validated = compared.rows[0].perplexity is not None
    axes.set_ylabel(f"{'validation' if validated else 'training'} loss, nats per target piece")
    axes.set_xlabel("minutes of training" if by_time else "updates")
    axes.grid(alpha=0.25)
