import re
import tomllib
from pathlib import Path

import pytest

from dragoman.data import Files, Several, TsvFile
from dragoman.errors import ConfigError
from dragoman.models import Learned, ModelConfig
from dragoman.recipe import differences, parse_recipe, read_recipe, recipe_toml
from dragoman.training import InverseSqrt, LinearDecay

DATA = {"train": {"source": "a.de", "target": "a.en"}}


def write(folder: Path, text: str) -> Path:
    file = folder / "recipe.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_paths_of_a_file_start_from_its_folder_and_those_of_overrides_from_here(
    tmp_path: Path,
) -> None:
    file = write(
        tmp_path,
        '[data]\ntrain = { source = "a.de", target = "/abs/a.en" }\nvalidation = "dev.tsv"\n',
    )
    recipe = read_recipe(file, ['data.test={source="t.de",target="t.en"}'])
    assert recipe.data.train == Files(source=tmp_path / "a.de", target=Path("/abs/a.en"))
    assert recipe.data.validation == TsvFile(file=tmp_path / "dev.tsv")
    assert recipe.data.test == Files(source=Path("t.de").absolute(), target=Path.cwd() / "t.en")


def test_subword_sampling_is_named_by_its_kind_alone() -> None:
    short = parse_recipe({"data": DATA, "tokenizer": {"sampling": "dropout"}})
    long = parse_recipe({"data": DATA, "tokenizer": {"sampling": {"kind": "dropout"}}})
    assert short == long
    assert short.tokenizer.sampling is not None
    assert short.tokenizer.sampling.kind == "dropout"


def test_keys_beside_a_preset_win() -> None:
    model = parse_recipe({"data": DATA, "model": {"preset": "big", "dropout": 0.1}}).model
    assert isinstance(model, ModelConfig)
    assert (model.d_model, model.heads, model.d_ff, model.layers) == (1024, 16, 4096, 6)  # table 3
    assert model.dropout == 0.1
    assert parse_recipe({"data": DATA, "model": {"preset": "big"}}).model.dropout == 0.3


def test_choices_are_told_apart_by_their_kind_or_named_by_it_alone() -> None:
    recipe = parse_recipe(
        {
            "data": DATA,
            "model": {"positions": {"kind": "learned", "max_length": 80}},
            "training": {"schedule": {"kind": "linear", "peak": 0.01}},
        }
    )
    assert isinstance(recipe.model, ModelConfig)
    assert recipe.model.positions == Learned(max_length=80)
    assert recipe.training.schedule == LinearDecay(peak=0.01)
    named = parse_recipe({"data": DATA, "training": {"schedule": "inverse_sqrt"}})
    assert named.training.schedule == InverseSqrt()


def test_a_resolved_recipe_reads_back_as_itself(tmp_path: Path) -> None:
    recipe = parse_recipe(
        {
            "data": {**DATA, "train": {"source": '/x/"odd" ü.de', "target": "/x/a.en"}},
            "training": {"clip_norm": 0.5, "schedule": {"kind": "constant", "peak": 1e-05}},
            "validation": {"metrics": []},
            "model": {"preset": "tiny", "positions": {"kind": "learned", "max_length": 9}},
        }
    )
    assert read_recipe(write(tmp_path, recipe_toml(recipe))) == recipe
    assert "batch_tokens = 25000" in recipe_toml(recipe)  # defaults are written out


def test_every_recipe_of_the_project_reads() -> None:
    found = sorted((Path(__file__).parents[1] / "recipes").glob("*.toml"))
    assert found
    for file in found:
        if not file.name.startswith("compare-"):  # they name variants of a recipe
            read_recipe(file)


def test_differences_name_what_changed_and_leave_out_what_ends_a_sitting() -> None:
    old = parse_recipe({"data": DATA, "training": {"warmup": 200}})
    new = parse_recipe(
        {"data": DATA, "training": {"warmup": 400, "stop_after": 7, "max_minutes": 2.0}}
    )
    assert differences(old, new) == ["training.warmup: 400 was 200"]
    assert differences(old, old) == []


