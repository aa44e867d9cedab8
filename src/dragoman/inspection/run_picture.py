"""A run as a picture: losses, learning rate and scores over its updates.

The colours are those of Okabe and Ito (2008), which people who see few colours can tell apart; each
line has a dash or a marker of its own as well.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.atomic import new_file
from dragoman.errors import DataError, MissingExtraError
from dragoman.inspection.run_history import RunHistory

_BLUE, _RED, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#555555"
_COLOURS = (_GREEN, "#CC79A7", "#E69F00", "#56B4E9", _BLUE, _RED)
_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES = ("-", "--", "-.", ":")
_FEW = 30  # points that are marked, as a line through one shows nothing


def draw_run(history: RunHistory, path: Path) -> None:
    """Draw loss, rate and each score of a run as PNG, one above the other over the updates.

    Without scores the perplexity takes their place; without validations there are two panels.

    Args:
        history: of the run.
        path: the picture appears there whole or not at all.

    Raises:
        MissingExtraError: matplotlib is not installed.
        DataError: the file cannot be written.
    """
    figure = new_figure((9, 8 if history.validations else 5.5), "the picture of a run")
    panels = figure.subplots(3 if history.validations else 2, 1, sharex=True)
    _draw_losses(panels[0], history)
    _draw_rate(panels[1], history)
    if history.validations:
        _draw_scores(panels[2], history)
    best = history.best
    for panel in panels:
        panel.grid(alpha=0.25)
        if best is not None:
            panel.axvline(best.step, color=_GREY, linewidth=0.9, linestyle=":")
    panels[-1].set_xlabel("updates" if best is None else "updates; dotted: the best validation")
    panels[-1].xaxis.set_major_formatter("{x:,.0f}")
    name = history.path.name or history.path.resolve().name
    figure.suptitle(f"{name}: {history.steps:,} updates", parse_math=False)  # a name may hold $
    figure.align_ylabels()
    save_picture(figure, path)


def new_figure(inches: tuple[float, float], what: str) -> Any:  # Any: half of it has no types
    """Make an empty figure that no display sees.

    Raises:
        MissingExtraError: matplotlib is not installed; ``what`` is said to need it.
    """
    try:
        from matplotlib.figure import Figure  # optional
    except ImportError:
        raise MissingExtraError(what, "plot") from None
    return Figure(figsize=inches, layout="constrained")


def save_picture(figure: Any, path: Path) -> None:  # Any: half of it has no types
    """Write a figure as PNG; the same figure gives the same bytes.

    Raises:
        DataError: the file cannot be written.
    """
    try:
        with new_file(path) as file:
            figure.savefig(file, format="png", dpi=150, metadata={"Software": None})
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        raise DataError(path, problem, "choose another --output") from error


def _draw_losses(axes: Any, history: RunHistory) -> None:
    logged, validated = history.updates, history.validations
    axes.plot(
        [entry.step for entry in logged],
        _gaps([entry.loss_nats for entry in logged]),
        color=_BLUE,
        marker="." if len(logged) < _FEW else "",
        linewidth=1.2,
        label="training, label smoothing included",
    )
    if validated:
        axes.plot(
            [entry.step for entry in validated],
            _gaps([entry.loss_nats for entry in validated]),
            color=_RED,
            linestyle="--",
            marker="o",
            markersize=4,
            linewidth=1.2,
            label="validation",
        )
    axes.set_ylabel("loss, nats per piece")
    axes.legend(fontsize=8)


def _draw_rate(axes: Any, history: RunHistory) -> None:
    logged = history.updates
    axes.plot(
        [entry.step for entry in logged],
        _gaps([entry.learning_rate for entry in logged]),
        color=_BLUE,
        marker="." if len(logged) < _FEW else "",
        linewidth=1.2,
    )
    axes.set_ylabel("learning rate")
    axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    axes.set_ylim(bottom=0)


def _draw_scores(axes: Any, history: RunHistory) -> None:
    steps = [entry.step for entry in history.validations]
    curves = {
        name: [entry.scores.get(name) for entry in history.validations] for name in history.metrics
    } or {"perplexity": [entry.perplexity for entry in history.validations]}
    for number, (name, values) in enumerate(curves.items()):
        axes.plot(
            steps,
            _gaps(values),
            color=_COLOURS[number % len(_COLOURS)],
            linestyle=_DASHES[number % len(_DASHES)],
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=4,
            linewidth=1.2,
            label=name,
        )
    axes.set_ylabel("validation " + (next(iter(curves)) if len(curves) == 1 else "scores"))
    if len(curves) > 1:
        axes.legend(fontsize=8)


def _gaps(values: Sequence[float | None]) -> list[float]:
    """Leave a gap where there is no number."""
    return [math.nan if value is None else value for value in values]
