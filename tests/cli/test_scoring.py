"""The command ``score``: what it prints, sums up and keeps."""

import json
import math
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.translator import Translator
from tests.fixtures import ENGLISH, GERMAN, tiny_folder

SOURCES = [*GERMAN, "", "wir gehen .", "ein hund"]
TARGETS = [*ENGLISH, "we go .", "", "a dog"]
SCORED = (0, 1, 2, 3, 6)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("scoring") / "model")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, lines in (("a.de", SOURCES), ("a.en", TARGETS)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ["--source", str(tmp_path / "a.de"), "--target", str(tmp_path / "a.en")]


def expected(model: Path) -> list[tuple[float, ...]]:
    translator = Translator.load(model)
    found = translator.score([SOURCES[n] for n in SCORED], [TARGETS[n] for n in SCORED])
    return [score.log_probs for score in found]


def test_a_line_for_each_pair_and_a_blank_one_for_a_blank_side(
    model: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = expected(model)
    assert main(["score", str(model), *files]) == 0
    lines = capsys.readouterr().out.split("\n")[:-1]
    assert (lines[4], lines[5], len(lines)) == ("", "", 7)
    sums = [math.fsum(log_probs) for log_probs in wanted]
    assert [float(lines[n]) for n in SCORED] == pytest.approx(sums, abs=1e-5)
    assert main(["score", str(model), *files, "--per-piece"]) == 0
    lines = capsys.readouterr().out.split("\n")
    means = [math.fsum(log_probs) / len(log_probs) for log_probs in wanted]
    assert [float(lines[n]) for n in SCORED] == pytest.approx(means, abs=1e-5)


def test_json_has_sum_mean_pieces_and_the_score_of_search(
    model: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(model), *files, "--json", "--alpha", "1"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["line"] for each in found] == [1, 2, 3, 4, 5, 6, 7]
    assert found[4] == {"line": 5, "log_prob": None, "problem": "blank"}
    for place, log_probs in zip(SCORED, expected(model), strict=True):
        each = found[place]
        assert each["pieces"] == len(log_probs)
        assert each["per_piece"] == pytest.approx(each["log_prob"] / len(log_probs))
        assert each["score"] == pytest.approx(each["log_prob"] / ((5 + len(log_probs)) / 6))


def test_a_summary_is_the_whole_corpus_in_one_line(
    model: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(model), *files, "--summary", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    pieces = [value for log_probs in expected(model) for value in log_probs]
    assert (found["scored"], found["blank"], found["pieces"]) == (5, 2, len(pieces))
    assert found["loss_nats"] == pytest.approx(-math.fsum(pieces) / len(pieces), abs=1e-5)
    assert found["perplexity"] == pytest.approx(math.exp(found["loss_nats"]))
    assert main(["score", str(model), *files, "--summary"]) == 0
    line = capsys.readouterr().out
    assert line.startswith(f"loss {found['loss_nats']:.4f} nats per piece  perplexity ")
    assert line.endswith("  blank 2\n")


def test_the_best_share_is_kept_in_two_files_in_order(
    model: Path, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ["--kept", str(tmp_path / "k.de"), "--kept", str(tmp_path / "k.en"), "--keep", "0.6"]
    assert main(["score", str(model), *files, *kept]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "kept 3 of 7 pairs; below 2, blank 2\n")
    means = {n: sum(each) / len(each) for n, each in zip(SCORED, expected(model), strict=True)}
    best = sorted(sorted(means, key=lambda n: -means[n])[:3])
    for name, lines in (("k.de", SOURCES), ("k.en", TARGETS)):
        text = "".join(f"{lines[n]}\n" for n in best)
        assert (tmp_path / name).read_text(encoding="utf-8") == text


# Field report 2: a segment with a tab or a line end is one field of one row.
def test_pairs_above_a_score_are_kept_as_rows_from_any_format(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, kept = tmp_path / "a.jsonl", tmp_path / "kept.tsv"
    pairs = [("der hund\tschläft", "the dog\nsleeps"), ("", "x"), ("wir gehen .", "we go .")]
    rows = [json.dumps({"source": source, "target": target}) for source, target in pairs]
    file.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    options = ["--file", str(file), "--kept", str(kept)]
    assert main(["score", str(model), *options, "--min-score", "-1000"]) == 0
    assert kept.read_text(encoding="utf-8") == (
        "der hund schläft\tthe dog sleeps\nwir gehen .\twe go .\n"
    )
    assert capsys.readouterr().err == "kept 2 of 3 pairs; below 0, blank 1\n"
    assert main(["score", str(model), *options, "--min-score", "0", "--summary"]) == 0
    out, err = capsys.readouterr()
    assert err == "kept 0 of 3 pairs; below 2, blank 1\n"
    assert "scored 2" in out
    assert kept.read_bytes() == b""


def test_a_filter_needs_one_rule_and_one_or_two_files(
    model: Path, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ["--kept", str(tmp_path / "k")]
    for options, message in (
        (["--keep", "0.5"], "--kept: is missing"),
        (kept, "one of --min-score and --keep"),
        ([*kept, "--keep", "0.5", "--min-score", "0"], "one of --min-score and --keep"),
        ([*kept * 3, "--keep", "0.5"], "give --kept once or twice"),
        ([*kept, "--keep", "1.5"], "--keep: 1.5 is not a share"),
    ):
        assert main(["score", str(model), *files, *options]) == 2
        assert message in capsys.readouterr().err


def test_a_too_long_pair_is_named_has_a_blank_line_and_the_status_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tiny_folder(tmp_path / "model", learned=20)
    file = tmp_path / "a.tsv"
    file.write_text("hund\tdog\n" + "hund " * 30 + "\tdog\nhund\tdog\n", encoding="utf-8")
    assert main(["score", str(model), "--file", str(file)]) == 2
    out, err = capsys.readouterr()
    first, second, third, _ = out.split("\n")
    assert (first, second) == (third, "")
    assert err.startswith("source 2: ")
    assert err.endswith("the model has 20 positions; shorten it\n")
