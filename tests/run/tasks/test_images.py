import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.classifier import Classifier
from dragoman.data import ImageFile
from dragoman.errors import ConfigError, DataError
from dragoman.recipe import Recipe
from dragoman.run import measure, train
from tests.run.tasks.runs import (
    assert_stopping_changes_nothing,
    assert_the_loss_falls,
    events_of,
    numbered,
    recipe_for,
    write_images,
    write_text,
)

LABELS = ["above", "below", "centre"] * 20
MODEL = {
    "architecture": "encoder-only",
    "head": "class",
    "images": {"height": 4, "width": 4, "patch": 2},
    "positions": {"kind": "learned", "max_length": 5},
}


def recipe_of(folder: Path, **changes: Any) -> Recipe:
    images = write_images(folder, LABELS)
    data = {"train": {"images": images}, "hold_out": 9}
    return recipe_for(data | changes.pop("data", {}), MODEL | changes.pop("model", {}), **changes)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    list(train(recipe_of(folder), folder / "run"))
    return folder / "run"


def test_the_loss_falls_and_validations_have_an_accuracy(straight: Path) -> None:
    assert_the_loss_falls(straight)
    validations = events_of(straight, "Validated")
    assert [event["step"] for event in validations] == [4, 8, 12]
    assert all("of:images" in event["signatures"]["accuracy"] for event in validations)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_images_are_learned_in_half_precision_too(precision: str, tmp_path: Path) -> None:
    list(train(recipe_of(tmp_path, training={"precision": precision}), tmp_path / "run"))
    losses = [event["loss_nats"] for event in events_of(tmp_path / "run", "StepDone")]
    assert losses
    assert all(math.isfinite(loss) for loss in losses)


@pytest.mark.parametrize("stop", [1, 6])
def test_stopping_and_going_on_gives_the_same_bits(stop: int, straight: Path) -> None:
    assert_stopping_changes_nothing(straight, recipe_of(straight.parent), stop)


def test_the_accuracy_of_a_measurement_is_the_share_of_right_answers(straight: Path) -> None:
    model = Classifier.load(straight, device="cpu")
    path = straight.parent / "images.npz"
    found = measure(model, ImageFile(images=path), batch_tokens=37)
    with np.load(path) as archive:
        answers = [each.label for each in model.classify(archive["images"])]
    right = sum(a == b for a, b in zip(answers, LABELS, strict=True))
    (accuracy,) = found.validation.scores
    assert (found.count, found.what) == (60, "images")
    assert accuracy.value == pytest.approx(100 * right / 60)
    assert right > 30  # it has learned something


def test_a_class_unknown_in_training_is_refused_before_it(tmp_path: Path) -> None:
    odd = write_images(tmp_path, ["above", "behind"], "v.npz")
    recipe = recipe_of(tmp_path, data={"validation": {"images": odd}, "hold_out": 0})
    message = (
        r"v\.npz: labels\[1\]: 'behind' is not a class of the training images; they have above"
    )
    with pytest.raises(DataError, match=message):
        list(train(recipe, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_blank_label_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "blank.npz"
    np.savez(path, images=np.zeros((2, 4, 4)), labels=np.array(["above", ""]))
    recipe = recipe_of(tmp_path, data={"train": {"images": str(path)}, "hold_out": 0})
    with pytest.raises(DataError, match=r"blank\.npz: labels\[1\] is blank"):
        list(train(recipe, tmp_path / "run"))


def test_images_of_another_size_are_refused_with_both_sizes(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, model={"images": {"height": 2, "width": 4, "patch": 2}})
    message = r"images of 4 x 4 x 1, but model\.images says 2 x 4 x 1; set its height"
    with pytest.raises(DataError, match=message):
        list(train(recipe, tmp_path / "run"))


def test_other_kinds_of_corpus_are_refused_at_their_place(tmp_path: Path) -> None:
    text = {"text": write_text(tmp_path, numbered(9))}
    for place in ("train", "validation"):
        with pytest.raises(ConfigError, match=rf"data\.{place}: plain text, .* give images"):
            recipe_of(tmp_path, data={place: text, "hold_out": 0})


def test_holding_out_everything_or_all_of_a_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"images\.npz: holding out 60 of 60 images leaves none"):
        list(train(recipe_of(tmp_path, data={"hold_out": 60}), tmp_path / "run"))
    one = {"images": write_images(tmp_path, ["above"] * 9, "one.npz")}
    with pytest.raises(DataError, match=r"one\.npz: has the single class 'above'"):
        list(train(recipe_of(tmp_path, data={"train": one, "hold_out": 0}), tmp_path / "run"))
