"""What ``metrics.jsonl`` of a run says about its speed, its training time and its losses."""

import json
import statistics
from pathlib import Path
from typing import cast

from dragoman.configfile import Table
from dragoman.run.comparison.measured import CurvePoint
from dragoman.training import Finished, StepDone, Validated


class RunLog:
    """The lines of progress of one run.

    Time is that of training alone, as each line's pieces and speed tell it: validation stands
    between two lines and is in neither.

    Args:
        folder: of the run; it need not have begun.
        until: the update after which lines do not count, since their updates were lost.
    """

    def __init__(self, folder: Path, *, until: int | None = None) -> None:
        self.seconds = 0.0  # of training so far
        self.lines: list[StepDone] = []
        self._training: list[CurvePoint] = []
        self._validation: list[CurvePoint] = []
        self.weights = ""  # which ones the finished model has
        for line in _lines(folder / "metrics.jsonl"):
            if until is not None and line.get("step", 0) > until:
                continue
            if line["event"] == StepDone.__name__:
                fields = {key: value for key, value in line.items() if key != "event"}
                self.take(StepDone(**fields))
            elif line["event"] == Validated.__name__ and line["loss_nats"] is not None:
                point = CurvePoint(
                    step=line["step"], seconds=self.seconds, loss_nats=line["loss_nats"]
                )
                self._validation.append(point)
            elif line["event"] == Finished.__name__:
                self.weights = line["weights"]

    def take(self, line: StepDone) -> None:
        """Add a line of progress."""
        before = self.lines[-1].target_tokens if self.lines else 0
        self.seconds += (line.target_tokens - before) / line.target_tokens_per_second
        self.lines.append(line)
        point = CurvePoint(step=line.step, seconds=self.seconds, loss_nats=line.loss_nats)
        self._training.append(point)

    @property
    def tokens_per_second(self) -> float:
        """Median of the lines, so that a line with a pause in it does not count."""
        return statistics.median(line.target_tokens_per_second for line in self.lines)

    @property
    def curve(self) -> tuple[CurvePoint, ...]:
        """Losses of the validation set, or those in training when there is none."""
        return tuple(self._validation or self._training)


def _lines(path: Path) -> list[Table]:
    if not path.exists():
        return []
    found: list[Table] = []
    for line in path.read_bytes().split(b"\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # one that a kill cut off
        if isinstance(entry, dict) and "event" in entry:
            found.append(cast("Table", entry))
    return found
