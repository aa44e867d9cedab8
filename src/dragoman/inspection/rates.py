"""Learning rates over a run before it begins (section 5.3 and its successors)."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dragoman.inspection.run_picture import new_figure, save_picture

_POINTS = 1_000  # of a curve; more than a picture shows


@dataclass(frozen=True, slots=True)
class Rates:
    """The learning rates of a run.

    Args:
        rate: from the number of an update, from 1, to its rate.
        warmup: updates until the highest rate; 0 means none.
        steps: updates in the run.
        title: names the schedule.
    """

    rate: Callable[[int], float]
    warmup: int
    steps: int
    title: str = ""

    def __post_init__(self) -> None:
        """Check what no single field can."""
        if self.steps < 1:
            raise ValueError(f"steps: {self.steps} is less than 1; the first update is step 1")

    def table(self) -> list[tuple[int, float]]:
        """Give the rate at the updates that tell most, in order.

        They are the first two, the middle and the end of the warm-up, the quarters of the run, and
        its last.
        """
        told = {1, 2, self.warmup // 2, self.warmup}
        told |= {self.steps * quarter // 4 for quarter in (1, 2, 3, 4)}
        return [(step, self.rate(step)) for step in sorted(told) if 1 <= step <= self.steps]

    def lines(self) -> list[str]:
        """Write the table for people; the highest rate in it is marked."""
        table = self.table()
        highest = max(table, key=lambda row: row[1])
        width = max(len("update"), len(f"{self.steps:,}"))
        lines = [*([self.title, ""] if self.title else []), f"{'update':>{width}}      rate"]
        for row in table:
            step, rate = row
            lines.append(f"{step:>{width},}  {rate:.2e}{'  highest' if row == highest else ''}")
        if self.warmup > self.steps:
            lines += ["", f"the run ends before its warm-up of {self.warmup:,} updates does"]
        return lines


def draw_rates(rates: Rates, path: Path) -> None:
    """Draw the rate over the updates as PNG.

    Raises:
        MissingExtraError: matplotlib is not installed.
        DataError: the file cannot be written.
    """
    figure = new_figure((8, 4), "the picture of a schedule")
    axes = figure.subplots()
    told = {step for step, _ in rates.table()}  # the peak is never between two points
    steps = sorted(told | set(range(1, rates.steps + 1, -(-rates.steps // _POINTS))))
    axes.plot(steps, [rates.rate(step) for step in steps], color="#0072B2", linewidth=1.4)
    axes.set_xlabel("updates")
    axes.set_ylabel("learning rate")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.set_title(rates.title, fontsize=10)
    save_picture(figure, path)
