"""A plan in words, and for programs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dragoman.inspection.plan import Plan
from dragoman.inspection.work import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredUpdate:
    """Updates that were timed on this machine, and what they say of a whole one.

    Args:
        where: device, precision and kernels, in words.
        slots: target places in each of the batches that were timed.
        seconds: of the fastest update with each.
        peak_bytes: held beside the weights by forward and backward of the largest of them.
        planned_bytes: the same by plan.
        whole: target places of a whole batch.
        batches: of an update.
    """

    where: str
    slots: tuple[int, ...]
    seconds: tuple[float, ...]
    peak_bytes: int
    planned_bytes: float
    whole: int
    batches: int

    @property
    def update_seconds(self) -> float:
        """A whole update: the line through the largest two, at the size of the whole batch.

        A line that falls is noise; then time is taken to grow with the size.
        """
        large, long = self.slots[-1], self.seconds[-1]
        slope = long / large
        if len(self.slots) > 1 and self.seconds[-2] <= long:
            slope = (long - self.seconds[-2]) / (large - self.slots[-2])
        return (long + slope * (self.whole - large)) * self.batches

    @property
    def slots_per_second(self) -> float:
        """Target places a second in whole updates."""
        return self.whole * self.batches / self.update_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """Plans of one recipe.

    Args:
        title: names the recipe.
        length: pieces of a row.
        steps: updates; None when the data decides.
        plans: one for each hardware.
        measured: on this machine; None unless asked.
    """

    title: str
    length: int
    steps: int | None
    plans: Sequence[Plan]
    measured: MeasuredUpdate | None = None

    def lines(self) -> list[str]:
        """Say it for people."""
        lines = self._heading(self.plans[0].work)
        for plan in self.plans:
            lines += ["", *_device_lines(plan)]
        if self.measured is not None:
            lines += ["", *self._measured_lines(self.measured)]
        return lines

    def summary(self) -> dict[str, Any]:  # Any: as JSON holds it
        """Say it for programs: bytes, seconds, operations."""
        measured = self.measured
        found: dict[str, Any] = {
            "recipe": self.title,
            "length": self.length,
            "steps": self.steps,
            "plans": [_summary(plan) for plan in self.plans],
        }
        if measured is not None:
            found["measured"] = {
                **asdict(measured),
                "update_seconds": measured.update_seconds,
                "slots_per_second": measured.slots_per_second,
                "seconds": None if self.steps is None else self.steps * measured.update_seconds,
            }
        return found

    def _heading(self, work: Workload) -> list[str]:
        batches = "" if work.batches == 1 else f", {work.batches} batches an update"
        steps = (
            "as many updates as the epochs of the data have; --set training.steps=N says them"
            if self.steps is None
            else f"{self.steps:,} updates"
        )
        return [
            f"{self.title}: {work.parameters:,} weights",
            f"batch       {work.slots:,} target places in rows of {self.length}{batches}; {steps}",
            f"operations  {work.operations_per_slot / 1e6:,.1f} million a target place, "
            f"{_short(work.operations * work.batches)} an update: products, forward and backward",
        ]

    def _measured_lines(self, measured: MeasuredUpdate) -> list[str]:
        pairs = zip(measured.slots, measured.seconds, strict=True)
        timed = ", ".join(f"{seconds:.3g} s with {slots:,}" for slots, seconds in pairs)
        lines = [
            f"measured here: {measured.where}",
            f"  timed       {timed} target places",
            f"  memory      {_size(measured.peak_bytes)} beside the weights with "
            f"{measured.slots[-1]:,}; planned {_size(measured.planned_bytes)}",
            f"  update      {measured.update_seconds:.3g} s whole, on the line through these; "
            f"{measured.slots_per_second:,.0f} target places/s",
        ]
        if self.steps is not None:
            lines[-1] += f", {_long(self.steps * measured.update_seconds)} in all"
        return lines


def _device_lines(plan: Plan) -> list[str]:
    device = plan.device
    lines = [
        f"{plan.name}:{plan.count}  {device.title}, {plan.precision}; "
        f"{device.memory / 1e9:.3g} GB at {device.bandwidth / 1e9:,.0f} GB/s",
        *_memory_lines(plan),
        *_time_lines(plan),
    ]
    if plan.seconds is not None:
        run = f"  in all      {_long(plan.seconds)}"
        if plan.cost is not None:
            run += f", {plan.cost:,.2f} at {plan.price:g} a device and hour"
        lines.append(run)
    lines += _paper_lines(plan)
    if plan.scaling:
        lines.append(f"  scaling     {_scaling(plan)}")
    source = device.utilization_source if plan.utilization is None else "as given"
    return [*lines, f"  figures     {device.source}", f"  share       {source}"]


def _memory_lines(plan: Plan) -> list[str]:
    memory, phases = plan.memory, plan.phases
    fits = "" if plan.fits else ": it does not fit"
    each = "" if plan.device.processor else " each"
    peaks = ""
    if len(phases) > 1:
        peaks = ": " + ", ".join(f"{name} {_size(taken)}" for name, taken in phases.items())
    return [
        f"  memory      {_size(plan.taken)} of {_size(plan.available)}{each}, libraries and "
        f"rounding included{peaks}{fits}",
        f"  tensors     {_size(memory.total)}: weights {_size(memory.weights)}, gradients "
        f"{_size(memory.gradients)}, optimizer {_size(memory.moments)}, activations "
        f"{_size(memory.activations)}",
        f"  at most     {plan.largest_slots:,} target places in a batch",
    ]


def _time_lines(plan: Plan) -> list[str]:
    time, share = plan.time, plan.share_of_peak
    tera = plan.device.peak[plan.precision] / 1e12
    update = f"  update      {time.total:.3g} s"
    if share is None:
        update += f", reckoned: products at the {tera:,.3g} TFLOP/s timed here, then all else"
    elif time.computing > time.at_best:
        update += f", a guess: {share:.0%} of {tera:,.4g} TFLOP/s"
    else:
        update += ", a guess: the limits below are reached"
    if time.communicating:
        update += f", then {time.communicating:.2g} s of communicating"
    lines = [update]
    if share is not None:
        lines.append(
            f"  no less     {time.at_best:.2g} s: products at the peak, all else as fast as the "
            f"memory; {1e6 * plan.device.operator_seconds:.0f} µs an operator"
        )
    return [*lines, f"  speed       {plan.slots_per_second:,.0f} target places/s"]


def _paper_lines(plan: Plan) -> list[str]:
    """Set a plan for the paper's device beside what the paper says of its own runs."""
    lines: list[str] = []
    as_paper = plan.operations_as_in_the_paper
    if as_paper is not None and plan.steps is not None:
        counted = plan.work.operations * plan.work.batches * plan.steps
        lines.append(
            f"  operations  {_short(as_paper)} as the paper counts, time x devices x 9.5 TFLOP/s; "
            f"{_short(counted)} of products"
        )
    if (paper := plan.paper) is not None:
        lines.append(
            f"  the paper   {paper.name} on 8 P100: {paper.update_seconds:g} s an update, "
            f"{_long(paper.seconds)} for {paper.steps:,}, {_short(paper.operations)} operations"
        )
    return lines


