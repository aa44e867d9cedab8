"""What a run folder tells of its training, read back from ``metrics.jsonl``."""

import json
import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from dragoman.configfile import similar_file
from dragoman.errors import DataError

_Line = Mapping[str, Any]  # Any: as JSON holds it


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedUpdate:
    """A line of progress; what the file does not hold, or no number can say, is None."""

    step: int
    epoch: int | None
    loss_nats: float | None  # per target piece, label smoothing included
    learning_rate: float | None
    target_tokens_per_second: float | None
    seconds: float | None  # training time since the run began


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedValidation:
    """A validation; what the file does not hold, or no number can say, is None."""

    step: int
    loss_nats: float | None  # per target piece, unsmoothed
    perplexity: float | None
    scores: dict[str, float]  # by metric
    best: bool  # better than every validation before
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """The training of one run.

    Args:
        path: its folder.
        state: how it ended, or that it did not.
        planned: updates in the whole run, if known.
        seconds: training time, all sittings.
        updates: lines of progress by step.
        validations: by step.
    """

    path: Path
    state: str
    planned: int | None
    seconds: float | None
    updates: tuple[LoggedUpdate, ...]
    validations: tuple[LoggedValidation, ...]

    @property
    def steps(self) -> int:
        """The last update that the file knows of."""
        return max(entry.step for entry in (*self.updates[-1:], *self.validations[-1:]))

    @property
    def epoch(self) -> int | None:
        """The pass over the data in which the last line of progress was written, from 1."""
        return next((e.epoch for e in reversed(self.updates) if e.epoch is not None), None)

    @property
    def last_loss_nats(self) -> float | None:
        """The training loss that was logged last."""
        return next((e.loss_nats for e in reversed(self.updates) if e.loss_nats is not None), None)

    @property
    def target_tokens_per_second(self) -> float | None:
        """The median over the lines of progress."""
        found = [entry.target_tokens_per_second for entry in self.updates]
        speeds = [speed for speed in found if speed is not None]
        return statistics.median(speeds) if speeds else None

    @property
    def best(self) -> LoggedValidation | None:
        """The validation that no later one beat."""
        return next((entry for entry in reversed(self.validations) if entry.best), None)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the scores, in the order of the file."""
        return tuple(dict.fromkeys(name for entry in self.validations for name in entry.scores))


def read_run(path: str | Path) -> RunHistory:
    """Read the history of a run, finished or not.

    A line that a kill cut off and events of kinds unknown here are passed over. When an update was
    logged twice, the later line counts.

    Args:
        path: run folder.

    Raises:
        DataError: there is no such folder, it is no run, or no update was logged yet.
    """
    path = Path(path)
    found = _Collected()
    for line in _lines(_metrics_file(path)):
        found.take(line)
    if not found.updates and not found.validations:
        problem = "no update is logged yet"
        hint = "training.log_every says how often one is; look again later"
        raise DataError(path / "metrics.jsonl", problem, hint)
    return RunHistory(
        path=path,
        state=found.state,
        planned=found.planned,
        seconds=found.seconds,
        updates=tuple(found.updates[step] for step in sorted(found.updates)),
        validations=tuple(found.validations[step] for step in sorted(found.validations)),
    )


@dataclass(slots=True)
class _Collected:
    state: str = "unfinished"
    planned: int | None = None
    seconds: float | None = None
    updates: dict[int, LoggedUpdate] = field(default_factory=dict[int, LoggedUpdate])
    validations: dict[int, LoggedValidation] = field(default_factory=dict[int, LoggedValidation])

    def take(self, line: _Line) -> None:
        """Keep what one event tells."""
        step, seconds = _whole(line.get("step")), _number(line.get("seconds"))
        self.seconds = self.seconds if seconds is None else seconds
        match line.get("event"):
            case "Started":
                self.state, self.planned = "unfinished", _whole(line.get("steps"))
            case "Stopped":
                self.state = f"stopped ({line.get('reason')})"
            case "Finished":
                self.state = f"finished; holds the {line.get('weights')}"
            case "StepDone" if step is not None:
                self.updates[step] = _update(step, line)
            case "Validated" if step is not None:
                self.validations[step] = _validation(step, line)
            case _:
                pass


def _update(step: int, line: _Line) -> LoggedUpdate:
    return LoggedUpdate(
        step=step,
        epoch=_whole(line.get("epoch")),
        loss_nats=_number(line.get("loss_nats")),
        learning_rate=_number(line.get("learning_rate")),
        target_tokens_per_second=_number(line.get("target_tokens_per_second")),
        seconds=_number(line.get("seconds")),
    )


def _validation(step: int, line: _Line) -> LoggedValidation:
    scores = line.get("scores")
    named = cast("dict[str, Any]", scores).items() if isinstance(scores, dict) else ()
    numbers = {name: _number(value) for name, value in named}
    return LoggedValidation(
        step=step,
        loss_nats=_number(line.get("loss_nats")),
        perplexity=_number(line.get("perplexity")),
        scores={name: value for name, value in numbers.items() if value is not None},
        best=line.get("best") is True,
        seconds=_number(line.get("seconds")),
    )


def _metrics_file(path: Path) -> Path:
    if not path.exists():
        raise DataError(path, "no such run folder", similar_file(path))
    if not path.is_dir():
        raise DataError(path, "is a file", "give the folder of a run")
    file = path / "metrics.jsonl"
    if not file.exists():
        runs = sorted(inner.parent.name for inner in path.glob("*/metrics.jsonl"))
        hint = f"it holds the runs {', '.join(runs)}: give one of them" if runs else ""
        raise DataError(path, "is no run: it has no metrics.jsonl", hint)
    return file


def _lines(file: Path) -> list[_Line]:
    try:
        held = file.read_bytes()
    except OSError as error:
        raise DataError(file, error.strerror or str(error)) from None
    found: list[_Line] = []
    for text in held.split(b"\n"):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue  # a line that a kill cut off
        if isinstance(line, dict):
            found.append(cast("_Line", line))
    return found


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
