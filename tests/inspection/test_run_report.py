"""A run in words; the numbers are those of the hand-written file."""

import json
from pathlib import Path

from dragoman.inspection import read_run, run_lines, run_summary
from tests.inspection.runs import UPDATES, VALIDATIONS, WHOLE, write_run


def test_the_summary_and_each_validation_are_written(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", WHOLE)
    assert run_lines(read_run(run)) == [
        f"run               {run}",
        "state             finished; holds the best weights, of update 200",
        "updates           300 of 400",
        "epoch             2",
        "training          3.5 minutes",
        "target tokens/s   1,500 (median)",
        "training loss     3.500 nats, the last logged",
        "best validation   update 200, loss 3.000 nats, bleu 21.50, chrf 40.00",
        "",
        "update  minutes   loss  perplexity   bleu   chrf",
        "   100      1.1  5.000      148.41   1.25  12.50",
        "   200      2.2  3.000       20.09  21.50  40.00  best",
        "   300      3.3  3.250       25.79  20.75  41.50",
    ]


def test_a_score_that_one_validation_lacks_is_a_dash(tmp_path: Path) -> None:
    alone = VALIDATIONS[0] | {"scores": {"bleu": 1.25}, "perplexity": None, "seconds": None}
    lines = run_lines(read_run(write_run(tmp_path / "run", [alone, VALIDATIONS[1]])))
    assert lines[-2].split() == ["100", "-", "5.000", "-", "1.25", "-"]


def test_a_run_without_validations_has_no_table(tmp_path: Path) -> None:
    lines = run_lines(read_run(write_run(tmp_path / "run", UPDATES)))
    assert lines[2] == "updates           300"
    assert lines[-1].startswith("training loss")


def test_programs_get_every_number(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", WHOLE)
    summary = json.loads(json.dumps(run_summary(read_run(run)), allow_nan=False))
    assert summary["updates"] == 300
    assert summary["planned_updates"] == 400
    assert summary["seconds"] == 210.0
    assert summary["best"]["scores"] == {"bleu": 21.5, "chrf": 40.0}
    assert [entry["step"] for entry in summary["validations"]] == [100, 200, 300]
    assert [entry["loss_nats"] for entry in summary["log"]] == [6.0, 4.0, 3.5]
