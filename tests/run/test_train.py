import json
from pathlib import Path

import pytest

from dragoman.errors import CheckpointError, ConfigError, DataError
from dragoman.recipe import Recipe, parse_recipe
from dragoman.run import train
from dragoman.run.tasks.pairs import read_all_pairs
from dragoman.training import Finished, Notice, Started, StepDone, Validated
from tests.fixtures import write_corpus


def recipe_for(folder: Path, **tables: dict[str, object]) -> Recipe:
    source, target = write_corpus(folder)
    table: dict[str, dict[str, object]] = {
        "data": {"train": {"source": str(source), "target": str(target)}},
        "tokenizer": {"size": 300},
        "model": {"layers": 1, "d_model": 16, "heads": 2, "d_ff": 32},
        "training": {"batch_tokens": 96, "warmup": 4, "log_every": 1},
        "decoding": {"beam": 1, "max_length": 8},
    }
    for name, extra in tables.items():
        table[name] = {**table.get(name, {}), **extra}
    return parse_recipe(table)


def test_epochs_see_every_target_piece_as_often_whatever_the_accumulation(tmp_path: Path) -> None:
    for accumulate in (1, 5):  # 5 does not divide the batches: the last update is a partial one
        folder = tmp_path / str(accumulate)
        folder.mkdir()
        recipe = recipe_for(folder, training={"epochs": 2, "accumulate": accumulate})
        events = list(train(recipe, folder / "run"))
        started = next(event for event in events if isinstance(event, Started))
        last = [event for event in events if isinstance(event, StepDone)][-1]
        assert (started.batches_per_epoch * 2) % 5 != 0
        assert last.step == started.steps
        targets = read_all_pairs(recipe, folder / "run", reuse=True).train[0].store.targets
        assert last.target_tokens == 2 * sum(targets.lengths + 1)


def test_the_loss_of_the_paper_falls_on_a_small_corpus(tmp_path: Path) -> None:
    recipe = recipe_for(
        tmp_path, training={"steps": 200, "schedule": {"kind": "constant", "peak": 3e-3}}
    )
    losses = [e.loss_nats for e in train(recipe, tmp_path / "run") if isinstance(e, StepDone)]
    assert sum(losses[-10:]) < 0.6 * sum(losses[:10])


def test_patience_ends_a_run_that_gets_no_better(tmp_path: Path) -> None:
    recipe = recipe_for(
        tmp_path,
        data={"hold_out": 4},
        training={
            "steps": 500,
            "schedule": {"kind": "constant", "peak": 1e-12},  # so that nothing changes
            "checkpoint_every": 1,
        },
        validation={"every": 2, "metrics": [], "patience": 3},
    )
    events = list(train(recipe, tmp_path / "run"))
    validations = [event for event in events if isinstance(event, Validated)]
    assert isinstance(events[-1], Finished)
    assert events[-1].step < 500
    assert not any(event.best for event in validations[-3:])


def test_what_is_left_out_is_said_and_kept(tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path, data={"max_length": 16}, training={"steps": 1})
    with (tmp_path / "train.de").open("a", encoding="utf-8") as file:
        file.write("\n" + "sehr " * 30 + "\n")
    with (tmp_path / "train.en").open("a", encoding="utf-8") as file:
        file.write("blank on the other side\nvery\n")
    events = list(train(recipe, tmp_path / "run"))
    notices = " | ".join(event.text for event in events if isinstance(event, Notice))
    assert "1 pairs left out, blank on a side" in notices
    assert "longer than the limit, dropped" in notices
    kept = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [line["event"] for line in kept] == [type(event).__name__ for event in events]
    card = (tmp_path / "run/README.md").read_text(encoding="utf-8")
    assert "1 blank on a side" in card
    assert "sha256" in card


def test_a_vocabulary_size_in_the_recipe_must_be_that_of_the_tokenizer(tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path, model={"vocabulary": 77}, training={"steps": 1})
    with pytest.raises(ConfigError, match=r"model\.vocabulary: 77 is not what the tokenizer has"):
        list(train(recipe, tmp_path / "run"))


def test_a_restart_keeps_the_finished_model_until_the_new_data_is_read(tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path, training={"steps": 1})
    list(train(recipe, tmp_path / "run"))
    before = (tmp_path / "run/model.safetensors").read_bytes()
    (tmp_path / "train.de").write_text("", encoding="utf-8")
    with pytest.raises(DataError):
        list(train(recipe, tmp_path / "run", restart=True))
    assert (tmp_path / "run/model.safetensors").read_bytes() == before
    other = recipe_for(tmp_path, training={"steps": 2}, tokenizer={"joint": False})
    list(train(other, tmp_path / "run", restart=True))
    assert not (tmp_path / "run/tokenizer.json").exists()
    assert (tmp_path / "run/source.tokenizer.json").exists()


def test_a_new_run_that_cannot_begin_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"training\.freeze"):
        list(train(recipe_for(tmp_path, training={"freeze": ["enc.*"]}), tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_change_that_is_refused_leaves_the_recipe_of_the_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    steps: dict[str, object] = {"steps": 4, "stop_after": 2}
    list(train(recipe_for(tmp_path, training=steps), run))
    before = (run / "recipe.toml").read_bytes()
    other = tmp_path / "other"
    other.mkdir()
    source, target = write_corpus(other)
    source.write_text("Katze\n" * 3, encoding="utf-8")
    target.write_text("cat\n" * 3, encoding="utf-8")
    changed = recipe_for(
        tmp_path,
        training=steps,
        data={"train": {"source": str(source), "target": str(target)}},
    )
    with pytest.raises(CheckpointError, match=r"(this|the) run began with"):
        list(train(changed, run, accept_changes=True))
    assert (run / "recipe.toml").read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        {"optimizer": {"kind": "adafactor"}},
        {"freeze": ["encoder.*"]},
        {"ema": 0.9},
        {"accumulate": 2},
        {"batch_tokens": 200},
        {"seed": 2},
    ],
)
def test_what_a_checkpoint_would_not_fit_is_no_change_to_accept(
    change: dict[str, object], tmp_path: Path
) -> None:
    steps: dict[str, object] = {"steps": 3, "stop_after": 1}
    list(train(recipe_for(tmp_path, training=steps), tmp_path / "run"))
    changed = recipe_for(tmp_path, training=steps | change)
    with pytest.raises(CheckpointError, match=f"(?s)cannot change in a run.*{next(iter(change))}"):
        list(train(changed, tmp_path / "run", accept_changes=True))
