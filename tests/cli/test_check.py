import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.main import main
from tests.data.check.planted import clean, planted, write
from tests.fixtures import tiny_folder


def options(folder: Path, texts: Any, prefix: str = "") -> list[str]:
    files = write(folder, texts)
    return [f"--{prefix}source", str(files.source), f"--{prefix}target", str(files.target)]


def test_wrong_text_is_two_and_the_report_names_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *options(tmp_path, planted())]) == 2
    out = capsys.readouterr().out
    assert "  wrong       bad-bytes" in out
    assert "    line 110: byte 0xfc at byte 5 of the line" in out
    assert "source: der h<0xFC>nd schläft" in out
    assert out.splitlines()[-1] == "wrong: train: bad-bytes"


def test_clean_text_is_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *options(tmp_path, clean())]) == 0
    assert "nothing that would make training wrong" in capsys.readouterr().out


def test_json_holds_kinds_lines_and_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *options(tmp_path, planted()), "--json", "--samples", "1"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["wrong"] is True
    (train,) = found["sets"]
    tab = next(kind for kind in train["findings"] if kind["kind"] == "tab")
    assert tab["lines"] == [65]
    assert tab["severity"] == "suspicious"
    assert tab["samples"][0]["source"] == "der hund schläft<U+0009>kurz"


def test_fix_writes_a_clean_copy_beside_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["check", *options(tmp_path / "in", planted()), "--fix", str(tmp_path / "out")]
    assert main(command) == 2
    assert "were dropped; log.tsv lists both" in capsys.readouterr().err
    again = ["--source", str(tmp_path / "out/source.txt")]
    assert main(["check", *again, "--target", str(tmp_path / "out/target.txt")]) == 0


def test_a_folder_that_is_there_is_refused_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "a.tsv").write_bytes(b"a\tb\xff\n")  # reading it would be told
    assert main(["check", str(tmp_path / "a.tsv"), "--fix", str(tmp_path / "out")]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "exists already; choose a new folder" in told.err


def test_held_out_sets_and_recipes_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = options(tmp_path / "train", clean())
    test = options(tmp_path / "test", clean()[:3], "test-")
    assert main(["check", *train, *test]) == 2  # all of the test set is in the training set
    assert capsys.readouterr().out.splitlines()[-1] == "wrong: test: overlap"
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        '[data]\ntrain = { source = "train/a.de", target = "train/a.en" }\n'
        'test = { source = "test/a.de", target = "test/a.en" }\n',
        encoding="utf-8",
    )
    assert main(["check", str(recipe)]) == 2
    assert capsys.readouterr().out.splitlines()[-1] == "wrong: test: overlap"


def test_files_of_two_columns_are_checked_one_by_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.tsv", "b.tsv"):
        rows = [f"{source}\t{target}\n" for source, target in clean(100)]
        (tmp_path / name).write_text("".join(rows), encoding="utf-8")
    assert main(["check", str(tmp_path / "a.tsv"), str(tmp_path / "b.tsv")]) == 0
    out = capsys.readouterr().out
    assert "a.tsv: " in out
    assert "b.tsv: " in out


def test_a_tokenizer_shows_what_it_spells_in_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tiny_folder(tmp_path / "model")
    texts = [*clean(50), ("das ☃ schläft", "the dog sleeps")]
    command = ["check", *options(tmp_path, texts), "--model", str(model), "--json"]
    assert main(command) == 0
    (train,) = json.loads(capsys.readouterr().out)["sets"]
    found = next(kind for kind in train["findings"] if kind["kind"] == "uncovered")
    assert 51 in found["lines"]
    assert train["source"]["uncovered"] > 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ([], "give FILE, or both --source and --target"),
        (["--source", "a"], "give both --source and --target"),
        (["a.tsv", "--source", "a", "--target", "b"], "give FILE, or both"),
        (["a.tsv", "b.tsv", "--fix", "out"], "several files are checked one by one"),
        (["none.tsv"], "none.tsv: no such file"),
        (["a.tsv", "--model", "none"], "none: no tokenizer.json; give a model or run folder"),
    ],
)
def test_a_wrong_command_line_is_explained(
    command: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *command]) == 2
    assert message in capsys.readouterr().err


def test_all_corpora_of_a_recipe_are_checked_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = clean(200)
    for name, pairs in (
        ("one", texts[:100]),
        ("two", texts[100:]),
        ("known", texts[100:110]),
        ("new", [(f"neu {n} {chr(97 + n)}", f"new {n} {chr(97 + n)}") for n in range(10)]),
    ):
        write(tmp_path / name, pairs)
    recipe = tmp_path / "r.toml"
    file = '{{ source = "{0}/a.de", target = "{0}/a.en"{1} }}'.format
    recipe.write_text(
        f"[data]\ntrain = [{file('one', '')}, {file('two', '')}]\n"
        f"validation = [{file('new', '')}, {file('known', '')}]\n"
        f"test = {file('new', '')}\n",
        encoding="utf-8",
    )
    assert main(["check", str(recipe), "--json"]) == 2
    sets = json.loads(capsys.readouterr().out)["sets"]
    named = {each["name"]: each for each in sets}
    assert [*named] == ["train 1", "train 2", "validation 1", "validation 2", "test"]
    assert [each["pairs"] for each in sets] == [100, 100, 10, 10, 10]
    assert any("training needs about" in note for note in named["train 1"]["notes"])
    overlap = {
        name: [f for f in each["findings"] if f["kind"] == "overlap"]
        for name, each in named.items()
    }
    assert not overlap["train 1"]
    assert len(overlap["train 2"][0]["lines"]) == 10
    assert "as in train 2 line 1" in overlap["validation 2"][0]["samples"][0]["detail"]
    assert "as in test line 1" in overlap["validation 1"][0]["samples"][0]["detail"]
    assert main(["check", str(recipe), "--fix", str(tmp_path / "out")]) == 2
    assert "give a single one" in capsys.readouterr().err


def test_the_same_sentences_into_another_language_are_no_overlap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, clean(100))
    part = '{{ source = "a.de", target = "a.en", target_language = "{}" }}'.format
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        f"[data]\ntrain = [{part('en')}, {part('fr')}]\nvalidation = {part('cs')}\n",
        encoding="utf-8",
    )
    main(["check", str(recipe), "--json"])
    sets = json.loads(capsys.readouterr().out)["sets"]
    assert [f for each in sets for f in each["findings"] if f["kind"] == "overlap"] == []
