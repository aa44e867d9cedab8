from pathlib import Path
from typing import Any

import pytest

from dragoman.classifier import Classifier
from dragoman.data import Text
from dragoman.errors import ConfigError, DataError
from dragoman.recipe import Recipe
from dragoman.run import measure, train
from dragoman.run.tasks.masked import MaskedPieces
from tests.run.tasks.runs import (
    assert_stopping_changes_nothing,
    assert_the_loss_falls,
    events_of,
    numbered,
    recipe_for,
    write_text,
)

ENCODER = {"architecture": "encoder-only"}


def recipe_of(folder: Path, **changes: Any) -> Recipe:
    text = write_text(folder, numbered(60))
    data = {"train": {"text": text}, "hold_out": 6, "context": 24}
    return recipe_for(data | changes.pop("data", {}), ENCODER | changes.pop("model", {}), **changes)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("masked")
    list(train(recipe_of(folder), folder / "run"))
    return folder / "run"


def test_the_loss_falls_and_validations_have_an_accuracy(straight: Path) -> None:
    assert_the_loss_falls(straight)
    validations = events_of(straight, "Validated")
    assert [event["step"] for event in validations] == [4, 8, 12]
    assert all(0 <= event["scores"]["accuracy"] <= 100 for event in validations)
    assert validations[-1]["loss_nats"] < validations[0]["loss_nats"]


@pytest.mark.parametrize("stop", [1, 6])
def test_stopping_and_going_on_gives_the_same_bits(stop: int, straight: Path) -> None:
    assert_stopping_changes_nothing(straight, recipe_of(straight.parent), stop)


def test_the_finished_model_fills_and_its_measurement_is_that_of_the_run(straight: Path) -> None:
    model = Classifier.load(straight, device="cpu")
    assert len(model.fill("3 the ", " sleeps .")) == 5
    task = MaskedPieces(recipe_of(straight.parent), straight, reuse=True)
    held_out = write_text(straight.parent, list(task.text.validation), "held-out")
    expected = task.validate(model.model)
    for batch_tokens in (30, 4096):  # the gaps are the same whatever the batches
        found = measure(model, Text(text=Path(held_out)), context=24, batch_tokens=batch_tokens)
        assert found.validation.loss_nats == pytest.approx(expected.loss_nats, abs=1e-5)
        assert found.validation.scores == expected.scores


def test_documents_are_cut_to_what_fits_with_start_and_end(tmp_path: Path) -> None:
    positions = {"kind": "learned", "max_length": 9}
    task = MaskedPieces(recipe_of(tmp_path, model={"positions": positions}), tmp_path, reuse=False)
    assert int(task.sequences.lengths.max()) == 7
    whole = sum(len(task.text.tokenizer.encode(document)) for document in task.text.train)
    assert int(task.sequences.lengths.sum()) == whole


def test_other_kinds_of_corpus_are_refused_at_their_place(tmp_path: Path) -> None:
    text = {"text": write_text(tmp_path, numbered(60))}
    pairs = {"source": text["text"], "target": text["text"]}
    for place in ("train", "validation"):
        with pytest.raises(
            ConfigError, match=rf"data\.{place}: source and target, .* give plain text"
        ):
            recipe_of(tmp_path, data={place: pairs, "hold_out": 0})


def test_a_file_without_text_is_refused_with_its_name(tmp_path: Path) -> None:
    empty = write_text(tmp_path, [" ", ""], "empty")
    with pytest.raises(DataError, match="empty: holds no text"):
        list(train(recipe_of(tmp_path, data={"train": {"text": empty}}), tmp_path / "run"))


def test_the_card_says_how_the_model_is_used(straight: Path) -> None:
    card = (straight / "README.md").read_text(encoding="utf-8")
    assert "validation: accuracy" in card
    assert "fill([...])" in card
