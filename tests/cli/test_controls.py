"""Controls of the search as options: told in --help, alike in ``translate`` and ``evaluate``."""

import inspect
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.main import main, translate
from dragoman.cli.measuring import evaluate
from dragoman.decoding import BeamSearch
from dragoman.translator import Translator
from tests.fixtures import GERMAN, tiny_folder

# What the help of a control must say of it: its formula, or the word that its rule turns on.
RULES: dict[str, str] = {
    "beam": "1 is greedy",
    "alpha": "((5 + length) / 6) ** alpha",
    "n_best": "Translations per line",
    "max_length": "Most pieces, the end symbol included; source + MAX_EXTRA unless given",
    "max_extra": "Most pieces beyond those of the source",
    "length_penalty": "average, length ** alpha",
    "word_reward": "WORD_REWARD * pieces",
    "coverage": "COVERAGE * sum over source pieces of log min(attention to it, 1)",
    "patience": "PATIENCE * beam hypotheses have ended",
    "groups": "beam / GROUPS",
    "diversity": "log P - DIVERSITY * hypotheses of earlier groups with the same next piece",
    "min_length": "the end symbol, which counts, comes no earlier",
    "no_repeat_ngram": "No N pieces in a row come twice",
    "repetition_penalty": "log P of a piece that has come before counts this many times",
}
OTHER_RULES: dict[str, str] = {  # of ``translate`` alone
    "prefix": "Every translation begins with this text",
    "ban": "No translation holds this word or phrase",
    "require": "Every translation holds this word or phrase",
    "glossary": "where a line holds the first as whole words, its translation holds the second",
    "alternatives": "with the most probable words at word --at, each completed",
    "at": "Number of the word",
    "ensemble": "Another model of the same vocabulary",
    "ensemble_mean": "linear: P = (P1 + ... + PM) / M; geometric: P ~ (P1 * ... * PM) ** (1 / M)",
    "sample": "at random, by seed and number of the line",
    "temperature": "P ** (1 / TEMPERATURE); 0 is greedy",
    "top_k": "Draw from so many likeliest pieces",
    "top_p": "Draw from the fewest likeliest pieces that together have this P",
    "min_p": "Draw from pieces with at least this share of P of the likeliest",
    "seed": "The same seed draws the same text",
    "mbr": "the highest mean chrF against the others",
    "mbr_over": "samples, or the N best of the beam",
    "alignment": "of each target word the source word most looked at",
    "align": "add the word links",
    "alignment_heads": "mean attention of these",
    "draft": "keeps those up to the first that it would not have written",
    "draft_length": "most pieces proposed at once",
    "too_long": "split, cut or blank",
    "sentences": "Translate each sentence of a line on its own",
}
NO_CONTROLS = {"model", "input", "output", "batch_tokens", "device", "dtype", "engine", "format"}
NO_CONTROLS |= {"target_language", "source_language", "overwrite", "review", "explain", "flags"}
NO_CONTROLS |= {"json_lines"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("controls") / "model")