def _scaling(plan: Plan) -> str:
    told = ", ".join(f"{one.count}: {one.speedup:.3g}" for one in plan.scaling)
    way = "split weights" if plan.work.split else "whole copies"
    most = plan.scaling[-1].count
    end = f"half is lost beyond {plan.scales_to}"
    if plan.scales_to == most:
        end = f"less than half is lost up to {most}"
    return f"speedup by devices, {way}: {told}; {end}"


def _summary(plan: Plan) -> dict[str, Any]:
    return {
        "hardware": plan.name,
        "count": plan.count,
        "title": plan.device.title,
        "source": plan.device.source,
        "precision": plan.precision,
        "peak": plan.device.peak[plan.precision],
        "peaks": dict(plan.device.peak),
        "bandwidth": plan.device.bandwidth,
        "confirmed": dict(plan.device.confirmed),
        "utilization": plan.share_of_peak,
        "utilization_source": plan.device.utilization_source,
        "parameters": plan.work.parameters,
        "operations_per_slot": plan.work.operations_per_slot,
        "operations_per_update": plan.work.operations * plan.work.batches,
        "slots_per_batch": plan.work.slots,
        "memory": {**asdict(plan.memory), "total": plan.memory.total},
        "taken": plan.taken,
        "phases": plan.phases,
        "available": plan.available,
        "fits": plan.fits,
        "largest_slots": plan.largest_slots,
        "update_seconds": plan.time.total,
        "at_best_seconds": plan.time.at_best,
        "communicating_seconds": plan.time.communicating,
        "slots_per_second": plan.slots_per_second,
        "seconds": plan.seconds,
        "cost": plan.cost,
        "operations_as_in_the_paper": plan.operations_as_in_the_paper,
        "paper": None if plan.paper is None else asdict(plan.paper),
        "scaling": [{**asdict(one), "efficiency": one.efficiency} for one in plan.scaling],
        "scales_to": plan.scales_to,
    }


def _size(number: float) -> str:
    """Say bytes for people."""
    return f"{number / 2**30:.2f} GiB" if number >= 2**30 else f"{number / 2**20:,.0f} MiB"


def _short(number: float) -> str:
    return f"{number:.2g}".replace("e+", "e")


def _long(seconds: float) -> str:
    """Say a time for people."""
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"
