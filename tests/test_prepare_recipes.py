import gzip
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

PREPARE = runpy.run_path(str(Path(__file__).parents[1] / "recipes" / "prepare.py"))
captions: Callable[[Path, Path], None] = PREPARE["captions"]


def write(folder: Path, **parts: list[tuple[str, str]]) -> Path:
    for part, pairs in parts.items():
        for language, lines in zip(("zh", "en"), zip(*pairs, strict=True), strict=True):
            with gzip.open(folder / f"{part}.{language}.gz", "wt", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
    return folder


def test_only_pairs_to_learn_from_are_left_out_and_each_reason_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = [
        ("一只狗。", "A dog."),
        ("一只狗。", "a  DOG."),  # the same pair again
        ("两只狗。", "A dog."),  # another one: kept
        ("一只猫。", "Two birds ."),  # the Chinese is tested
        ("三只鸟。", "a cat."),  # the English is validated
        ("ok", "OK"),  # nothing to translate
        ("一\ufeff匹马。", "A horse."),
    ]
    held_out = {"val": [("猫。", "A cat.")] * 2, "test": [("一只猫。", "One cat.")]}
    captions(write(tmp_path, train=train, **held_out), tmp_path / "data")
    read = {file.name: file.read_text("utf-8") for file in (tmp_path / "data").iterdir()}
    assert read["train.zh"] == "一只狗。\n两只狗。\n一匹马。\n"
    assert read["train.en"] == "A dog.\nA dog.\nA horse.\n"
    assert read["val.en"] == "A cat.\nA cat.\n"
    assert read["test.zh"] == "一只猫。\n"
    assert capsys.readouterr().out.splitlines()[:3] == [
        "train: 1 of 7 pairs left out: both sides are the same",
        "train: 2 of 7 pairs left out: one side is in the other parts",
        "train: 1 of 7 pairs left out: seen before",
    ]


def test_sides_of_different_lengths_are_refused(tmp_path: Path) -> None:
    write(tmp_path, train=[("狗", "dog")], val=[("猫", "cat")], test=[("鸟", "bird")])
    with gzip.open(tmp_path / "val.en.gz", "at", encoding="utf-8") as file:
        file.write("horse\n")
    with pytest.raises(SystemExit, match="the sides of val differ in their number of lines"):
        captions(tmp_path, tmp_path / "data")


parsing: Callable[[Path, Path], None] = PREPARE["parsing"]


def test_trees_become_words_and_numbered_tokens(tmp_path: Path) -> None:
    learned = "((S (NP-SBJ (DT the) (NN dog)) (VP (VBZ sleeps) (NP (-NONE- *))) (. .)))"
    parts = {
        "train": [learned, learned.replace("sleeps", "barks"), "((NP (-NONE- *)))"],
        "dev": ["((S (NP (DT the) (NNS zebras)) (VP (VBP sleep)) (. .)))"],
        "test": ["((NP (NN dog)))"],
    }
    for part, trees in parts.items():
        with gzip.open(tmp_path / f"{part}.trees.gz", "wt", encoding="utf-8") as file:
            file.writelines(f"{tree}\n" for tree in trees)
    parsing(tmp_path, tmp_path / "data")
    read = {
        file.name: file.read_text("utf-8").splitlines() for file in (tmp_path / "data").iterdir()
    }
    # Words that stand once in train are classes; of each tree one part has two words.
    assert read["train.words"][::2] == ["the dog ~as .", "the dog ~as ."]
    assert {*" ".join(read["train.words"][1::2]).split()} <= {"the", "dog", "~a"}
    assert read["train.tokens"] == ["(S (NP 1 2 )NP (VP 3 )VP . )S", "(NP 1 2 )NP"] * 2
    assert read["dev.words"] == ["the ~as ~a ."]
    assert read["dev.tokens"] == ["(S (NP 1 2 )NP (VP 3 )VP . )S"]
    assert (read["test.words"], read["test.tokens"]) == (["dog"], ["(NP 1 )NP"])
