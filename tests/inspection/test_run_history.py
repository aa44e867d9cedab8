"""Reading ``metrics.jsonl`` back; the numbers are those of the file, or by hand from them."""

from pathlib import Path

import pytest

from dragoman.errors import DataError
from dragoman.inspection import read_run
from tests.inspection.runs import STARTED, UPDATES, VALIDATIONS, WHOLE, write_run


def test_a_finished_run_is_read_as_it_was_logged(tmp_path: Path) -> None:
    history = read_run(write_run(tmp_path / "run", WHOLE))
    assert [entry.step for entry in history.updates] == [100, 200, 300]
    assert [entry.learning_rate for entry in history.updates] == [1e-3, 2e-3, 1e-3]
    assert [entry.loss_nats for entry in history.validations] == [5.0, 3.0, 3.25]
    assert history.validations[1].scores == {"bleu": 21.5, "chrf": 40.0}
    assert history.metrics == ("bleu", "chrf")
    assert history.state == "finished; holds the best weights, of update 200"
    assert (history.steps, history.planned, history.epoch) == (300, 400, 2)
    assert history.seconds == 210.0
    assert history.last_loss_nats == 3.5
    assert history.target_tokens_per_second == 1500.0  # the middle of 1000, 1500, 3000
    assert history.best is history.validations[1]


def test_what_a_kill_cut_off_and_unknown_events_are_passed_over(tmp_path: Path) -> None:
    events = [{"event": "Skipped", "step": 150, "batch": [1, 2]}, {"no": "event"}]
    run = write_run(tmp_path / "run", [*WHOLE[:-1], *events], tail='[1]\n{"event": "StepDone", "st')
    history = read_run(run)
    assert history.state == "unfinished"
    assert history.steps == 300
    assert len(history.updates) == 3


def test_of_an_update_logged_twice_the_later_line_counts(tmp_path: Path) -> None:
    again = UPDATES[1] | {"loss_nats": 4.5}
    run = write_run(tmp_path / "run", [STARTED, *UPDATES, STARTED | {"step": 100}, again])
    assert [entry.loss_nats for entry in read_run(run).updates] == [6.0, 4.5, 3.5]


def test_a_loss_that_was_no_number_is_unknown(tmp_path: Path) -> None:
    lost = UPDATES[2] | {"loss_nats": None, "target_tokens_per_second": "fast", "epoch": 1.5}
    history = read_run(write_run(tmp_path / "run", [*UPDATES[:2], lost], tail='{"seconds": NaN}\n'))
    assert history.updates[2].loss_nats is None
    assert history.last_loss_nats == 4.0
    assert history.target_tokens_per_second == 2000.0  # half way between 1000 and 3000
    assert (history.epoch, history.planned, history.best) == (1, None, None)
    assert history.seconds == 180.0


def test_a_stopped_run_says_why_until_it_goes_on(tmp_path: Path) -> None:
    stopped = {"event": "Stopped", "step": 100, "steps": 400, "reason": "interrupted", "path": "x"}
    run = write_run(tmp_path / "run", [STARTED, UPDATES[0], stopped])
    assert read_run(run).state == "stopped (interrupted)"
    write_run(run, [STARTED, UPDATES[0], stopped, STARTED | {"step": 100}])
    assert read_run(run).state == "unfinished"


def test_validations_alone_are_a_history(tmp_path: Path) -> None:
    history = read_run(write_run(tmp_path / "run", [STARTED, *VALIDATIONS]))
    assert (history.steps, history.epoch, history.last_loss_nats) == (300, None, None)


@pytest.mark.parametrize("events", [[], [STARTED, {"event": "Notice", "text": "hello"}]])
def test_a_run_without_an_update_says_so(tmp_path: Path, events: list[dict[str, object]]) -> None:
    run = write_run(tmp_path / "run", events)
    with pytest.raises(DataError, match=r"metrics\.jsonl: no update is logged yet; training\.log"):
        read_run(run)


def test_what_is_no_run_is_named_with_what_was_meant(tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs/base", WHOLE)
    write_run(tmp_path / "runs/deep", WHOLE)
    with pytest.raises(DataError, match=r"bas: no such run folder; did you mean .*/base\?"):
        read_run(tmp_path / "runs/bas")
    with pytest.raises(DataError, match=r"is a file; give the folder of a run"):
        read_run(run / "metrics.jsonl")
    with pytest.raises(DataError, match=r"runs: is no run: .*; it holds the runs base, deep: give"):
        read_run(tmp_path / "runs")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty: is no run: it has no metrics\.jsonl$"):
        read_run(tmp_path / "empty")


def test_a_metrics_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "run/metrics.jsonl").mkdir(parents=True)
    with pytest.raises(DataError, match=r"metrics\.jsonl: "):
        read_run(tmp_path / "run")
