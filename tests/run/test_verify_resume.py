"""Proof of exact resumption on any recipe; sittings run in this process unless said otherwise."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.configfile import write_record
from dragoman.errors import CheckpointError, ConfigError, TrainingError
from dragoman.recipe import Recipe, parse_recipe
from dragoman.run import ResumeCheck, train, verify_resume
from dragoman.run.verify_resume import Sitting, run_sitting
from dragoman.training import Progress, Trainer
from tests.run.tasks import test_classes, test_images, test_language, test_masked
from tests.run.tasks.runs import events_of
from tests.run.test_resume import recipe_for

KINDS: dict[str, Callable[[Path], Recipe]] = {
    "pairs": recipe_for,
    "language": test_language.recipe_of,
    "masked": test_masked.recipe_of,
    "classes": test_classes.recipe_of,
    "images": test_images.recipe_of,
}


def sit_here(sitting: Sitting) -> None:
    list(train(sitting.recipe, sitting.folder, device=sitting.device))


def verify(recipe: Recipe, *, updates: int = 12, stop_at: int = 5) -> ResumeCheck:
    return verify_resume(recipe, sit=sit_here, updates=updates, stop_at=stop_at)


def changed(recipe: Recipe, *settings: str) -> Recipe:
    return parse_recipe(write_record(recipe), settings)


def by_name(found: ResumeCheck) -> dict[str, int]:
    return {compared.what: compared.count for compared in found.comparisons}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_task_goes_on_as_if_it_had_never_stopped(kind: str, tmp_path: Path) -> None:
    found = verify(KINDS[kind](tmp_path / kind))
    assert found.equal, found.difference
    assert (found.updates, found.stop_at) == (12, 5)
    assert found.place.endswith("after 1 validation")
    compared = by_name(found)
    for what in ("order of the data", "rate", "loss", "gradient norm"):
        assert compared[what] == 12
    assert compared["validation"] == 4  # updates 3, 6, 9, 12
    assert compared["moments"] == 3 * compared["weights"]  # exp_avg, exp_avg_sq, step
    assert "finished model" in compared
    assert found.verdict.startswith("equal")


def test_a_stop_at_the_end_of_an_epoch_is_moved_into_one(tmp_path: Path) -> None:
    recipe = changed(recipe_for(tmp_path), "training.accumulate=1")  # 8 batches an epoch
    found = verify(recipe, stop_at=8)
    assert (found.stop_at, found.place.split(",")[0]) == (7, "epoch 1")
    assert "7 of 8 batches" in found.place


def test_a_short_run_is_stopped_before_its_end(tmp_path: Path) -> None:
    found = verify(changed(recipe_for(tmp_path), "training.steps=3"))
    assert (found.updates, found.stop_at, found.equal) == (3, 2, True)
    with pytest.raises(ConfigError, match="one update cannot be stopped"):
        verify(changed(recipe_for(tmp_path), "training.steps=1"))


def test_a_long_run_keeps_its_schedule_and_is_not_finished(tmp_path: Path) -> None:
    linear = 'training.schedule={kind="linear", peak=0.01}'
    recipe = changed(recipe_for(tmp_path), "training.steps=1000", linear)
    found = verify_resume(recipe, tmp_path / "kept", updates=6, stop_at=3, sit=sit_here)
    assert found.equal
    assert "finished model" not in by_name(found)
    # By hand: 0.01 at update 4, and 1/997 of it less at each of the 996 others, so 995/997 at 6.
    last = events_of(tmp_path / "kept/straight", "StepDone")[-1]
    assert last["learning_rate"] == pytest.approx(0.01 * 995 / 997)
    assert (tmp_path / "kept/stopped/checkpoints/step-00000006").is_dir()


def restart_data(trainer: Trainer, progress: Progress) -> Progress:
    return replace(progress, batches={"epoch": 1, "batch": 0})


def restart_schedule(trainer: Trainer, progress: Progress) -> Progress:
    rate = trainer.rate
    trainer.rate = lambda step: rate(max(1, step - progress.step))
    return progress


def forget_moments(trainer: Trainer, progress: Progress) -> Progress:
    trainer.weights.optimizer.state.clear()
    return progress


def forget_the_best(trainer: Trainer, progress: Progress) -> Progress:
    return replace(progress, best=None)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let every continuation lose something, as older toolkits do (field report 17)."""
    real = Trainer.restore

    def lose(what: Callable[[Trainer, Progress], Progress]) -> None:
        def restore(self: Trainer, progress: Progress) -> None:
            real(self, what(self, progress))

        monkeypatch.setattr(Trainer, "restore", restore)

    return lose


@pytest.mark.parametrize(
    ("lost", "named"),
    [
        (restart_data, "order of the data: update 6: order"),
        # Equation 3 at update 1 by hand: 16^-0.5 · 4^-1.5.
        (restart_schedule, "rate: update 6: learning_rate 0.03125 after a stop, "),
        (forget_moments, "loss: update 7: loss_nats"),
        (forget_the_best, "validation: update 6: best True after a stop, False straight"),
    ],
)
def test_whatever_a_continuation_loses_is_named_with_the_first_update(
    lost: Callable[[Trainer, Progress], Progress],
    named: str,
    broken: Callable[..., None],
    tmp_path: Path,
) -> None:
    recipe = recipe_for(tmp_path)
    if lost is forget_the_best:  # so that no later validation is better
        recipe = changed(recipe, 'training.schedule={kind="constant", peak=1e-12}')
    broken(lost)
    found = verify(recipe)
    assert not found.equal
    assert found.difference.startswith(named)
    assert "bug in dragoman" in found.verdict
    assert any(named.partition(": ")[2] in line for line in found.lines())
    assert found.summary()["equal"] is False


def test_runs_that_differ_before_the_stop_are_told_apart_from_a_bad_continuation(
    tmp_path: Path,
) -> None:
    def unlike(sitting: Sitting) -> None:
        text = sitting.recipe.read_text(encoding="utf-8")
        if sitting.number:
            sitting.recipe.write_text(text.replace("seed = 1\n", "seed = 2\n"), encoding="utf-8")
        sit_here(sitting)

    found = verify_resume(recipe_for(tmp_path), sit=unlike)
    assert found.first_update == 1
    assert "before the stop already" in found.verdict
    assert "training.deterministic=true" in found.verdict


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is not empty; choose a new folder"):
        verify_resume(recipe_for(tmp_path), tmp_path, sit=sit_here)


@pytest.mark.parametrize(("updates", "stop_at"), [(1, 1), (5, 5), (5, 0)])
def test_a_stop_outside_the_run_is_refused_before_training(
    updates: int, stop_at: int, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="leaves nothing to go on with; choose from 1 to"):
        verify(recipe_for(tmp_path), updates=updates, stop_at=stop_at)


def test_a_process_that_fails_is_quoted(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    with pytest.raises(TrainingError, match=r"ended with status 2; mend what it said:\n.*none"):
        run_sitting(Sitting(missing, tmp_path / "run", "cpu", 0))