@pytest.mark.parametrize("verb", ["translate", "evaluate"])
def test_help_states_the_rule_of_every_control(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    names = {each.name for each in fields(BeamSearch)}
    assert names == RULES.keys()
    for name in names - ({"n_best"} if verb == "evaluate" else set()):
        option = f"--{name.replace('_', '-')}"
        (sentence,) = re.findall(rf" {option} <.*?>  ?(.*?)(?= --[a-z]|$)", told)
        assert RULES[name] in sentence


def test_help_states_the_rule_of_every_control_of_translate_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = inspect.signature(translate).parameters.keys() - NO_CONTROLS
    assert asked == RULES.keys() | OTHER_RULES.keys()
    assert main(["translate", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split()).replace("SOURCE- TARGET", "SOURCE-TARGET")
    for name, rule in OTHER_RULES.items():
        option = f"--{name.replace('_', '-')}"
        sentences = re.findall(rf" {option} (.*?)(?= --[a-z-]+ (?:<|[A-Z])|$)", told)
        assert any(rule in sentence for sentence in sentences), name


@pytest.mark.parametrize("command", [translate, evaluate])
def test_an_option_has_the_value_that_the_library_has(command: Any) -> None:
    given = inspect.signature(command).parameters
    for each in fields(BeamSearch):
        if each.name != "n_best" or command is translate:
            assert given[each.name].default == each.default, each.name


def test_controls_reach_the_search_of_evaluate(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []
    plain = Translator.translate

    def watched(self: Translator, texts: Any, **options: Any) -> Any:
        seen.append(options)
        return plain(self, texts, **options)

    monkeypatch.setattr(Translator, "translate", watched)
    source = tmp_path / "s"
    source.write_text("".join(f"{line}\n" for line in GERMAN), encoding="utf-8")
    asked = {
        **{"beam": 6, "alpha": 0.2, "max_length": 5, "length_penalty": "average"},
        **{"word_reward": 0.5, "coverage": 0.1, "patience": 2.0, "groups": 3, "diversity": 0.25},
        **{"max_extra": 7, "min_length": 2, "no_repeat_ngram": 3, "repetition_penalty": 1.25},
    }
    assert asked.keys() == {each.name for each in fields(BeamSearch)} - {"n_best"}
    options = [
        part
        for name, value in asked.items()
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]
    files = ["--source", str(source), "--target", str(source)]
    assert main(["evaluate", str(model), *files, *options, "--ban", "dog", "--ban", "a"]) == 0
    assert {name: seen[0][name] for name in asked} == asked
    assert seen[0]["banned_words"] == ["dog", "a"]
    seen.clear()
    also = ["--alternatives", "--min-length", "3", "--max-length", "4", "--ban", "dog"]
    assert main(["evaluate", str(model), *files, *also]) == 0
    assert (seen[0]["min_length"], seen[0]["banned_words"]) == (3, ["dog"])


def test_impossible_controls_of_evaluate_are_refused(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "s"
    source.write_text("der hund\n", encoding="utf-8")
    files = ["--source", str(source), "--target", str(source)]
    assert main(["evaluate", str(model), *files, "--groups", "3"]) == 2
    assert "groups: 3 does not divide beam 4; choose from 1, 2, 4" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["score", "evaluate"])
def test_columns_choose_source_and_target_of_a_file(
    verb: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, wide = tmp_path / "plain.tsv", tmp_path / "wide.tsv"
    plain.write_text("der hund\tthe dog\nwir gehen\twe go\n", encoding="utf-8")
    wide.write_text("1\tthe dog\tx\tder hund\n2\twe go\tx\twir gehen\n", encoding="utf-8")
    rows = tmp_path / "rows.jsonl"
    lines = [{"de": "der hund", "en": "the dog"}, {"de": "wir gehen", "en": "we go"}]
    rows.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    said: list[str] = []
    for options in (
        ["--file", str(plain)],
        ["--file", str(wide), "--columns", "3,1"],
        ["--file", str(rows), "--columns", "de,en"],
    ):
        assert main([verb, str(model), *options]) == 0
        said.append(capsys.readouterr().out)
    assert said[0]
    assert said[1:] == said[:1] * 2
    for options, message in (
        (["--file", str(plain), "--columns", "1"], "--columns: 1 columns are not a source and a"),
        (["--file", str(wide), "--columns", "3,8"], "line 1: no column 8"),
        (["--source", str(plain), "--target", str(plain), "--columns", "1,2"], "is for --file"),
    ):
        assert main([verb, str(model), *options]) == 2
        assert message in capsys.readouterr().err


def test_options_that_would_do_nothing_are_refused_all_at_once(
    capfd: pytest.CaptureFixture[str],
) -> None:
    asked = ["--diversity", "2", "--draft-length", "9", "--overwrite", "--no-review"]
    assert main(["translate", "nowhere", *asked, "--source-language", "de"]) == 2
    told = capfd.readouterr().err.splitlines()
    needed = ["--groups", "--draft MODEL", "--format", "--format", "--format tmx"]
    names = ["--diversity", "--draft-length", "--overwrite", "--no-review", "--source-language"]
    assert told == [
        f"error: {name}: does nothing alone; add {other}, or leave it out"
        for name, other in zip(names, needed, strict=True)
    ]