@pytest.mark.parametrize(
    ("table", "messages"),
    [
        ({}, ["data: is missing"]),
        ({"data": {}}, ["data.train: is missing"]),
        ({"data": {"train": {"source": "a"}}}, ["data.train.target: is missing"]),
        (
            {"data": DATA, "modle": {}},
            ["modle: unknown key; did you mean model?"],
        ),
        (
            {"data": DATA, "model": {"positions": {"kind": "sinusoid"}}},
            ["model.positions.kind: 'sinusoid' is not a choice; did you mean sinusoidal?"],
        ),
        (
            {"data": DATA, "model": {"norm_order": "before"}},
            ["model.norm_order: 'before' is not a choice; choose from post, pre"],
        ),
        (
            {"data": DATA, "model": {"d_model": 513, "heads": 2}},
            [
                "model.heads: 2 does not divide d_model 513; try 1 or 3",
                "model.d_model: 513 is odd, and sinusoids come in pairs; try 512 or 514",
            ],
        ),
        (
            {"data": {**DATA, "too_long": "cut"}, "training": {"steps": 1.5}},
            [
                "data.too_long: 'cut' is not a choice; choose from drop, error, truncate, alone",
                "training.steps: 1.5 should be a valid integer",
            ],
        ),
        (
            {"data": DATA, "model": {"haeds": 8, "heads": 6, "layers": "six"}},
            [
                "model.layers: 'six' should be a valid integer",
                "model.haeds: unknown key; did you mean heads?",
                "model.heads: 6 does not divide d_model 512; try 4 or 8",
            ],
        ),
        (
            {"data": DATA, "decoding": {"n_best": 9}},
            ["decoding.n_best: 9 is more than beam 4; set beam to 9 or more"],
        ),
    ],
)
def test_mistakes_are_told_with_place_and_suggestion(
    table: dict[str, object], messages: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_recipe(table, file="r.toml")
    assert str(caught.value).splitlines() == [f"r.toml: {message}" for message in messages]


def test_overrides_take_toml_values_and_plain_words() -> None:
    settings = ["training.steps=7", "model.preset=tiny", 'validation.metrics=["ter"]']
    recipe = parse_recipe({"data": DATA}, settings)
    assert recipe.training.steps == 7
    assert recipe.model.d_model == 128
    assert recipe.validation.metrics == ("ter",)


def test_a_printed_recipe_is_toml() -> None:
    assert tomllib.loads(recipe_toml(parse_recipe({"data": DATA})))["model"]["heads"] == 8


@pytest.mark.parametrize(
    ("architecture", "metric", "measured"),
    [
        ("encoder-decoder", "accuracy", "bleu, chrf, ter, exact, wer, brackets"),
        ("recurrent", "bits", "bleu, chrf, ter, exact, wer, brackets"),
        ("decoder-only", "bleu", "bits"),
        ("encoder-only", "wer", "accuracy"),
    ],
)
def test_a_metric_of_another_kind_of_model_is_refused_before_any_data_is_read(
    architecture: str, metric: str, measured: str
) -> None:
    table = {
        "data": {"train": {"text": "a.txt"}} if architecture.endswith("only") else DATA,
        "model": {"architecture": architecture},
        "validation": {"metrics": [metric]},
    }
    with pytest.raises(ConfigError) as caught:
        parse_recipe(table)
    assert str(caught.value) == (
        f"validation.metrics: {metric} does not measure a model of the kind {architecture}; "
        f"choose from {measured}"
    )


@pytest.mark.parametrize("choices", [{"tied": "all"}, {"tied": "input"}])
@pytest.mark.parametrize("tokenizer", [{"joint": False}, {"target": {"kind": "word"}}])
def test_tables_of_two_vocabularies_cannot_be_one(
    choices: dict[str, str], tokenizer: dict[str, object]
) -> None:
    table = {"data": DATA, "model": choices, "tokenizer": tokenizer}
    with pytest.raises(ConfigError, match=r"r\.toml: model\.tied: .* needs one vocabulary"):
        parse_recipe(table, file="r.toml")
    parse_recipe({**table, "model": {"tied": "output"}})


@pytest.mark.parametrize(
    "model", [{"architecture": "convolutional"}, {"attention": "linear"}], ids=str
)
def test_coverage_needs_attention_weights(model: dict[str, object]) -> None:
    table = {"data": DATA, "decoding": {"coverage": 0.2}}
    with pytest.raises(ConfigError, match=r"r\.toml: decoding\.coverage: needs attention weights"):
        parse_recipe({**table, "model": model}, file="r.toml")
    assert parse_recipe(table).decoding.coverage == 0.2


def test_a_length_given_as_a_setting_takes_the_place_of_the_other_one() -> None:
    table = {"data": DATA, "training": {"epochs": 3}}
    training = parse_recipe(table, ["training.steps=40"]).training
    assert (training.steps, training.epochs) == (40, None)
    again = parse_recipe({"data": DATA, "training": {"steps": 40}}, ["training.epochs=2"]).training
    assert (again.steps, again.epochs) == (None, 2)


def test_a_tokenizer_file_starts_from_the_folder_of_the_recipe(tmp_path: Path) -> None:
    text = '[data]\ntrain = "a.tsv"\n[tokenizer]\nfile = "sp.model"\ntarget = { file = "t.json" }\n'
    tokenizer = read_recipe(write(tmp_path, text)).tokenizer
    assert tokenizer.file == tmp_path / "sp.model"
    assert tokenizer.target is not None
    assert tokenizer.target.file == tmp_path / "t.json"


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"tokenizer": {"sampling": {"kind": "dropout"}}}, "tokenizer.sampling"),
        ({"data": {"filters": {"drop": ["duplicate"]}}}, "data.filters"),
        ({"data": {"case_augmentation": {"upper": 0.1}}}, "data.case_augmentation"),
        ({"data": {"prepared": "ids"}}, "data.prepared"),
    ],
)
def test_what_only_pairs_can_have_is_refused_for_other_models(
    table: dict[str, dict[str, object]], key: str
) -> None:
    data = {"train": {"text": "a.txt"}, **table.get("data", {})}
    model = {"architecture": "decoder-only"}
    with pytest.raises(ConfigError, match=rf"{re.escape(key)}: is for models that translate"):
        parse_recipe({**table, "data": data, "model": model})
    parse_recipe({**table, "data": {**DATA, **table.get("data", {})}})


