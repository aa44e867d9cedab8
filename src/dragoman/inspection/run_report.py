"""The history of a run in words and numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from dragoman.inspection.run_history import LoggedValidation, RunHistory


def run_lines(history: RunHistory) -> list[str]:
    """Write a summary and a table of the validations, for people."""
    lines = [f"{name:<17} {text}" for name, text in _facts(history)]
    if history.validations:
        lines += ["", *_table(history)]
    return lines


def run_summary(history: RunHistory) -> dict[str, Any]:  # Any: as JSON holds it
    """Say the same for programs, with every point of the curves; what is unknown is null."""
    best = history.best
    return {
        "run": str(history.path),
        "state": history.state,
        "updates": history.steps,
        "planned_updates": history.planned,
        "epoch": history.epoch,
        "seconds": history.seconds,
        "target_tokens_per_second": history.target_tokens_per_second,
        "training_loss_nats": history.last_loss_nats,
        "best": None if best is None else asdict(best),
        "validations": [asdict(entry) for entry in history.validations],
        "log": [asdict(entry) for entry in history.updates],
    }


def _facts(history: RunHistory) -> Iterator[tuple[str, str]]:
    yield "run", str(history.path)
    yield "state", history.state
    of = "" if history.planned is None else f" of {history.planned:,}"
    yield "updates", f"{history.steps:,}{of}"
    if history.epoch is not None:
        yield "epoch", f"{history.epoch:,}"
    if history.seconds is not None:
        yield "training", f"{history.seconds / 60:,.1f} minutes"
    if history.target_tokens_per_second is not None:
        yield "target tokens/s", f"{history.target_tokens_per_second:,.0f} (median)"
    if history.last_loss_nats is not None:
        yield "training loss", f"{history.last_loss_nats:.3f} nats, the last logged"
    if history.best is not None:
        yield "best validation", _best(history.best)


def _best(best: LoggedValidation) -> str:
    parts = [f"update {best.step:,}"]
    if best.loss_nats is not None:
        parts.append(f"loss {best.loss_nats:.3f} nats")
    return ", ".join([*parts, *(f"{name} {value:.2f}" for name, value in best.scores.items())])


def _table(history: RunHistory) -> list[str]:
    head = ["update", "minutes", "loss", "perplexity", *history.metrics]
    rows = [_cells(entry, history.metrics) for entry in history.validations]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        for cells in (head, *rows)
    ]
    marks = ["", *("  best" if entry is history.best else "" for entry in history.validations)]
    return [line + mark for line, mark in zip(lines, marks, strict=True)]


def _cells(entry: LoggedValidation, metrics: Sequence[str]) -> list[str]:
    minutes = None if entry.seconds is None else entry.seconds / 60
    return [
        f"{entry.step:,}",
        _shown(minutes, 1),
        _shown(entry.loss_nats, 3),
        _shown(entry.perplexity, 2),
        *(_shown(entry.scores.get(name), 2) for name in metrics),
    ]


def _shown(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
