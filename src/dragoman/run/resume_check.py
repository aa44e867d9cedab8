"""What two runs of the same recipe left behind, compared by its bits."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from dragoman.bundle import read_tensors
from dragoman.training import Finished, Skipped, StepDone, Validated, checkpoints

_OF_AN_UPDATE = {  # as people call it
    "order": "order of the data",
    "learning_rate": "rate",
    "loss_nats": "loss",
    "gradient_norm": "gradient norm",
    "target_tokens": "target pieces seen",
}
_OF_A_SITTING = ("seconds", "sha256")  # of a checkpoint's state; the digests are of the rest

Line = dict[str, Any]  # of metrics.jsonl; Any: as JSON holds it


@dataclass(frozen=True, slots=True)
class Comparison:
    """One kind of thing, compared in both runs.

    Args:
        what: such as ``weights``.
        unit: what ``count`` counts.
        count: how many the first run has.
        difference: the first that is not equal; empty when all are.
    """

    what: str
    unit: str
    count: int
    difference: str = ""

    def __str__(self) -> str:
        compared = f"{self.count:,} {self.unit}"
        return f"{self.what:<20}{compared:<20}{self.difference or 'equal'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeCheck:
    """Whether a run that was stopped is the one that was not.

    Args:
        updates: of either run.
        stop_at: update after which the second run was stopped.
        place: where in the data that was, and what had happened before.
        comparisons: all that was compared.
        first_update: the first update that differs; None when none does.
    """

    updates: int
    stop_at: int
    place: str
    comparisons: tuple[Comparison, ...]
    first_update: int | None = None

    @property
    def difference(self) -> str:
        """Name the first difference; empty when there is none."""
        differing = (found for found in self.comparisons if found.difference)
        return next((f"{found.what}: {found.difference}" for found in differing), "")

    @property
    def equal(self) -> bool:
        """Whether both runs are the same to the last bit."""
        return not self.difference

    @property
    def verdict(self) -> str:
        """Say what it means, in a sentence."""
        if self.equal:
            return "equal: stopping and going on is the same as never stopping"
        if self.first_update is not None and self.first_update <= self.stop_at:
            return (
                f"{self.difference}; the runs differ before the stop already, so training is not "
                "repeatable here; try --set training.deterministic=true"
            )
        return f"{self.difference}; this is a bug in dragoman, please report it with the recipe"

    def lines(self) -> Iterator[str]:
        """Say all of it as a table."""
        yield f"{self.updates:,} updates straight, and stopped after update {self.stop_at:,}"
        yield f"the stop: {self.place}"
        yield ""
        yield from map(str, self.comparisons)

    def summary(self) -> dict[str, Any]:  # Any: as JSON holds it
        """Give all of it as plain values."""
        return {**asdict(self), "equal": self.equal, "verdict": self.verdict}


def compare_runs(straight: Path, stopped: Path) -> Iterator[Comparison]:
    """Compare all that the future of a run depends on, and all that it reported.

    Args:
        straight: run folder.
        stopped: the folder of the run that was stopped and went on.
    """
    one, two = (run_events(run, StepDone) for run in (straight, stopped))
    for key, what in _OF_AN_UPDATE.items():
        yield _compare_lines(
            what, "updates", *([_only(line, key) for line in x] for x in (one, two))
        )
    for kind, what, unit in (
        (Validated, "validation", "validations"),
        (Skipped, "skipped updates", "updates"),
    ):
        one, two = (run_events(run, kind) for run in (straight, stopped))
        if one or two:
            yield _compare_lines(what, unit, one, two)
    last, other = (checkpoints(run / "checkpoints")[-1] for run in (straight, stopped))
    for file, what in (("model", "weights"), ("optimizer", "moments")):
        name = f"{file}.safetensors"
        yield _compare_tensors(what, read_tensors(last / name), read_tensors(other / name))
    yield _compare_values("rest of the state", _state(last), _state(other))
    if run_events(straight, Finished):
        name = "model.safetensors"
        yield _compare_tensors(
            "finished model", read_tensors(straight / name), read_tensors(stopped / name)
        )


def first_difference(straight: Path, stopped: Path) -> int | None:
    """Find the first update whose line is not the same in both runs."""
    one, two = (
        {line["step"]: [repr(line.get(key)) for key in _OF_AN_UPDATE] for line in lines}
        for lines in (run_events(run, StepDone) for run in (straight, stopped))
    )
    return min((step for step in one.keys() | two if one.get(step) != two.get(step)), default=None)


def run_events(run: Path, kind: type) -> list[Line]:
    """Read the events of one kind that a run kept, without what only the clock knows."""
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    events = cast("list[Line]", [json.loads(line) for line in lines])
    return [
        {key: value for key, value in event.items() if "second" not in key}
        for event in events
        if event["event"] == kind.__name__
    ]


def _only(line: Line, key: str) -> Line:
    return {"step": line["step"], key: line.get(key)}


def _compare_lines(what: str, unit: str, one: Sequence[Line], two: Sequence[Line]) -> Comparison:
    """Compare lines of the same kind, update by update."""
    by_step = {line["step"]: line for line in two}
    for line in one:
        step, other = line["step"], by_step.pop(line["step"], None)
        if other is None:
            return Comparison(what, unit, len(one), f"update {step}: missing after the stop")
        found = _compare_values(what, line, other).difference
        if found:
            return Comparison(what, unit, len(one), f"update {step}: {found}")
    for step in by_step:
        return Comparison(what, unit, len(one), f"update {step}: only after the stop")
    return Comparison(what, unit, len(one))


def _compare_values(what: str, one: Line, two: Line) -> Comparison:
    for key in sorted(one.keys() | two.keys()):
        straight, stopped = repr(one.get(key)), repr(two.get(key))  # a float's are all its bits
        if straight != stopped:
            difference = f"{key} {stopped} after a stop, {straight} straight"
            return Comparison(what, "values", len(one), difference)
    return Comparison(what, "values", len(one))


def _compare_tensors(what: str, one: Mapping[str, Tensor], two: Mapping[str, Tensor]) -> Comparison:
    for name in sorted(one.keys() | two.keys()):
        if name not in one or name not in two:
            return Comparison(what, "tensors", len(one), f"{name} is in one run only")
        if not _same_bits(one[name], two[name]):
            difference = f"{name} is not the same"
            if one[name].shape == two[name].shape:
                largest = float((one[name].double() - two[name].double()).abs().max())
                difference = f"{name} differs by up to {largest:.1e}"
            return Comparison(what, "tensors", len(one), difference)
    return Comparison(what, "tensors", len(one))


def _same_bits(one: Tensor, two: Tensor) -> bool:
    if (one.dtype, one.shape) != (two.dtype, two.shape):
        return False
    return torch.equal(*(x.contiguous().flatten().view(torch.uint8) for x in (one, two)))


def _state(checkpoint: Path) -> Line:
    state = cast("Line", json.loads((checkpoint / "state.json").read_bytes()))
    return {key: value for key, value in state.items() if key not in _OF_A_SITTING}
