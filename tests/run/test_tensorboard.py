"""What TensorBoard reads back is what the events said."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from dragoman.errors import ConfigError
from dragoman.run.tensorboard import TensorBoard, check_tensorboard, mirror
from dragoman.training import Event, Finished, Notice, Saved, Started, StepDone, Validated


def started(step: int) -> Started:
    return Started(step=step, steps=400, parameters=9, pairs=8, batches_per_epoch=2)


def step_done(step: int, loss: float) -> StepDone:
    return StepDone(
        step=step,
        epoch=2,
        loss_nats=loss,
        learning_rate=0.25,
        gradient_norm=0.5,
        target_tokens=10 * step,
        target_tokens_per_second=1024.0,
        seconds=1.0,
    )


def validated(step: int, bleu: float) -> Validated:
    return Validated(
        step=step,
        loss_nats=3.0,
        perplexity=20.0,
        scores={"bleu": bleu, "chrf": 40.0},
        signatures={},
        best=True,
        seconds=1.0,
    )


def read(folder: Path) -> dict[str, list[tuple[int, float]]]:
    found = EventAccumulator(str(folder))
    found.Reload()
    return {
        tag: [(scalar.step, scalar.value) for scalar in found.Scalars(tag)]
        for tag in found.Tags()["scalars"]
    }


def test_numbers_of_updates_and_validations_are_read_back(tmp_path: Path) -> None:
    events: list[Event] = [
        Notice(text="hello"),
        *(started(0), step_done(100, 6.0), validated(100, 21.5), step_done(200, 4.0)),
        Finished(step=200, path=tmp_path, weights="weights of update 200", seconds=1.0),
    ]
    assert list(mirror(events, tmp_path)) == events
    assert read(tmp_path / "tensorboard") == {
        "training/loss_nats": [(100, 6.0), (200, 4.0)],
        "training/learning_rate": [(100, 0.25), (200, 0.25)],
        "training/gradient_norm": [(100, 0.5), (200, 0.5)],
        "training/target_tokens_per_second": [(100, 1024.0), (200, 1024.0)],
        "training/epoch": [(100, 2.0), (200, 2.0)],
        "validation/loss_nats": [(100, 3.0)],
        "validation/perplexity": [(100, 20.0)],
        "validation/bleu": [(100, 21.5)],
        "validation/chrf": [(100, 40.0)],
    }


def test_a_run_that_goes_on_voids_what_was_lost(tmp_path: Path) -> None:
    lost = [started(0), step_done(100, 6.0), step_done(200, 4.0), step_done(250, 3.0)]
    list(mirror(lost, tmp_path))
    list(mirror([started(100), step_done(200, 4.5), step_done(300, 3.5)], tmp_path))
    losses = read(tmp_path / "tensorboard")["training/loss_nats"]
    assert losses == [(100, 6.0), (200, 4.5), (300, 3.5)]


def test_numbers_before_a_checkpoint_are_on_disk_with_it(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path)
    for event in (started(0), step_done(100, 6.0), Saved(step=100, path=tmp_path)):
        board.write(event)
    assert read(tmp_path)["training/loss_nats"] == [(100, 6.0)]
    board.close()


def test_events_without_a_start_are_written(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path)
    board.write(step_done(7, 2.0))
    board.close()
    board.write(step_done(8, 1.0))
    board.close()
    board.close()
    assert read(tmp_path)["training/loss_nats"] == [(7, 2.0), (8, 1.0)]


def test_a_run_that_fails_leaves_its_numbers(tmp_path: Path) -> None:
    def failing() -> Iterator[Event]:
        yield step_done(100, 6.0)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        list(mirror(failing(), tmp_path))
    assert read(tmp_path / "tensorboard")["training/loss_nats"] == [(100, 6.0)]


def test_nothing_is_made_before_training_starts(tmp_path: Path) -> None:
    list(mirror([Notice(text="this run is finished")], tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_made_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "tensorboard").write_text("a file", encoding="utf-8")
    with pytest.raises(OSError, match="tensorboard"):
        list(mirror([started(0), step_done(1, 6.0)], tmp_path))


def test_a_missing_library_is_named_before_the_first_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_tensorboard()
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    message = (
        r"^training\.tensorboard: needs TensorBoard; "
        r"install it with: pip install 'dragoman\[tensorboard\]'"
    )
    with pytest.raises(ConfigError, match=message):
        mirror([], tmp_path)
    with pytest.raises(ConfigError, match=message):
        check_tensorboard()
