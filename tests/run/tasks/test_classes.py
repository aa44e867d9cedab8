from pathlib import Path
from typing import Any

import pytest

from dragoman.classifier import Classifier
from dragoman.data import TsvFile
from dragoman.errors import ConfigError, DataError
from dragoman.recipe import Recipe
from dragoman.run import measure, train
from dragoman.training import Notice
from tests.run.tasks.runs import (
    assert_stopping_changes_nothing,
    assert_the_loss_falls,
    events_of,
    numbered,
    recipe_for,
    write_text,
)

KINDS = ("animal", "animal", "person", "people")  # of the four lines of English
TAGS = {"dog": "noun", "cat": "noun", "milk": "noun", "man": "noun", "book": "noun", ".": "mark"}


def classed(count: int) -> list[str]:
    return [f"{text}\t{KINDS[number % 4]}" for number, text in enumerate(numbered(count))]


def tagged(count: int) -> list[str]:
    lines = numbered(count)
    return [f"{text}\t{' '.join(TAGS.get(w, 'other') for w in text.split())}" for text in lines]


def recipe_of(folder: Path, head: str = "class", **changes: Any) -> Recipe:
    lines = tagged(60) if head == "tags" else classed(60)
    data = {"train": write_text(folder, lines, "train.tsv"), "hold_out": 8}
    model = {"architecture": "encoder-only", "head": head}
    return recipe_for(data | changes.pop("data", {}), model, **changes)


@pytest.fixture(scope="module", params=["class", "tags"])
def straight(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    list(train(recipe_of(folder, request.param), folder / request.param))
    return folder / request.param  # the name says which head


def test_the_loss_falls_and_the_accuracy_decides(straight: Path) -> None:
    assert_the_loss_falls(straight)
    validations = events_of(straight, "Validated")
    assert [event["step"] for event in validations] == [4, 8, 12]
    best = -1.0
    for event in validations:
        assert event["best"] == (event["scores"]["accuracy"] > best)
        best = max(best, event["scores"]["accuracy"])
    what = "words" if straight.name == "tags" else "texts"
    assert f"of:{what}" in validations[0]["signatures"]["accuracy"]


@pytest.mark.parametrize("stop", [1, 6])
def test_stopping_and_going_on_gives_the_same_bits(stop: int, straight: Path) -> None:
    recipe = recipe_of(straight.parent, straight.name)
    assert_stopping_changes_nothing(straight, recipe, stop)


def test_the_accuracy_of_a_measurement_is_the_share_of_right_answers(straight: Path) -> None:
    model = Classifier.load(straight, device="cpu")
    file = straight.parent / "train.tsv"
    found = measure(model, TsvFile(file=file), batch_tokens=100)
    assert found.count == 60
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    texts = [text for text, _ in rows]
    if straight.name == "tags":
        answers = [word.label for tagging in model.tag(texts) for word in tagging.words]
        asked = [tag for _, tags in rows for tag in tags.split()]
    else:
        answers = [each.label for each in model.classify(texts)]
        asked = [label for _, label in rows]
    right = sum(a == b for a, b in zip(answers, asked, strict=True))
    (accuracy,) = found.validation.scores
    assert accuracy.value == pytest.approx(100 * right / len(asked))
    assert right / len(asked) > 0.5  # it has learned something


@pytest.mark.parametrize("place", ["validation", "test"])
def test_a_class_unknown_in_training_is_refused_before_it(place: str, tmp_path: Path) -> None:
    validation = write_text(tmp_path, ["1 we go .\tpeople", "2 we go .\tpoeple"], "v.tsv")
    recipe = recipe_of(tmp_path, data={place: validation, "hold_out": 0})
    with pytest.raises(
        DataError, match="'poeple' is not a class of the training text; it has"
    ) as e:
        list(train(recipe, tmp_path / "run"))
    assert f"{validation}: line 2: " in str(e.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("we go .\t", "line 61: the label is blank; give every text a label, or drop the line"),
        ("we go .\t  ", "line 61: the label is blank"),
        ("\tpeople", "line 61: the text is blank"),
        ("we go .", "line 61: columns: 1, expected 2"),
    ],
)
@pytest.mark.parametrize("place", ["train", "validation"])
def test_blank_and_missing_labels_are_refused_with_their_line(
    place: str, line: str, message: str, tmp_path: Path
) -> None:
    file = write_text(tmp_path, [*classed(60), line], "odd.tsv")
    recipe = recipe_of(tmp_path, data={place: file, "hold_out": 0})
    with pytest.raises(DataError, match=message) as caught:
        list(train(recipe, tmp_path / "run"))
    assert str(caught.value).startswith(f"{file}: ")


def test_lines_that_are_blank_on_both_sides_are_left_out(tmp_path: Path) -> None:
    file = write_text(tmp_path, [*classed(20), "\t", " \t "], "odd.tsv")
    recipe = recipe_of(tmp_path, data={"train": file, "hold_out": 0}, training={"steps": 1})
    list(train(recipe, tmp_path / "run"))
    assert events_of(tmp_path / "run", "Started")[0]["pairs"] == 20


def test_a_tag_for_each_word_is_asked_for(tmp_path: Path) -> None:
    file = write_text(tmp_path, [*tagged(20), "we go .\tother mark"], "odd.tsv")
    with pytest.raises(
        DataError, match=r"line 21: 3 words, but 2 tags; give one tag for each word"
    ):
        list(train(recipe_of(tmp_path, "tags", data={"train": file}), tmp_path / "run"))


def test_one_class_is_nothing_to_tell_apart(tmp_path: Path) -> None:
    file = write_text(tmp_path, ["we go .\ta", "the dog .\ta"], "one.tsv")
    with pytest.raises(DataError, match="has the single class 'a'"):
        list(train(recipe_of(tmp_path, data={"train": file, "hold_out": 0}), tmp_path / "run"))


def test_other_kinds_of_corpus_and_no_head_are_refused_at_their_place(tmp_path: Path) -> None:
    text = {"text": write_text(tmp_path, numbered(60))}
    for place in ("train", "validation"):
        with pytest.raises(
            ConfigError, match=rf"data\.{place}: plain text, from which encoder-only does not learn"
        ):
            recipe_of(tmp_path, data={place: text, "hold_out": 0})
    for head in ("none", "pooled"):
        with pytest.raises(ConfigError, match=rf"model\.head: {head} has nothing to learn"):
            recipe_of(tmp_path, head)


def test_texts_that_are_too_long_are_cut_and_counted(tmp_path: Path) -> None:
    file = write_text(tmp_path, [*classed(20), "we go . " * 40 + "\tpeople"], "long.tsv")
    recipe = recipe_of(
        tmp_path,
        data={"train": file, "hold_out": 0, "max_length": 40},
        training={"steps": 1},
    )
    events = list(train(recipe, tmp_path / "run"))
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert any("long.tsv: 1 texts longer than the limit, cut" in text for text in notices)
