from dataclasses import replace

import pytest

from dragoman.inspection import MeasuredUpdate, PlanReport, paper_run
from dragoman.models import ModelConfig
from tests.inspection.test_plan import DEVICE, WORK, planned

MEASURED = MeasuredUpdate(
    where="2 threads of the processor, fp32",
    slots=(10, 20),
    seconds=(1.5, 2.5),
    peak_bytes=3 * 2**20,
    planned_bytes=2.0 * 2**20,
    whole=80,
    batches=2,
)


def test_a_whole_update_lies_on_the_line_through_those_that_were_timed() -> None:
    # 0.5 + 0.1 a slot: 8.5 s with 80, twice.
    assert MEASURED.update_seconds == pytest.approx(17.0)
    assert MEASURED.slots_per_second == pytest.approx(160 / 17)


def test_where_the_line_falls_time_is_taken_to_grow_with_the_size() -> None:
    falling = MeasuredUpdate(
        where="",
        slots=(10, 20),
        seconds=(2.5, 2.0),
        peak_bytes=0,
        planned_bytes=0,
        whole=80,
        batches=1,
    )
    assert falling.update_seconds == pytest.approx(8.0)  # 2 s with 20, so 8 with 80


def test_people_read_memory_time_and_where_figures_come_from() -> None:
    report = PlanReport(
        title="toy", length=8, steps=450, plans=[planned(price=3.0)], measured=MEASURED
    )
    lines = report.lines()
    assert lines[0] == "toy: 25 weights"
    assert lines[1] == "batch       80 target places in rows of 8; 450 updates"
    assert "  update      16 s, a guess: 50% of 1e-09 TFLOP/s" in lines
    assert any(line.startswith("  no less     8 s: products at the peak") for line in lines)
    assert "  speed       5 target places/s" in lines
    assert "  in all      2.0 hours, 6.00 at 3 a device and hour" in lines
    assert "  figures     made up" in lines
    assert "measured here: 2 threads of the processor, fp32" in lines
    assert "  timed       1.5 s with 10, 2.5 s with 20 target places" in lines
    assert "  memory      3 MiB beside the weights with 20; planned 2 MiB" in lines
    assert lines[-1].endswith("9 target places/s, 2.1 hours in all")


def test_what_was_timed_is_told_apart_from_a_guess() -> None:
    core = replace(DEVICE, link=0.0, utilization=None)
    plan = planned(replace(WORK, averaged=2), device=core)
    lines = PlanReport(title="toy", length=8, steps=450, plans=[plan]).lines()
    (update,) = (line for line in lines if line.startswith("  update"))
    assert update.startswith("  update      8 s, reckoned: products at the ")
    (memory,) = (line for line in lines if line.startswith("  memory"))
    assert memory.endswith("included: update 0 MiB, saving 0 MiB, averaging 0 MiB")
    assert not any("guess" in line for line in lines)


def test_the_limit_of_memory_is_said_where_it_is_reached() -> None:
    lines = PlanReport(
        title="toy", length=8, steps=450, plans=[planned(replace(WORK, moved=30.0))]
    ).lines()
    assert "  update      38 s, a guess: the limits below are reached" in lines


def test_the_papers_run_stands_beside_a_plan_of_it() -> None:
    paper = paper_run(ModelConfig(vocabulary=37_000))
    lines = PlanReport(title="toy", length=8, steps=450, plans=[planned(paper=paper)]).lines()
    assert (
        "  the paper   base on 8 P100: 0.4 s an update, 12.0 hours for 100,000, 3.3e18 operations"
        in lines
    )


def test_epochs_are_said_to_depend_on_the_data() -> None:
    report = PlanReport(title="toy", length=8, steps=None, plans=[planned(steps=None)])
    assert report.lines()[1].endswith("the data have; --set training.steps=N says them")
    assert not any("in all" in line for line in report.lines())


def test_programs_get_bytes_and_seconds() -> None:
    report = PlanReport(title="toy", length=8, steps=450, plans=[planned()], measured=MEASURED)
    found = report.summary()
    (plan,) = found["plans"]
    assert plan["memory"]["total"] == 820
    assert plan["update_seconds"] == 16.0
    assert plan["scaling"][1] == {
        "count": 2,
        "seconds": 9.0,
        "speedup": pytest.approx(16 / 9),
        "memory": 100 + 100 + 200 + 20 + 200,
        "efficiency": pytest.approx(8 / 9),
    }
    assert found["measured"]["seconds"] == pytest.approx(450 * 17)