# Several corpora.


def test_a_list_of_corpora_is_one_that_stands_for_several() -> None:
    parts = [{"source": "a.en", "target": "a.de"}, "b.tsv"]
    short = parse_recipe({"data": {"train": parts}})
    long = parse_recipe({"data": {"train": {"kind": "several", "parts": parts}}})
    assert short == long
    assert isinstance(short.data.train, Several)
    assert [part.kind for part in short.data.train.parts] == ["files", "tsv"]
    assert parse_recipe(tomllib.loads(recipe_toml(short))) == short


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ([{"file": "a.tsv", "weight": 2}, "b.tsv"], r"data\.train\.parts: some have a weight"),
        ([{"file": "a.tsv", "wieght": 2}], r"^data\.train\.parts\.1\.wieght: .*weight\?$"),
        ({"parts": ["a.tsv"], "temperature": 0.5}, r"data\.train\.temperature"),
        (
            {"parts": ["a.tsv", "b.tsv"], "stages": [{"weights": [1]}]},
            r"data\.train\.stages\.1\.weights: 1 weights for 2 corpora",
        ),
        (
            {"parts": ["a.tsv"], "stages": [{"weights": [1]}, {"weights": [1]}]},
            r"data\.train\.stages\.1\.until: stages must follow each other",
        ),
        (
            {"parts": ["a.tsv"], "stages": [{"weights": [1], "until": 4}]},
            r"data\.train\.stages\.1\.until: the last stage has an end",
        ),
        ({"parts": ["a.tsv"], "stages": [{"weights": [0]}]}, r"nothing is left to learn from"),
        ([], r"data\.train\.parts: there is no corpus"),
        (
            [{"file": f"{name}.tsv", "target_language": name} for name in ("de", "en")] + ["c.tsv"],
            r"data\.train\.parts\.3\.target_language: is not given; .*de, en",
        ),
    ],
)
def test_what_is_wrong_with_several_corpora_is_located(train: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_recipe({"data": {"train": train}})


RECIPES = Path(__file__).parent.parent / "recipes"


@pytest.mark.parametrize(
    "name", sorted(p.name for p in RECIPES.glob("*.toml") if not p.name.startswith("compare-"))
)
def test_the_recipes_of_the_project_read(name: str) -> None:
    recipe = read_recipe(RECIPES / name)
    assert parse_recipe(tomllib.loads(recipe_toml(recipe))) == recipe
