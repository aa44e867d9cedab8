import math
from pathlib import Path
from typing import Any

import pytest

from dragoman.data import Text
from dragoman.errors import CheckpointError, ConfigError, DataError
from dragoman.language_model import LanguageModel
from dragoman.recipe import Recipe
from dragoman.run import measure, train
from dragoman.run.tasks.language import Language
from tests.run.tasks.runs import (
    assert_stopping_changes_nothing,
    assert_the_loss_falls,
    events_of,
    numbered,
    recipe_for,
    write_text,
)

DECODER = {"architecture": "decoder-only"}


def recipe_of(folder: Path, **changes: Any) -> Recipe:
    text = write_text(folder, numbered(60))
    data = {"train": {"text": text}, "hold_out": 6, "context": 24}
    return recipe_for(data | changes.pop("data", {}), DECODER | changes.pop("model", {}), **changes)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language")
    list(train(recipe_of(folder), folder / "run"))
    return folder / "run"


def test_the_loss_falls_and_validations_have_bits_per_character(straight: Path) -> None:
    assert_the_loss_falls(straight)
    validations = events_of(straight, "Validated")
    assert [event["step"] for event in validations] == [4, 8, 12]
    assert validations[-1]["loss_nats"] < validations[0]["loss_nats"]
    for event in validations:
        assert event["scores"]["bits"] > 0
        assert event["perplexity"] == pytest.approx(math.exp(event["loss_nats"]))


@pytest.mark.parametrize("stop", [1, 6])
def test_stopping_and_going_on_gives_the_same_bits(stop: int, straight: Path) -> None:
    assert_stopping_changes_nothing(straight, recipe_of(straight.parent), stop)


def test_the_finished_model_writes_and_its_measurement_is_that_of_the_run(straight: Path) -> None:
    model = LanguageModel.load(straight, device="cpu")
    assert model.generate(["3 the"], max_length=5)[0][0].tokens
    task = Language(recipe_of(straight.parent), straight, reuse=True)
    held_out = write_text(straight.parent, list(task.text.validation), "held-out")
    found = measure(model, Text(text=Path(held_out)), context=24)
    assert found.count == 6
    last = task.validate(model.model)
    assert found.validation.loss_nats == pytest.approx(last.loss_nats, abs=1e-5)
    best = min(event["loss_nats"] for event in events_of(straight, "Validated"))
    assert found.validation.loss_nats <= best + 1e-4


def test_windows_are_as_long_as_the_positions_allow(tmp_path: Path) -> None:
    positions = {"kind": "learned", "max_length": 10}
    task = Language(recipe_of(tmp_path, model={"positions": positions}), tmp_path, reuse=False)
    assert task.context == 10
    assert task.batches().next_batch().inputs.shape[1] == 10


def test_line_breaks_inside_a_document_are_pieces_that_can_be_written(tmp_path: Path) -> None:
    text = {"text": write_text(tmp_path, numbered(60)), "documents": "file"}
    recipe = recipe_of(
        tmp_path,
        data={"train": text, "hold_out": 0},
        tokenizer={"kind": "character", "size": 60, "byte_fallback": False},
    )
    task = Language(recipe, tmp_path, reuse=False)
    ids = task.text.tokenizer.encode("a\nb")
    assert task.text.tokenizer.special.unknown not in ids
    assert task.text.tokenizer.decode(ids) == "a\nb"
    assert task.examples == 1


def test_other_kinds_of_corpus_are_refused_at_their_place(tmp_path: Path) -> None:
    text = {"text": write_text(tmp_path, numbered(60))}
    pairs = {"source": text["text"], "target": text["text"]}
    images = {"images": str(tmp_path / "x.npz")}
    for place, data in (("train", pairs), ("train", images), ("validation", pairs)):
        with pytest.raises(
            ConfigError, match=rf"data\.{place}: .*, from which decoder-only does not .* plain text"
        ):
            recipe_of(tmp_path, data={place: data, "hold_out": 0})
    with pytest.raises(
        ConfigError, match=r"data\.test: source and target, from which decoder-only"
    ):
        recipe_of(tmp_path, data={"test": pairs}, training={"steps": 1})


def test_holding_out_everything_is_refused_with_the_file(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, data={"hold_out": 60})
    with pytest.raises(DataError, match=r"text: holding out 60 of 60 documents leaves none"):
        list(train(recipe, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_other_text_is_not_taken_for_that_of_the_run(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, training={"stop_after": 1})
    list(train(recipe, tmp_path / "run"))
    write_text(tmp_path, numbered(59))
    with pytest.raises(CheckpointError, match="not what this run began with"):
        list(train(recipe, tmp_path / "run"))


def test_a_test_text_is_scored_once_in_the_end(tmp_path: Path) -> None:
    test = {"text": write_text(tmp_path, numbered(9), "test")}
    list(train(recipe_of(tmp_path, data={"test": test}), tmp_path / "run"))
    card = (tmp_path / "run/README.md").read_text(encoding="utf-8")
    assert card.count("test: bits ") == 1
    assert "dragoman generate" in card
    assert "54 documents of 60 lines" in card
