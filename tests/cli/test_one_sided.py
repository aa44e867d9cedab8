"""The commands ``generate``, ``classify`` and ``fill``: line parity, formats, messages."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from dragoman.classifier import Classifier
from dragoman.cli.main import main
from dragoman.language_model import LanguageModel
from tests.cli.test_main import ODD
from tests.fixtures import tiny_folder
from tests.one_sided import LABELS, encoder_bundle, folder_of, image_bundle, language_bundle


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of model folders."""
    folder = tmp_path_factory.mktemp("models")
    folder_of(folder / "language", language_bundle(ends=3.0))
    folder_of(folder / "short", language_bundle(learned=8))
    for head in ("pieces", "class", "tags", "none"):
        folder_of(folder / head, encoder_bundle(head))
    folder_of(folder / "cut", encoder_bundle("class", learned=10))
    folder_of(folder / "images", image_bundle())
    tiny_folder(folder / "translator")
    return folder


def give(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def lines_of(capfdbinary: pytest.CaptureFixture[bytes]) -> list[bytes]:
    out = capfdbinary.readouterr().out
    assert out == b"" or out.endswith(b"\n")
    return out.split(b"\n")[:-1]


FILES = {
    "none": (b"", 0),
    "no-newline": (b"the dog", 1),
    "blank": (b"\n\n", 2),
    "mark": (b"\xef\xbb\xbfthe dog\nwe go\n", 2),
    "odd": (b"\n".join(ODD) + b"\n", len(ODD)),
    "crlf": (b"the dog\r\nwe go\r\n", 2),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "command",
    [
        ("generate", "language", "--max-length", "5"),
        ("generate", "language", "--max-length", "5", "--samples", "2"),
        ("generate", "language", "--max-length", "5", "--json"),
        ("classify", "class"),
        ("classify", "tags"),
        ("classify", "class", "--json"),
        ("classify", "tags", "--json"),
    ],
    ids=" ".join,
)
def test_as_many_lines_out_as_in(
    command: tuple[str, ...],
    name: str,
    models: Path,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    data, count = FILES[name]
    (tmp_path / "in").write_bytes(data)
    verb, model, *options = command
    assert main([verb, str(models / model), "--input", str(tmp_path / "in"), *options]) == 0
    lines = lines_of(capfdbinary)
    assert len(lines) == count
    assert not any(b"\r" in line for line in lines)
    if "--json" in options:
        assert [json.loads(line)["line"] for line in lines] == list(range(1, count + 1))


def test_generate_writes_what_python_gives_prompt_included(
    models: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    prompts = ["the dog", "", "a  man "]
    give(monkeypatch, "\n".join(prompts).encode() + b"\n")
    options = ["--temperature", "0.9", "--top-k", "40", "--top-p", "0.95", "--min-p", "0.01"]
    options += ["--max-length", "9", "--seed", "7", "--samples", "2", "--json"]
    assert main(["generate", str(models / "language"), *options]) == 0
    found = [json.loads(line) for line in lines_of(capfdbinary)]
    expected = LanguageModel.load(models / "language").generate(
        prompts,
        samples=2,
        temperature=0.9,
        top_k=40,
        top_p=0.95,
        min_p=0.01,
        max_length=9,
        seed=7,
    )
    assert [each["prompt"] for each in found] == prompts
    for line, continuations in zip(found, expected, strict=True):
        for given, wanted in zip(line["continuations"], continuations, strict=True):
            assert (given["text"], given["truncated"]) == (wanted.text, wanted.truncated)
            assert given["tokens"] == [*wanted.tokens]
            assert given["log_prob"] == pytest.approx(sum(given["log_probs"]), abs=1e-6)


def test_prompts_may_be_given_as_options(
    models: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    command = ["generate", str(models / "language"), "--max-length", "4"]
    assert main([*command, "--prompt", "the dog", "--prompt", "two\nlines"]) == 0
    first, second = lines_of(capfdbinary)
    assert first.startswith(b"the dog")
    assert second.startswith(b"two lines")
    assert main([*command, "--prompt", "a", "--input", "b"]) == 2
    assert b"--prompt: --input is given too" in capfdbinary.readouterr().err
    assert main([*command, "--prompt", "a\udcff"]) == 2  # how Python gives a byte that is no text
    assert b"--prompt: is not UTF-8" in capfdbinary.readouterr().err


def test_samples_stand_on_one_line_with_tabs_between(
    models: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    command = ["generate", str(models / "language"), "--prompt", "a\tb", "--samples", "3"]
    assert main([*command, "--max-length", "4"]) == 0
    (line,) = lines_of(capfdbinary)
    assert [text.startswith(b"a b") for text in line.split(b"\t")] == [True] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--temperature", "-1"], "temperature: -1.0 is not"),
        (["--top-p", "2"], "top_p: 2.0 is not"),
        (["--top-k", "0"], "top_k: 0 is less than 1"),
        (["--max-length", "0"], "max_length: 0 is not"),
        (["--seed", "-1"], "seed: -1 is not"),
        (["--samples", "0"], "samples"),
        (["--device", "abacus"], "device: 'abacus'"),
    ],
)
def test_impossible_settings_are_two(
    options: list[str], message: str, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", str(models / "language"), "--prompt", "a", *options]) == 2
    assert message in capsys.readouterr().err


def test_a_prompt_longer_than_the_positions_is_named(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").write_text("we\n" + "we go " * 20 + "\n", encoding="utf-8")
    assert main(["generate", str(models / "short"), "--input", str(tmp_path / "in")]) == 2
    assert "error: prompt 2: " in capsys.readouterr().err


def test_classify_writes_label_and_probability(
    models: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    give(monkeypatch, b"der hund\n\nwir gehen .\n")
    assert main(["classify", str(models / "class")]) == 0
    first, blank, third = lines_of(capfdbinary)
    assert blank == b""
    expected = Classifier.load(models / "class").classify(["der hund", "wir gehen ."])
    for line, wanted in zip((first, third), expected, strict=True):
        assert line.decode() == f"{wanted.label}\t{wanted.probability:.6f}"
    give(monkeypatch, b"der hund\n")
    assert main(["classify", str(models / "class"), "--json"]) == 0
    (found,) = map(json.loads, lines_of(capfdbinary))
    assert found["probabilities"].keys() == {*LABELS}
    assert sum(found["probabilities"].values()) == pytest.approx(1)


def test_a_tagger_writes_each_word_with_its_label(
    models: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    give(monkeypatch, b"der  hund\n")
    assert main(["classify", str(models / "tags")]) == 0
    (line,) = lines_of(capfdbinary)
    words = [each.rpartition("/") for each in line.decode().split(" ")]
    assert [word for word, _, _ in words] == ["der", "hund"]
    assert {label for _, _, label in words} <= {*LABELS}
    give(monkeypatch, b"der hund\n")
    assert main(["classify", str(models / "tags"), "--json"]) == 0
    (found,) = map(json.loads, lines_of(capfdbinary))
    assert [word["word"] for word in found["words"]] == ["der", "hund"]
    assert all(1 / 3 <= word["probability"] <= 1 for word in found["words"])


def test_lines_that_were_cut_are_named_and_the_status_says_so(
    models: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "in"
    path.write_text("hund\n" + "hund " * 40 + "\n", encoding="utf-8")
    assert main(["classify", str(models / "cut"), "--input", str(path)]) == 2
    out, err = capfdbinary.readouterr()
    assert out.count(b"\n") == 2
    assert f"{path}: line 2: longer than the model takes; cut" in err.decode()


def test_images_are_classified_one_line_each(
    models: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "i.npz"
    np.savez(path, images=np.zeros((3, 4, 6)))
    assert main(["classify", str(models / "images"), "--images", str(path)]) == 0
    assert len(lines_of(capfdbinary)) == 3
    np.savez(path, images=np.zeros((3, 6, 4)))
    assert main(["classify", str(models / "images"), "--images", str(path)]) == 2
    assert f"error: {path}: images of 6 x 4 x 1" in capfdbinary.readouterr().err.decode()
    assert main(["classify", str(models / "class"), "--images", str(path)]) == 2
    assert b"this model reads a list of strings" in capfdbinary.readouterr().err
    assert main(["classify", str(models / "images")]) == 2
    assert b"give --images FILE.npz" in capfdbinary.readouterr().err
    assert main(["classify", str(models / "class"), "--images", "a", "--input", "b"]) == 2
    assert b"--images: --input is given too" in capfdbinary.readouterr().err


def test_fill_writes_the_best_guesses_for_the_gap_of_each_line(
    models: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    give(monkeypatch, b"der ___ trinkt .\n\nder @\n")
    assert main(["fill", str(models / "pieces"), "--n-best", "2"]) == 2  # the third has no gap
    out, err = capfdbinary.readouterr()
    first, blank = out.split(b"\n")[:-1]
    assert b"standard input: line 3: has 0 gaps, where one is filled" in err
    assert blank == b""
    expected = Classifier.load(models / "pieces").fill("der ", " trinkt .", n_best=2)
    assert first.decode() == "\t".join(f"{f.text} {f.probability:.4f}" for f in expected)
    give(monkeypatch, b"der @ .\n\n")
    assert main(["fill", str(models / "pieces"), "--gap", "@", "--json"]) == 0
    found, empty = map(json.loads, lines_of(capfdbinary))
    assert len(found["fillings"]) == 5
    assert empty == {"line": 2, "source": "", "fillings": []}
    assert main(["fill", str(models / "pieces"), "--gap", " "]) == 2
    assert b"--gap: is blank" in capfdbinary.readouterr().err


@pytest.mark.parametrize(
    ("verb", "model", "use"),
    [
        ("generate", "translator", "dragoman translate"),
        ("generate", "class", "dragoman classify"),
        ("classify", "translator", "dragoman translate"),
        ("classify", "language", "dragoman generate"),
        ("classify", "pieces", "use fill"),
        ("classify", "none", "use encode"),
        ("fill", "class", "use classify"),
        ("fill", "language", "dragoman generate"),
        ("translate", "language", "dragoman generate"),
        ("translate", "tags", "dragoman classify"),
    ],
)
def test_the_wrong_kind_of_model_is_two_and_the_message_names_the_right_command(
    verb: str,
    model: str,
    use: str,
    models: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "in").write_text("der ___\n", encoding="utf-8")
    assert main([verb, str(models / model), "--input", str(tmp_path / "in")]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {models / model}: ")
    assert use in err
