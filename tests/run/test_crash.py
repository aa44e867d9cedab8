"""A loss or a gradient that is no number: skipped, counted, and in the end explained."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.cli.main import main
from dragoman.data import Batch
from dragoman.errors import TrainingError
from dragoman.recipe import read_recipe, recipe_toml
from dragoman.run import train
from dragoman.run.crash import CrashBundle
from dragoman.run.tasks.translation import Translation
from dragoman.training import Finished, Skipped, Update, checkpoints
from tests.run.test_resume import assert_same_bits, recipe_for, tensors

Spoil = Callable[[Tensor], Tensor]
ALL = {"checkpoint_every": 1, "keep": 20, "average_last": 1}
WITH_IT = 5  # an example that spoils the batches it is in


def with_hook(summed: Tensor) -> Tensor:
    """A finite loss whose gradient is no number."""
    result = summed + 0
    result.register_hook(lambda gradient: gradient * math.nan)
    return result


SPOILED: dict[str, Spoil] = {
    "loss is nan": lambda summed: summed * math.nan,
    "loss is inf": lambda summed: summed + math.inf,
    "gradient is nan": with_hook,
}


def spoil(
    monkeypatch: pytest.MonkeyPatch, how: Spoil, when: Callable[[Batch], bool] = lambda batch: True
) -> None:
    plain = Translation.loss

    def loss(self: Translation, model: Any, batch: Batch) -> Tensor:
        summed = plain(self, model, batch)
        return how(summed) if when(batch) else summed

    monkeypatch.setattr(Translation, "loss", loss)


def holds_it(batch: Batch) -> bool:
    return WITH_IT in batch.examples.tolist()


@pytest.mark.parametrize("how", SPOILED)
def test_an_update_that_is_no_number_changes_nothing_and_is_counted(
    how: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spoil(monkeypatch, SPOILED[how], holds_it)
    run = tmp_path / "run"
    events = list(train(recipe_for(tmp_path, **ALL), run))
    assert isinstance(events[-1], Finished)
    skipped = [event.step for event in events if isinstance(event, Skipped)]
    assert skipped
    assert len(skipped) < 6
    for step in range(2, 13):
        before, after = tensors(run, step - 1), tensors(run, step)
        same = all(torch.equal(before[name], after[name]) for name in after)
        assert same == (step in skipped)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    kept = [line for line in lines if line["event"] == "Skipped"]
    assert [line["step"] for line in kept] == skipped
    assert all((line["loss_nats"] is None) == ("loss" in how) for line in kept)
    assert all(line["gradient_norm"] is None for line in kept if how != "loss is inf")
    state = json.loads((run / "checkpoints/step-00000012/state.json").read_text())
    assert state["skipped"] == len(skipped)
    card = (run / "README.md").read_text(encoding="utf-8")
    assert f"{len(skipped)} updates skipped, since" in card


def test_going_on_over_skipped_updates_gives_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spoil(monkeypatch, SPOILED["loss is nan"], holds_it)
    events = list(train(recipe_for(tmp_path, **ALL), tmp_path / "straight"))
    skipped = [event.step for event in events if isinstance(event, Skipped)]
    for stop in (skipped[0] - 1, skipped[0]):
        run = tmp_path / f"stopped-{stop}"
        if stop:
            list(train(recipe_for(tmp_path, **ALL, stop_after=stop), run))
        list(train(recipe_for(tmp_path, **ALL), run))
        assert_same_bits(tensors(tmp_path / "straight"), tensors(run))


@pytest.fixture
def crashed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[list[str], str]:
    """A run of 4 good updates and 3 spoiled ones; the command that made it, and what it said."""
    recipe = recipe_for(tmp_path, checkpoint_every=100, max_skipped=3)
    (tmp_path / "recipe.toml").write_text(recipe_toml(recipe), encoding="utf-8")
    command = ["train", str(tmp_path / "recipe.toml"), "--run", str(tmp_path / "run")]
    assert main([*command, "--set", "training.stop_after=4"]) == 0
    with monkeypatch.context() as spoiled:
        spoil(spoiled, SPOILED["loss is nan"])
        assert main(command) == 2
    return command, capsys.readouterr().err


def test_too_many_in_a_row_stop_the_run_with_an_explanation(
    crashed: tuple[list[str], str], tmp_path: Path
) -> None:
    _, said = crashed
    crash = tmp_path / "run/crash-step-00000007"
    error = said.splitlines()[-1]
    assert error.startswith("error: update 7: the loss was no number in 3 updates in a row")
    assert f"their lines and all else is in {crash}; go on with a lower learning rate" in error
    assert "Traceback" not in said
    files = sorted(path.name for path in crash.iterdir())
    assert files == ["lines.txt", "recipe.toml", "updates.json", "versions.json"]
    updates = json.loads((crash / "updates.json").read_text())
    assert [update["step"] for update in updates] == [5, 6, 7]
    assert all(update["loss"] == "nan" and update["not_finite"] for update in updates)
    assert all(len(update["batches"]) == 2 for update in updates)  # accumulation
    assert read_recipe(crash / "recipe.toml").training.max_skipped == 3
    assert json.loads((crash / "versions.json").read_text())["torch"] == torch.__version__


def test_the_lines_of_a_crash_are_those_of_the_files(
    crashed: tuple[list[str], str], tmp_path: Path
) -> None:
    crash = tmp_path / "run/crash-step-00000007"
    german = (tmp_path / "train.de").read_text(encoding="utf-8").splitlines()
    english = (tmp_path / "train.en").read_text(encoding="utf-8").splitlines()
    lines = (crash / "lines.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        place, source, target = line.split("\t")
        name, _, number = place.rpartition(": ")
        assert name == f"{tmp_path}/train.de and {tmp_path}/train.en"
        assert (source, target) == (german[int(number) - 1], english[int(number) - 1])
    updates = json.loads((crash / "updates.json").read_text())
    examples = {index for update in updates for batch in update["batches"] for index in batch}
    assert len(lines) == len(set(lines)) == len(examples) > 0


def test_the_good_updates_before_a_crash_are_saved_and_the_run_can_go_on(
    crashed: tuple[list[str], str], tmp_path: Path
) -> None:
    run, (command, _) = tmp_path / "run", crashed
    good = recipe_for(tmp_path, checkpoint_every=100, max_skipped=3, stop_after=4)
    list(train(good, tmp_path / "good"))
    assert_same_bits(tensors(tmp_path / "good", 4), tensors(run, 7))
    assert main(command) == 0
    assert checkpoints(run / "checkpoints")[-1].name == "step-00000012"
    assert "3 updates skipped, since" in (run / "README.md").read_text(encoding="utf-8")
    assert (run / "crash-step-00000007").is_dir()


def test_a_crash_that_cannot_be_written_down_is_explained_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(self: CrashBundle) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(CrashBundle, "write", full)
    spoil(monkeypatch, SPOILED["gradient is nan"])
    with pytest.raises(TrainingError, match="gradient was no number in 2 updates") as caught:
        list(train(recipe_for(tmp_path, max_skipped=2), tmp_path / "run"))
    assert "no more about them can be written: No space left on device" in str(caught.value)


def test_only_skips_in_a_row_are_remembered(tmp_path: Path) -> None:
    spoiled = {2, 4, 5}
    seen: list[list[int]] = []

    class Watched(CrashBundle):
        def take(self, trainer: Any, update: Update) -> None:
            super().take(trainer, update)
            seen.append([entry["step"] for entry in self.updates])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dragoman.run.current.CrashBundle", Watched)
        steps = iter(range(1, 100))
        plain = Translation.loss

        def loss(self: Translation, model: Any, batch: Batch) -> Tensor:
            summed = plain(self, model, batch)
            real = torch.is_grad_enabled() and model.training and summed.requires_grad
            return summed * math.nan if real and current[0] in spoiled else summed

        current = [0]
        patch.setattr(Translation, "loss", loss)
        for event in train(recipe_for(tmp_path, max_skipped=3), tmp_path / "run"):
            if type(event).__name__ in ("Started", "StepDone", "Skipped"):
                current[0] = next(steps)
    assert seen == [[2], [4], [4, 5]]
