from pathlib import Path

import pytest

from dragoman.data import Pair
from dragoman.errors import DataError
from dragoman.recipe import Recipe, parse_recipe
from dragoman.run.tasks.pair_sets import Pairs
from dragoman.run.tasks.pairs import read_all_pairs
from tests.fixtures import write_corpus


def recipe_for(folder: Path, **data: object) -> Recipe:
    source, target = write_corpus(folder)
    train = {"source": str(source), "target": str(target)}
    return parse_recipe(
        {
            "data": {"train": train, **data},
            "tokenizer": {"size": 300},
            "training": {"batch_tokens": 400},
        }
    )


def recipe_for_same(folder: Path, **data: object) -> Recipe:
    """The recipe for files that are there already."""
    train = {"source": str(folder / "train.de"), "target": str(folder / "train.en")}
    return parse_recipe({"data": {"train": train, **data}, "tokenizer": {"size": 300}})


def all_pairs(prepared: Pairs) -> list[Pair]:
    """The text that is learned from."""
    return [part.pair(index) for part in prepared.train for index in range(len(part))]


def test_held_out_pairs_leave_the_training_text_and_stay_in_order(tmp_path: Path) -> None:
    prepared = read_all_pairs(recipe_for(tmp_path, hold_out=6), tmp_path / "run")
    assert prepared.validation is not None
    held_out, train = prepared.validation.pairs, all_pairs(prepared)
    assert (len(held_out), len(train)) == (6, 34)
    assert not {pair.source for pair in held_out} & {pair.source for pair in train}
    assert [pair.number for pair in held_out] == sorted(pair.number for pair in held_out)
    again = read_all_pairs(recipe_for(tmp_path, hold_out=6), tmp_path / "other")
    assert again.validation is not None
    assert again.validation.pairs == held_out


def test_a_source_sentence_held_out_is_nowhere_in_training(tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path, hold_out=6)
    for side in ("train.de", "train.en"):  # every pair twice
        text = (tmp_path / side).read_text(encoding="utf-8")
        (tmp_path / side).write_text(text + text, encoding="utf-8")
    prepared = read_all_pairs(recipe, tmp_path / "run")
    assert prepared.validation is not None
    held_out = {pair.source for pair in prepared.validation.pairs}
    assert not held_out & {pair.source for pair in all_pairs(prepared)}


def test_the_tokenizer_of_a_run_is_learned_once_and_kept(tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path)
    first = read_all_pairs(recipe, tmp_path / "run")
    file = tmp_path / "run/tokenizer.json"
    before = file.read_bytes()
    other = parse_recipe(
        {
            "data": {
                "train": {
                    "source": str(tmp_path / "train.de"),
                    "target": str(tmp_path / "train.en"),
                }
            },
            "tokenizer": {"size": 290},
        }
    )
    second = read_all_pairs(other, tmp_path / "run", reuse=True)
    assert file.read_bytes() == before
    assert first.fingerprint == second.fingerprint
    assert len(first.tokenizers) == 1


def test_text_that_cannot_be_used_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read_all_pairs(recipe_for(tmp_path, too_long="error", max_length=4), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    (tmp_path / "train.de").write_text("ja\n" * 40, encoding="utf-8")
    with pytest.raises(DataError, match=r"lower data\.hold_out"):
        read_all_pairs(recipe_for_same(tmp_path, hold_out=5), tmp_path / "run")


def test_separate_vocabularies_are_learned_from_their_own_side(tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path)
    table = {"joint": False, "size": 280}
    data = {"train": {"source": str(tmp_path / "train.de"), "target": str(tmp_path / "train.en")}}
    recipe = parse_recipe({"data": data, "tokenizer": table})
    prepared = read_all_pairs(recipe, tmp_path / "run")
    assert len(prepared.tokenizers) == 2
    assert (tmp_path / "run/source.tokenizer.json").exists()
    assert (tmp_path / "run/target.tokenizer.json").exists()


# Field report 11: the same rule for training and validation sets, counted.
@pytest.mark.parametrize("rule", ["drop", "truncate", "alone"])
def test_pairs_over_the_limit_follow_the_rule_in_both_sets(rule: str, tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path)
    long = tmp_path / "long"
    long.with_suffix(".de").write_text("kurz\n" + "wort " * 40 + "\n", encoding="utf-8")
    long.with_suffix(".en").write_text("short\nword\n", encoding="utf-8")
    limit = {"training": {"batch_tokens": 24}} if rule == "alone" else {}
    both = {"source": str(long.with_suffix(".de")), "target": str(long.with_suffix(".en"))}
    recipe = parse_recipe(
        {
            "data": {"train": both, "validation": both, "too_long": rule}
            | ({} if limit else {"max_length": 24}),
            "tokenizer": {"size": 270},
            **limit,
        }
    )
    prepared = read_all_pairs(recipe, tmp_path / "run")
    assert prepared.validation is not None
    train, validation = prepared.train[0].store, prepared.validation
    expected = {name: int(rule == name) for name in ("drop", "truncate", "alone")}
    assert [*train.counts["lengths"].values()] == [*expected.values()]
    counts = validation.lengths.dropped, validation.lengths.truncated, validation.lengths.alone
    assert [*counts] == [*expected.values()]
    for sources in (train.sources, validation.sources):
        assert len(sources) == (1 if rule == "drop" else 2)
        if rule == "truncate":
            assert max(sources.lengths) == 23  # and the end symbol
    assert any("1 pairs longer than the limit" in line for line in prepared.notices())


def test_a_pair_longer_than_the_positions_cannot_be_alone_either(tmp_path: Path) -> None:
    source, target = tmp_path / "long.de", tmp_path / "long.en"
    source.write_text("kurz\n" + "wort " * 40 + "\n", encoding="utf-8")
    target.write_text("short\nword\n", encoding="utf-8")
    recipe = parse_recipe(
        {
            "data": {"train": {"source": str(source), "target": str(target)}, "too_long": "alone"},
            "tokenizer": {"size": 270},
            "model": {"positions": {"kind": "learned", "max_length": 20}},
        }
    )
    store = read_all_pairs(recipe, tmp_path / "run").train[0].store
    assert len(store.sources) == 1
    assert store.counts["lengths"] == {"dropped": 1, "truncated": 0, "alone": 0}


def test_an_error_rule_names_file_and_line(tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path, too_long="error", max_length=4)
    with pytest.raises(DataError, match=r"train\.de and .*train\.en: line 1: "):
        read_all_pairs(recipe, tmp_path / "run")


def test_a_held_out_sentence_is_in_no_corpus_and_on_no_side(tmp_path: Path) -> None:
    recipe_for(tmp_path)  # writes the files
    back = {"source": str(tmp_path / "train.en"), "target": str(tmp_path / "train.de")}
    both = {"source": str(tmp_path / "train.de"), "target": str(tmp_path / "train.en")}
    recipe = parse_recipe(
        {
            "data": {"train": [both, both, back], "hold_out": 6},
            "tokenizer": {"size": 300},
            "training": {"batch_tokens": 400},
        }
    )
    prepared = read_all_pairs(recipe, tmp_path / "run")
    assert prepared.validation is not None
    held_out = {pair.source for pair in prepared.validation.pairs}
    assert len(held_out) == 6
    assert [len(part) for part in prepared.train] == [34, 34, 34]
    for pair in all_pairs(prepared):
        assert not held_out & {pair.source, pair.target}
