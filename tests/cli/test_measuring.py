"""The commands ``score`` and ``evaluate`` for each kind of model."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.classifier import Classifier
from dragoman.cli.main import main
from dragoman.language_model import LanguageModel
from dragoman.translator import Translator
from tests.fixtures import tiny_folder
from tests.one_sided import encoder_bundle, folder_of, image_bundle, language_bundle


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of model folders."""
    folder = tmp_path_factory.mktemp("models")
    folder_of(folder / "language", language_bundle())
    for head in ("pieces", "class", "tags"):
        folder_of(folder / head, encoder_bundle(head))
    folder_of(folder / "images", image_bundle())
    tiny_folder(folder / "translator")
    return folder


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_score_writes_a_number_for_each_line_of_text(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["the dog", "", "we go ."]
    text = write(tmp_path / "text", *lines)
    assert main(["score", str(models / "language"), "--text", text]) == 0
    plain = capsys.readouterr().out.splitlines()
    expected = LanguageModel.load(models / "language").score(lines)
    assert plain == [f"{score.log_prob:.6f}" for score in expected]
    assert main(["score", str(models / "language"), "--text", text, "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["line"] for each in found] == [1, 2, 3]
    assert [each["tokens"][-1] for each in found] == ["</s>"] * 3
    assert found[0]["bits_per_character"] == pytest.approx(expected[0].bits_per_character)


def test_score_wants_pairs_or_text_and_a_model_of_that_kind(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = write(tmp_path / "text", "a")
    for options in ([], ["--source", text], ["--source", text, "--target", text, "--text", text]):
        assert main(["score", str(models / "language"), *options]) == 2
        assert "give --source and --target, or --file, or --text" in capsys.readouterr().err
    assert main(["score", str(models / "translator"), "--text", text]) == 2
    assert "does not continue text; use dragoman translate" in capsys.readouterr().err
    assert main(["score", str(models / "language"), "--source", text, "--target", text]) == 2
    assert "does not translate; use dragoman generate" in capsys.readouterr().err


@pytest.mark.parametrize(("documents", "count"), [("line", 3), ("blank-lines", 2), ("file", 1)])
def test_evaluate_measures_text(
    documents: str,
    count: int,
    models: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = write(tmp_path / "text", "the dog", "we go .", "", "a cat")
    command = ["--text", text, "--documents", documents, "--context", "9"]
    assert main(["evaluate", str(models / "language"), *command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["documents"] == count
    assert found["metrics"]["bits"]["value"] > 0
    assert found["perplexity"] == pytest.approx(np.exp(found["loss_nats"]))
    assert main(["evaluate", str(models / "language"), *command]) == 0
    bits, loss = capsys.readouterr().out.splitlines()
    assert bits.startswith(f"bits {found['metrics']['bits']['value']:.2f} [per:character")
    assert loss.startswith(f"loss {found['loss_nats']:.4f} nats  perplexity ")
    assert main(["evaluate", str(models / "pieces"), *command, "--json"]) == 0
    assert "accuracy" in json.loads(capsys.readouterr().out)["metrics"]


def test_evaluate_measures_labels_tags_and_images(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path / "s", "der hund", "ein mann")
    target = write(tmp_path / "t", "animal", "person")
    files = ["--source", source, "--target", target]
    assert main(["evaluate", str(models / "class"), *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    answers = Classifier.load(models / "class").classify(["der hund", "ein mann"])
    right = [a.label == b for a, b in zip(answers, ("animal", "person"), strict=True)]
    assert found["metrics"]["accuracy"]["value"] == pytest.approx(50 * sum(right))
    assert (found["texts"], found["cut"]) == (2, 0)
    assert main(["evaluate", str(models / "tags"), *files]) == 2
    assert "line 1: 2 words, but 1 tags" in capsys.readouterr().err
    target = write(tmp_path / "t", "other animal", "other person")
    assert main(["evaluate", str(models / "tags"), *files]) == 0
    assert capsys.readouterr().out.startswith("accuracy ")
    np.savez(tmp_path / "i.npz", images=np.zeros((3, 4, 6)), labels=np.array(["animal"] * 3))
    images = ["--images", str(tmp_path / "i.npz")]
    assert main(["evaluate", str(models / "images"), *images, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["images"] == 3


def test_alternatives_are_one_item_for_each_source(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    translator = Translator.load(models / "translator")
    said = translator.translate(["wir gehen ."])[0].text
    right = " ".join(said.split())  # what it says, as tokens
    source = write(tmp_path / "s", "wir gehen .", "ein mann", "wir gehen .")
    target = write(tmp_path / "t", "x", "x", right)
    kept = tmp_path / "kept"
    command = ["evaluate", str(models / "translator"), "--source", source, "--target", target]
    options = ["--alternatives", "--hypotheses", str(kept), "--json"]
    assert main([*command, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sentences"] == 2
    assert found["metrics"].keys() == {"exact", "wer"}
    assert found["metrics"]["exact"]["value"] == 50
    assert kept.read_bytes().count(b"\n") == 2
    assert main([*command, "--metrics", "exact", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["exact"]["value"] == pytest.approx(
        100 / 3
    )
    assert main([*command, "--alternatives", "--metrics", "bleu"]) == 2
    assert "choose from exact, wer" in capsys.readouterr().err
    assert main([*command, "--alternatives", "--tokenize", "zh"]) == 2
    assert "--tokenize: is for BLEU" in capsys.readouterr().err


def test_one_corpus_of_the_right_kind_is_asked_for(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = write(tmp_path / "text", "a")
    pairs = ["--source", text, "--target", text]
    for options in ([], ["--source", text], [*pairs, "--text", text]):
        assert main(["evaluate", str(models / "class"), *options]) == 2
        wanted = "give --source and --target, or --file, or --text, or --images"
        assert wanted in capsys.readouterr().err
    for model, options, message in (
        ("translator", ["--text", text], "a translator is measured on --source and --target"),
        ("language", pairs, "a language model is not measured on source and target; give plain"),
        ("class", ["--text", text], "a model that classifies texts is not measured on plain text"),
        ("images", pairs, "a model that classifies images is not measured on source and target"),
    ):
        assert main(["evaluate", str(models / model), *options]) == 2
        assert f"error: {models / model}: {message}" in capsys.readouterr().err
    assert main(["evaluate", str(models / "language"), "--text", text, "--documents", "x"]) == 2
    assert "choose from line, blank-lines, file" in capsys.readouterr().err
    for option in (["--metrics", "bleu"], ["--hypotheses", "h"], ["--alternatives"]):
        assert main(["evaluate", str(models / "language"), "--text", text, *option]) == 2
        assert f"{option[0]}: is for translators" in capsys.readouterr().err


# Field reports 1, 3 and 5, for test sets.


@pytest.mark.parametrize("sign", ["\u2028", "\u0085", "\v", "\x1c", "\r"])
def test_an_invisible_character_ends_no_line_of_a_test_set(
    sign: str, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path / "s", f"der{sign}hund", "wir gehen")
    target = write(tmp_path / "t", "the dog", f"we{sign}go")
    rows = write(tmp_path / "a.tsv", f"der{sign}hund\tthe dog", f"wir gehen\twe{sign}go")
    kept = tmp_path / "kept"
    found: list[str] = []
    for files in (["--source", source, "--target", target], ["--file", rows]):
        assert main(["score", str(models / "translator"), *files]) == 0
        found.append(capsys.readouterr().out)
        options = ["--hypotheses", str(kept), "--beam", "1", "--json"]
        assert main(["evaluate", str(models / "translator"), *files, *options]) == 0
        assert json.loads(capsys.readouterr().out)["sentences"] == 2
        assert kept.read_bytes().count(b"\n") == 2
    assert found[0] == found[1]
    assert found[0].count("\n") == 2


@pytest.mark.parametrize("verb", ["score", "evaluate"])
@pytest.mark.parametrize(
    ("source", "target", "problem"),
    [
        (b"a\nb\n\xe9\n", b"x\ny\nz\n", "s: line 3: not UTF-8 (byte 0xe9"),
        (b"a\nb\nc\n", b"x\ny\n", "s: 3 lines, but "),
        (b"", b"", "no lines"),
    ],
    ids=["bad bytes", "unequal", "empty"],
)
def test_a_test_set_that_cannot_be_read_is_two(
    verb: str,
    source: bytes,
    target: bytes,
    problem: str,
    models: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "s").write_bytes(source)
    (tmp_path / "t").write_bytes(target)
    files = ["--source", str(tmp_path / "s"), "--target", str(tmp_path / "t")]
    assert main([verb, str(models / "translator"), *files]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert problem in err


def test_evaluate_measures_an_engine_a_precision_or_an_ensemble(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = write(tmp_path / "s", "the dog", "we go ."), write(tmp_path / "t", "a", "b")
    hypotheses = tmp_path / "h"
    model = str(models / "translator")
    options = ["--source", source, "--target", target, "--beam", "2", "--max-length", "6"]
    ways: list[tuple[list[str], dict[str, Any]]] = [  # Any: as Translator.load has them
        (["--dtype", "int8"], {"dtype": "int8", "engine": "fused"}),
        (["--engine", "fused"], {"engine": "fused"}),
        (
            ["--ensemble", model, "--ensemble-mean", "geometric"],
            {"engine": "torch", "ensemble": [model], "ensemble_mean": "geometric"},
        ),
    ]
    for chosen, loading in ways:
        command = ["evaluate", model, *options, *chosen, "--hypotheses", str(hypotheses)]
        assert main(command) == 0
        translator = Translator.load(model, **loading)
        expected = translator.translate(["the dog", "we go ."], beam=2, max_length=6)
        found = hypotheses.read_text(encoding="utf-8").splitlines()
        assert found == [each.text for each in expected]
    capsys.readouterr()
    for chosen, named in (
        (["--engine", "torch", "--dtype", "int8"], "the engine torch does not compute in int8"),
        (["--engine", "quick"], "'quick' is not an engine"),
        (["--ensemble-mean", "geometric"], "there is one model"),
    ):
        assert main(["evaluate", model, *options, *chosen]) == 2
        assert named in capsys.readouterr().err
