"""Ensembles, samples, reranking and word links on the command line."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.main import main
from dragoman.decoding import Sampling
from dragoman.translator import Candidate, Translator
from tests.fixtures import GERMAN, tiny_folder

LINES = ["", GERMAN[0], "12", GERMAN[1], GERMAN[0]]
SHORT = ["--max-length", "6", "--no-flags"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("drawing") / "model")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def translated(model: Path, text: Path, *options: str, status: int = 0) -> list[str]:
    output = text.with_name("out")
    arguments = ["translate", str(model), "--input", str(text), "--output", str(output)]
    assert main([*arguments, *SHORT, *options]) == status
    return output.read_text(encoding="utf-8").split("\n")[:-1]


def objects(model: Path, text: Path, *options: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in translated(model, text, "--json", *options)]


def test_samples_are_those_of_the_library(model: Path, text: Path) -> None:
    options = ["--sample", "--temperature", "0.8", "--top-k", "20", "--top-p", "0.9"]
    options += ["--min-p", "0.01", "--seed", "5", "--n-best", "3"]
    sampling = Sampling(temperature=0.8, top_k=20, top_p=0.9, min_p=0.01, seed=5)
    expected = Translator.load(model).translate(LINES, sampling=sampling, n_best=3, max_length=6)
    found = objects(model, text, *options)
    for line, translation in zip(found, expected, strict=True):
        texts = [each["text"] for each in line["hypotheses"]]
        assert texts == [each.text for each in translation.hypotheses]
    assert found[1]["text"] != found[4]["text"]  # the same text in another line


def test_reranking_is_that_of_the_library(model: Path, text: Path) -> None:
    loaded = Translator.load(model)
    over: list[tuple[list[str], dict[str, Any]]] = [
        (["--mbr", "6", "--seed", "2"], {"mbr": 6, "sampling": Sampling(seed=2)}),
        (["--mbr", "4", "--mbr-over", "beam"], {"mbr": 4, "mbr_over": "beam"}),
    ]
    for options, same in over:
        expected = loaded.translate(LINES, max_length=6, **same)
        found = objects(model, text, *options)
        assert [line["text"] for line in found] == [each.text for each in expected]
        assert [line["score"] for line in found] == pytest.approx([e.score for e in expected])


def test_an_ensemble_of_a_model_with_itself_translates_as_alone(model: Path, text: Path) -> None:
    alone = translated(model, text)
    for mean in ("linear", "geometric"):
        options = ["--ensemble", str(model), "--ensemble", str(model), "--ensemble-mean", mean]
        assert translated(model, text, *options) == alone


def test_an_ensemble_scores_pairs(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("der hund\tthe dog\n", encoding="utf-8")
    assert main(["score", str(model), "--file", str(pairs)]) == 0
    alone = float(capsys.readouterr().out)
    assert main(["score", str(model), "--file", str(pairs), "--ensemble", str(model)]) == 0
    assert float(capsys.readouterr().out) == pytest.approx(alone, abs=1e-4)
    assert main(["score", str(model), "--text", str(pairs), "--ensemble", str(model)]) == 2
    assert "--ensemble: is for pairs, not for --text" in capsys.readouterr().err


def test_links_are_written_a_line_for_each_line(model: Path, text: Path) -> None:
    links = text.with_name("links")
    lines = translated(model, text, "--alignment", str(links))
    written = links.read_text(encoding="utf-8").split("\n")[:-1]
    expected = Translator.load(model).align(LINES, lines)
    assert written[0] == ""
    assert written[2] == "0-0"
    for number in (1, 3, 4):
        assert written[number] == expected[number].pharaoh()


def test_links_are_fields_of_json(model: Path, text: Path) -> None:
    found = objects(model, text, "--align", "--alignment-heads", "0:0,0:1")
    texts = [line["text"] for line in found]
    heads = [(0, 0), (0, 1)]
    expected = Translator.load(model).align(LINES, texts, heads=heads)
    for number in (1, 3, 4):
        links, line = expected[number], found[number]
        assert line["source_words"] == [*links.source_words]
        assert line["target_words"] == [*links.target_words]
        assert [(s, t) for s, t, _ in line["alignment"]] == [(s, t) for s, t, _ in links.links]
    assert found[0]["alignment"] == []
    assert found[2]["alignment"] == [[0, 0, 1.0]]
    assert "alignment" not in objects(model, text)[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top-k", "3"], "--top-k: nothing is drawn; add --sample or --mbr"),
        (["--seed", "3", "--mbr", "4", "--mbr-over", "beam"], "--seed: nothing is drawn"),
        (["--sample", "--explain"], "--explain: is for what a search finds, not for --sample and"),
        (["--mbr", "1"], "mbr: 1 translations cannot be compared"),
        (["--sample", "--temperature", "-1"], "temperature: -1.0 is not a number from 0 up"),
        (["--sample", "--ban", "cat"], "banned_words: is for a search, and translations are drawn"),
        (["--align"], "--align: links are a field of JSON; add --json, or give --alignment FILE"),
        (["--alignment-heads", "0:0"], "--alignment-heads: no words are aligned; add --alignment"),
        (
            ["--align", "--json", "--alignment-heads", "0"],
            "--alignment-heads: '0' is not LAYER:HEAD, with commas between several; such as 4:",
        ),
        (
            ["--align", "--json", "--alignment-heads", "3:0"],
            "alignment_heads: 3:0 is no head of this model; layers are 0 to 0, heads 0 to 1",
        ),
        (["--format", "html", "--alignment", "x"], "--alignment: is for lines of text; leave it"),
        (["--ensemble-mean", "geometric"], "--ensemble-mean: there is one model; add --ensemble"),
        (["--ensemble", "nothing"], "nothing: no such model folder"),
    ],
)
def test_what_does_not_go_together_is_refused(
    model: Path,
    text: Path,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["translate", str(model), "--input", str(text), *SHORT, *options]) == 2
    assert message in capsys.readouterr().err


PAGE = "<p>der <b>hund</b> schläft</p><p>12</p>".encode()
DRAWN = [["--sample"], ["--mbr", "3"]]


def filled(
    model: Path, options: list[str], monkeypatch: pytest.MonkeyPatch, status: int = 0
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PAGE)))
    arguments = ["translate", str(model), "--format", "html", "--temperature", "0.2"]
    assert main([*arguments, "--max-length", "6", *options]) == status


@pytest.mark.parametrize("options", DRAWN)
def test_documents_are_drawn_the_same_each_time(
    model: Path,
    options: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    filled(model, options, monkeypatch)
    once = capfdbinary.readouterr().out
    filled(model, options, monkeypatch)
    assert capfdbinary.readouterr().out == once
    assert once.count(b"<b>") == once.count(b"</b>") == 1
    assert once.endswith(b"<p>12</p>")
    assert once != PAGE


@pytest.mark.parametrize("options", DRAWN)
def test_an_empty_sample_leaves_its_text_in_a_document_and_is_named(
    model: Path,
    options: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    def empty(*_: object) -> Candidate:
        return Candidate("", -1.0, ("</s>",), (-1.0,), False)

    monkeypatch.setattr("dragoman.translator.assembling._candidate", empty)
    filled(model, options, monkeypatch, status=2)
    found = capfdbinary.readouterr()
    assert found.out == PAGE
    assert b"the translation is empty" in found.err
