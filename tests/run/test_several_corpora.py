"""Runs that learn from several corpora: shares, languages, filters, and going on exactly."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import load_bundle
from dragoman.cli.main import main
from dragoman.configfile import write_record
from dragoman.data import Files
from dragoman.errors import ConfigError, DataError
from dragoman.recipe import Recipe, parse_recipe, recipe_toml
from dragoman.run import evaluate, train
from dragoman.run.tasks import prepare_task
from dragoman.run.tasks.pairs import read_all_pairs
from dragoman.training import Finished, Notice
from dragoman.translator import Translator
from tests.fixtures import write_corpus
from tests.run.test_processes import assert_same, launch
from tests.run.test_resume import assert_stops_change_nothing
from tests.run.test_verify_resume import verify

STAGES = {"stages": [{"weights": [1, 0], "until": 3}, {"weights": [1, 2]}]}


def corpora(folder: Path) -> list[dict[str, Any]]:
    """Two corpora of 40 and of 12 pairs."""
    found: list[dict[str, Any]] = []
    for name, repeat in (("large", 10), ("small", 3)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        source, target = write_corpus(folder / name, repeat)
        found.append({"source": str(source), "target": str(target)})
    return found


def recipe_for(
    folder: Path, train: object, *settings: str, data: dict[str, Any] | None = None
) -> Recipe:
    return parse_recipe(
        {
            "data": {"train": train, "hold_out": 4} | (data or {}),
            "tokenizer": {"size": 300},
            "model": {"layers": 1, "d_model": 16, "heads": 2, "d_ff": 32, "dropout": 0.2},
            "training": {
                "steps": 12,
                "batch_tokens": 96,
                "accumulate": 2,
                "warmup": 4,
                "checkpoint_every": 100,
                "log_every": 1,
            },
            "validation": {"every": 4, "metrics": []},
            "decoding": {"beam": 1, "max_length": 8},
        },
        settings,
    )


def mixture(folder: Path, kind: str) -> Any:
    large, small = corpora(folder)
    match kind:
        case "weights":
            return [large | {"weight": 1}, small | {"weight": 3}]
        case "temperature":
            return {"parts": [large, small], "temperature": 4}
        case _:
            return {"parts": [large, small], **STAGES}


@pytest.mark.parametrize("kind", ["weights", "temperature", "stages"])
def test_stopping_and_going_on_gives_the_same_bits(kind: str, tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path, mixture(tmp_path, kind))
    assert_stops_change_nothing(recipe, tmp_path, 2, 5)


SAMPLED = ('tokenizer.sampling={kind="dropout", chance=0.2}', "data.case_augmentation.upper=0.3")


def test_pairs_made_anew_go_on_bit_for_bit(tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path, mixture(tmp_path, "weights"), *SAMPLED)
    assert_stops_change_nothing(recipe, tmp_path, 5)


def test_verify_resume_proves_it(tmp_path: Path) -> None:
    found = verify(recipe_for(tmp_path, mixture(tmp_path, "stages"), *SAMPLED))
    assert found.equal, found.difference


def test_batches_are_within_the_budget_however_long_pairs_may_become(tmp_path: Path) -> None:
    # With room for capitals, 5 times the pieces, many of these pairs alone would be over 40.
    settings = (*SAMPLED, "training.batch_tokens=40", "data.hold_out=0")
    recipe = recipe_for(tmp_path, mixture(tmp_path, "weights"), *settings)
    batches = prepare_task(recipe, tmp_path / "run").batches()
    for _ in range(2 * batches.batches_in_epoch):
        batch: Any = batches.next_batch()
        assert max(batch.source.numel(), batch.target_in.numel()) <= 40
    assert max(batch.source.numel() for batch in batches.largest(9)) <= 40


def test_examples_are_those_of_the_corpus_a_batch_is_of(tmp_path: Path) -> None:
    task: Any = prepare_task(
        recipe_for(tmp_path, mixture(tmp_path, "weights"), "data.hold_out=0"), tmp_path / "run"
    )
    assert task.examples == 40 + 12
    batches, tokenizer = task.batches(), task.pairs.tokenizers[0]
    counts = Counter[str]()
    for _ in range(batches.batches_in_epoch):
        batch = batches.next_batch()
        names = set[str]()
        for pair, ids in zip(batch.pairs.tolist(), batch.source.tolist(), strict=True):
            example = task.example(pair)
            names.add("small" if "small" in example.name else "large")
            text = tokenizer.decode([i for i in ids if i not in (batch.padding, ids[-1])])
            assert example.texts[0].startswith(text[:5])
        (name,) = names
        counts[name] += 1
    assert abs(counts["small"] - 3 * counts["large"]) <= 3
    with pytest.raises(IndexError):
        task.example(52)


def test_filters_are_counted_in_the_log_and_in_the_model_card(tmp_path: Path) -> None:
    large, small = corpora(tmp_path)
    for side, line in (("train.de", "der hund ! 1\n"), ("train.en", "the dog ! 1\n")):
        with (tmp_path / "small" / side).open("a", encoding="utf-8") as file:
            file.write(3 * line)  # two copies
    data = {"filters": {"drop": ["duplicate"]}}
    recipe = recipe_for(tmp_path, [large, small], data=data)
    events = list(train(recipe, tmp_path / "run"))
    assert isinstance(events[-1], Finished)
    texts = [event.text for event in events if isinstance(event, Notice)]
    told = [text for text in texts if "filter duplicate" in text]
    assert told == [f"{small['source']} and {small['target']}: 2 pairs left out, filter duplicate"]
    card = (tmp_path / "run/README.md").read_text("utf-8")
    prepared = read_all_pairs(recipe, tmp_path / "run", reuse=True)
    assert prepared.validation is not None
    held_out = {pair.source for pair in prepared.validation.pairs}
    lines = Path(str(small["source"])).read_text("utf-8").splitlines()
    kept = sum(line not in held_out for line in lines) - 2
    held = 13 - kept
    told = f"{held} held out for validation, 2 filter duplicate"
    assert f"{kept} pairs of 15 lines ({told})" in card
    assert "36 pairs of 40 lines" in card  # 4 are held out


# Languages: a text in small letters is said again as it is ("same") or in capitals ("loud").

WORDS = ["ab", "ba", "cab", "abc", "bac", "acb", "bca", "cba"]
TEXTS = [f"{one} {two}" for one in WORDS for two in WORDS]


def write_languages(folder: Path) -> list[dict[str, str]]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "text").write_text("".join(f"{text}\n" for text in TEXTS), "utf-8")
    (folder / "LOUD").write_text("".join(f"{text.upper()}\n" for text in TEXTS), "utf-8")
    source = str(folder / "text")
    return [
        {"source": source, "target": source, "target_language": "same"},
        {"source": source, "target": str(folder / "LOUD"), "target_language": "loud"},
    ]


def languages_recipe(folder: Path, *settings: str) -> Recipe:
    parts = write_languages(folder)
    return recipe_for(
        folder,
        parts,
        "training.accumulate=1",
        *settings,
        data={"validation": parts, "test": parts, "hold_out": 0},
    )


def test_a_model_of_two_languages_is_trained_measured_and_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = languages_recipe(tmp_path, 'validation.metrics=["exact"]')
    list(train(recipe, tmp_path / "run"))
    card = (tmp_path / "run/README.md").read_text("utf-8")
    for part in write_languages(tmp_path):
        assert f"test, {part['source']} and {part['target']}: exact" in card
    translator = Translator.load(tmp_path / "run")
    assert translator.languages == ("loud", "same")
    command = ["translate", str(tmp_path / "run"), "--input", str(tmp_path / "text")]
    assert main([*command, "--target-language", "loud", "--device", "cpu"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(TEXTS)
    assert main([*command, "--device", "cpu"]) == 2
    assert "choose from loud, same" in capsys.readouterr().err


@pytest.mark.slow
def test_a_model_of_two_languages_learns_to_obey(tmp_path: Path) -> None:
    settings = (
        "training.steps=500",
        "training.batch_tokens=600",
        "training.warmup=50",
        'training.schedule={kind="linear", peak=4e-3}',
        "training.label_smoothing=0",
        "validation.every=500",
        *("model.d_model=32", "model.d_ff=64", "model.dropout=0"),
        'tokenizer={kind="character", size=280}',
    )
    recipe = languages_recipe(tmp_path, *settings)
    list(train(recipe, tmp_path / "run"))
    translator = Translator.load(tmp_path / "run")
    for language, expected in (("same", TEXTS), ("loud", [text.upper() for text in TEXTS])):
        found = [
            made.text for made in translator.translate(TEXTS, beam=1, target_language=language)
        ]
        right = sum(a == b for a, b in zip(found, expected, strict=True))
        assert right > 0.9 * len(TEXTS), (language, found[:4])
        corpus = Files(
            source=tmp_path / "text",
            target=tmp_path / ("text" if language == "same" else "LOUD"),
            target_language=language,
        )
        (score,) = evaluate(translator, corpus, metrics=["exact"]).scores
        assert score.value > 90


def test_a_corpus_that_names_no_language_is_refused_at_its_place(tmp_path: Path) -> None:
    parts = write_languages(tmp_path)
    bare = {key: parts[0][key] for key in ("source", "target")}
    for name, place in (
        ("train", r"data\.train\.parts\.3"),
        ("validation", r"data\.validation"),
        ("test", r"data\.test\.parts\.2"),
    ):
        data: dict[str, Any] = {"train": parts, "hold_out": 0}
        match name:
            case "train":
                data["train"] = [*parts, bare]
            case "validation":
                data["validation"] = bare
            case _:
                data["test"] = [parts[0], bare]
        with pytest.raises(ConfigError, match=rf"{place}\.target_language: is not given"):
            parse_recipe({"data": data})


def test_a_language_that_is_not_learned_is_refused_before_anything_is_prepared(
    tmp_path: Path,
) -> None:
    recipe = languages_recipe(tmp_path)
    table = write_record(recipe)
    table["data"]["test"]["parts"][1]["target_language"] = "louder"
    expected = r"data\.test\.parts\.2\.target_language: 'louder' is no language of training"
    with pytest.raises(ConfigError, match=expected):
        list(train(parse_recipe(table), tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["validation", "test"])
def test_a_missing_set_is_told_before_anything_is_prepared(name: str, tmp_path: Path) -> None:
    large, small = corpora(tmp_path)
    missing = large | {"target": str(tmp_path / "gone.en")}
    recipe = recipe_for(tmp_path, [large, small], data={name: [small, missing], "hold_out": 0})
    prepared = parse_recipe(write_record(recipe), [f"data.prepared={tmp_path / 'ids'}"])
    with pytest.raises(DataError, match=r"gone\.en"):
        list(train(prepared, tmp_path / "run"))
    assert not (tmp_path / "run").exists()
    assert not list(tmp_path.glob("ids/pairs-*"))


@pytest.mark.parametrize("extend", [0, 6])
def test_a_model_of_languages_goes_on_and_learns_one_more(extend: int, tmp_path: Path) -> None:
    first = languages_recipe(tmp_path)
    if not extend:
        assert_stops_change_nothing(first, tmp_path, 5)
    else:
        list(train(first, tmp_path / "straight"))
    model = tmp_path / "straight"
    before = load_bundle(model)
    parts = write_languages(tmp_path)
    (tmp_path / "new").write_text(30 * "xyzzy yxzxy\nzyx xyzzy\n", "utf-8")
    new = str(tmp_path / "new")
    more = {"source": new, "target": new, "target_language": "other"}
    settings = (f"tokenizer.extend={extend}",)
    recipe = recipe_for(tmp_path, [more], *settings, data={"validation": parts, "hold_out": 0})
    events = list(train(recipe, tmp_path / "tuned", start_from=model))
    assert isinstance(events[-1], Finished)
    after = load_bundle(tmp_path / "tuned")
    known, size = before.source_tokenizer.languages, after.source_tokenizer.size
    assert after.source_tokenizer.languages == {**known, "other": size - 1}
    assert size - 1 - before.source_tokenizer.size == extend
    assert after.config.vocabulary == size
    translator = Translator.load(tmp_path / "tuned")
    assert len(translator.translate(TEXTS[:2], target_language="other", beam=1)) == 2
    bare = {key: more[key] for key in ("source", "target")}
    with pytest.raises(ConfigError, match=r"data\.train\.target_language: is not given"):
        list(
            train(
                recipe_for(tmp_path, bare, "data.hold_out=0"), tmp_path / "third", start_from=model
            )
        )


def test_other_tasks_refuse_several_corpora_at_their_place() -> None:
    model = {"architecture": "encoder-only", "head": "class"}
    with pytest.raises(ConfigError, match=r"data\.train: several corpora are for models that"):
        parse_recipe({"data": {"train": ["a.tsv", "b.tsv"]}, "model": model})


def test_two_processes_learn_from_several_corpora_as_one_does(warm: Path, tmp_path: Path) -> None:
    settings = (
        "training.steps=6",
        "training.accumulate=1",
        "training.clip_norm=1.0",
        'training.schedule={kind="constant", peak=1e-3}',
        "training.warmup=0",
        "training.checkpoint_every=2",
        "training.deterministic=true",
        "model.dropout=0",
        'tokenizer.sampling={kind="dropout", chance=0.2}',
    )
    recipe = recipe_for(tmp_path, mixture(tmp_path, "stages"), *settings)
    list(train(recipe, tmp_path / "one"))
    (tmp_path / "r.toml").write_text(recipe_toml(recipe), "utf-8")
    listed = tmp_path / "runs.json"
    runs = [(str(tmp_path / "r.toml"), str(tmp_path / "two"))]
    listed.write_text(json.dumps(runs), "utf-8")
    done = launch(warm, 2, "tests.run.processes", "together", listed)
    assert done.returncode == 0, done.stderr
    assert_same(tmp_path / "two", tmp_path / "one")
