"""A run that starts from a model: its weights, tokenizer and shapes; a larger vocabulary."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from dragoman.bundle import Bundle, load_bundle, model_weights, save_bundle
from dragoman.cli.main import main
from dragoman.configfile import write_record
from dragoman.data import Files
from dragoman.errors import CheckpointError, ConfigError, DataError, ModelError
from dragoman.models import (
    AnyConfig,
    ConvolutionalConfig,
    ModelConfig,
    RecurrentConfig,
    build_model,
)
from dragoman.recipe import Recipe, parse_recipe
from dragoman.run import evaluate, train
from dragoman.run.start_from import extend_weights, find_start
from dragoman.run.tasks import prepare_task
from dragoman.tokenization import Tokenizer, TokenizerConfig, learn_bpe, learn_tokenizer
from dragoman.training import Event, Finished, Notice, Started, Stopped
from dragoman.translator import Translator
from tests.fixtures import ENGLISH, GERMAN

NEW = [
    ("das knie ist entzündet .", "the knee is inflamed ."),
    ("die ärztin untersucht das knie .", "the doctor examines the knee ."),
    ("кошка untersucht den hund .", "кошка examines the dog ."),
    ("der hund schläft .", "the dog sleeps ."),
]
SMALL: dict[str, Any] = {"layers": 1, "d_model": 16, "heads": 2, "d_ff": 32}


def tokenizer_of(lines: Sequence[str]) -> Tokenizer:
    return learn_bpe([*lines] * 4, TokenizerConfig(size=320))


def write_model(folder: Path, *, joint: bool = True, seed: int = 1, **choices: Any) -> Path:
    """Write a model with random weights, of one vocabulary or of two."""
    learned = (
        [tokenizer_of(GERMAN + ENGLISH)] if joint else [tokenizer_of(GERMAN), tokenizer_of(ENGLISH)]
    )
    sizes = [tokenizer.size for tokenizer in learned]
    kind: type[AnyConfig] = {
        "recurrent": RecurrentConfig,
        "convolutional": ConvolutionalConfig,
    }.get(choices.get("architecture", ""), ModelConfig)
    shapes = SMALL if kind is ModelConfig else {"layers": 1, "d_model": 16}
    config = kind(
        vocabulary=sizes[0],
        target_vocabulary=None if joint else sizes[1],
        **{**shapes, "dropout": 0.3, **choices},
    )
    model = build_model(config, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for weight in model.parameters():  # biases and norms too must be told apart
            weight += 0.01 * torch.randn(
                weight.shape, generator=torch.Generator().manual_seed(weight.numel())
            )
    save_bundle(folder, Bundle(config, model, tuple(learned)), "# card\n")
    return folder


def write_pairs(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    for side, name in enumerate(("de", "en")):
        lines = [pair[side] for pair in NEW] * 5
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"new.{name}").write_text(text, encoding="utf-8")
    return {"source": str(folder / "new.de"), "target": str(folder / "new.en")}


def recipe_for(folder: Path, *settings: str, model: dict[str, Any] | None = None) -> Recipe:
    return parse_recipe(
        {
            "data": {"train": write_pairs(folder), "validation": write_pairs(folder)},
            "model": {**SMALL, "dropout": 0.1} if model is None else model,
            "training": {
                "steps": 4,
                "batch_tokens": 200,
                "warmup": 0,
                "schedule": {"kind": "constant", "peak": 1e-12},
                "checkpoint_every": 2,
                "average_last": 1,
            },
            "validation": {"every": 4, "metrics": ["bleu"]},
            "decoding": {"beam": 1, "max_length": 6},
        },
        settings,
    )


def texts(events: Sequence[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


def begin(recipe: Recipe, run: Path, model: Path) -> tuple[Bundle, dict[str, torch.Tensor]]:
    """Give what a run begins with: the model as built from the recipe, and MODEL's own weights."""
    start = find_start(run, model, new=True)
    assert start is not None
    task = prepare_task(recipe, run, given=start.given)
    built = build_model(task.config, torch.Generator().manual_seed(9))
    bundle = task.bundle(built)
    start.fill(built, bundle.tokenizers)
    return bundle, load_file(model / "model.safetensors")


KINDS: list[dict[str, Any]] = [
    {},
    {"tied": "none", "output_bias": True},
    {"tied": "output"},
    {"embedding_width": 8},
    {"joint": False},
    {"joint": False, "tied": "none", "output_bias": True},
    {"architecture": "recurrent"},
    {"architecture": "recurrent", "joint": False},
    {"architecture": "convolutional", "joint": False},
]


def model_of(choices: dict[str, Any]) -> dict[str, Any]:
    named = {key: value for key, value in choices.items() if key != "joint"}
    return {**({"layers": 1, "d_model": 16} if "architecture" in named else SMALL), **named}


@pytest.mark.parametrize("choices", KINDS)
def test_a_run_begins_with_the_weights_of_the_model_bit_for_bit(
    choices: dict[str, Any], tmp_path: Path
) -> None:
    model = write_model(tmp_path / "model", **choices)
    bundle, weights = begin(recipe_for(tmp_path, model=model_of(choices)), tmp_path / "run", model)
    found = model_weights(bundle.model)
    assert found.keys() == weights.keys()
    assert not [name for name in found if not torch.equal(found[name], weights[name])]
    for name in ("tokenizer.json", "source.tokenizer.json", "target.tokenizer.json"):
        assert (tmp_path / "run" / name).exists() == (model / name).exists()
        if (model / name).exists():
            assert (tmp_path / "run" / name).read_bytes() == (model / name).read_bytes()


@pytest.mark.parametrize("choices", KINDS)
def test_a_larger_vocabulary_keeps_old_rows_and_begins_new_ones_with_means(
    choices: dict[str, Any], tmp_path: Path
) -> None:
    model = write_model(tmp_path / "model", **choices)
    recipe = recipe_for(tmp_path, "tokenizer.extend=12", model=model_of(choices))
    bundle, weights = begin(recipe, tmp_path / "run", model)
    olds = load_bundle(model).tokenizers
    sizes = [tokenizer.size for tokenizer in olds]
    tables = 0
    for name, weight in model_weights(bundle.model).items():
        old = weights[name]
        assert torch.equal(weight[: old.size(0)], old)
        if weight.shape == old.shape:
            continue
        tables += 1
        side = 0 if name.startswith("source") else -1
        assert old.size(0) == sizes[side]
        assert weight.size(0) == bundle.tokenizers[side].size > sizes[side]
        for number in range(old.size(0), weight.size(0)):
            # A digit never joins what follows, so the old tokenizer cuts the piece by itself.
            (piece,) = bundle.tokenizers[side].pieces([number])
            digit = olds[side].encode("1")
            ids = olds[side].encode(f"1{piece}")[len(digit) :]
            torch.testing.assert_close(weight[number], old[ids].mean(0))
    assert tables >= len(olds)


def test_the_first_validation_has_the_loss_of_the_model_itself(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    bundle, _ = begin(recipe_for(tmp_path), tmp_path / "run", model)
    corpus = Files(source=tmp_path / "new.de", target=tmp_path / "new.en")
    own = evaluate(Translator(load_bundle(model)), corpus, metrics=["bleu"]).loss_nats
    start = find_start(tmp_path / "run", model, new=True)
    assert start is not None
    task = prepare_task(recipe_for(tmp_path), tmp_path / "run", given=start.given)
    assert task.validate(bundle.model).loss_nats == pytest.approx(own, abs=1e-6)


def test_a_run_says_what_it_starts_with_and_how_well_the_tokenizer_fits(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    events = list(train(recipe_for(tmp_path), tmp_path / "run", start_from=model))
    assert isinstance(events[-1], Finished)
    said = texts(events)
    assert f"weights are those of {model}; optimizer and schedule begin afresh" in said
    assert any(
        "tokenizer and vocabulary are those of" in text and "[tokenizer] of the recipe" in text
        for text in said
    )
    (line,) = [text for text in said if text.startswith("source: the tokenizer makes")]
    # By hand: 22 words in the four source lines; the pieces are counted through the bytes, too.
    tokenizer = load_bundle(model).source_tokenizer
    pieces = [p for german, _ in NEW for p in tokenizer.pieces(tokenizer.encode(german))]
    words = sum(len(german.split()) for german, _ in NEW)
    assert words == 20
    share = sum(piece.startswith("<0x") for piece in pieces) / len(pieces)
    assert f"{len(pieces) / words:.2f} pieces a word, {share:.1%} of them" in line
    assert "(in 20 lines)" in line
    card = (tmp_path / "run/README.md").read_text(encoding="utf-8")
    assert f"- started from {model.name}\n" in card


def test_an_extended_model_translates_and_its_new_pieces_are_in_use(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    recipe = recipe_for(tmp_path, "tokenizer.extend=30", "training.schedule.peak=0.01")
    events = list(train(recipe, tmp_path / "run", start_from=model))
    assert isinstance(events[-1], Finished)
    translator = Translator.load(tmp_path / "run")
    assert len(translator.translate(["das knie ist entzündet .", "der hund"], max_length=8)) == 2
    bundle, old = load_bundle(tmp_path / "run"), load_bundle(model)
    assert bundle.source_tokenizer.size > old.source_tokenizer.size
    ids = bundle.source_tokenizer.encode("das knie")
    assert max(ids) >= old.source_tokenizer.size
    assert any("new pieces" in text for text in texts(events))


@pytest.mark.parametrize("extend", [0, 12])
def test_going_on_needs_no_from_and_gives_the_same_bits(extend: int, tmp_path: Path) -> None:
    model = write_model(tmp_path / "model", joint=False)
    settings = [f"tokenizer.extend={extend}", "training.schedule.peak=0.01"]
    recipe = recipe_for(tmp_path, *settings)
    list(train(recipe, tmp_path / "straight", start_from=model))
    stopped = recipe_for(tmp_path, *settings, "training.stop_after=1")
    assert isinstance(list(train(stopped, tmp_path / "run", start_from=model))[-1], Stopped)
    shutil.rmtree(model)  # the checkpoint holds all there is
    events = list(train(recipe, tmp_path / "run"))
    assert isinstance(events[-1], Finished)
    assert f"this run started from {model}" in texts(events)
    one, two = (
        load_file(tmp_path / name / "checkpoints/step-00000004/model.safetensors")
        for name in ("straight", "run")
    )
    assert one.keys() == two.keys()
    assert not [name for name in one if not torch.equal(one[name], two[name])]


def test_a_run_killed_before_its_first_checkpoint_starts_from_the_model_again(
    tmp_path: Path,
) -> None:
    model = write_model(tmp_path / "model")
    recipe = recipe_for(tmp_path, "tokenizer.extend=12")
    list(train(recipe, tmp_path / "straight", start_from=model))
    first = train(recipe, tmp_path / "run", start_from=model)
    assert any(isinstance(event, Started) for event in first)  # and no further
    first.close()  # type: ignore[attr-defined]  # a generator
    assert not (tmp_path / "run/checkpoints").exists()
    assert isinstance(list(train(recipe, tmp_path / "run"))[-1], Finished)
    one, two = (tmp_path / name / "model.safetensors" for name in ("straight", "run"))
    assert one.read_bytes() == two.read_bytes()


def test_before_the_first_checkpoint_a_changed_model_is_refused(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    first = train(recipe_for(tmp_path), tmp_path / "run", start_from=model)
    assert any(isinstance(event, Started) for event in first)  # and no further
    first.close()  # type: ignore[attr-defined]  # a generator
    write_model(model, seed=2)
    with pytest.raises(CheckpointError, match="its weights are not those that the run"):
        list(train(recipe_for(tmp_path), tmp_path / "run"))


def test_another_model_is_refused_by_name_on_going_on(tmp_path: Path) -> None:
    model, other = (write_model(tmp_path / f"model-{seed}", seed=seed) for seed in (1, 2))
    copied = tmp_path / "copied"
    shutil.copytree(model, copied)
    stopped = recipe_for(tmp_path, "training.stop_after=2")
    list(train(stopped, tmp_path / "run", start_from=model))
    with pytest.raises(CheckpointError, match=f"started from {model}, not from {other}"):
        list(train(recipe_for(tmp_path), tmp_path / "run", start_from=other))
    events = list(train(recipe_for(tmp_path), tmp_path / "run", start_from=copied))
    assert isinstance(events[-1], Finished)
    list(train(recipe_for(tmp_path), tmp_path / "plain"))
    with pytest.raises(CheckpointError, match="did not start from a model; leave --from out"):
        list(train(recipe_for(tmp_path), tmp_path / "plain", start_from=model))


def test_a_restart_without_from_forgets_the_model(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    list(train(recipe_for(tmp_path), tmp_path / "run", start_from=model))
    assert json.loads((tmp_path / "run/start.json").read_text())["model"] == str(model)
    list(train(recipe_for(tmp_path), tmp_path / "run", restart=True))
    assert not (tmp_path / "run/start.json").exists()
    assert (tmp_path / "run/tokenizer.json").read_bytes() != (model / "tokenizer.json").read_bytes()


def test_other_shapes_are_refused_with_every_difference(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    recipe = recipe_for(tmp_path, "model.d_ff=64", "model.norm_order=pre", "model.dropout=0.5")
    with pytest.raises(ConfigError) as caught:
        list(train(recipe, tmp_path / "run", start_from=model))
    assert [mistake.place for mistake in caught.value.mistakes] == [
        "model.d_ff",
        "model.norm_order",
    ]
    assert f"model.d_ff: 64 is not what {model} has, 32" in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_extending_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"tokenizer\.extend: there is no vocabulary.*--from"):
        list(train(recipe_for(tmp_path, "tokenizer.extend=5"), tmp_path / "run"))


@pytest.mark.parametrize("damage", ["missing", "no weights", "cut weights", "bad tokenizer"])
def test_a_damaged_model_is_named_and_nothing_is_written(damage: str, tmp_path: Path) -> None:
    model = tmp_path / "model"
    if damage != "missing":
        write_model(model)
    weights = model / "model.safetensors"
    if damage == "no weights":
        weights.unlink()
    if damage == "cut weights":
        weights.write_bytes(weights.read_bytes()[:-9])
    if damage == "bad tokenizer":
        (model / "tokenizer.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelError, match=str(model)):
        list(train(recipe_for(tmp_path), tmp_path / "run", start_from=model))
    assert not (tmp_path / "run").exists()


def test_the_folder_of_the_model_is_never_the_folder_of_the_run(tmp_path: Path) -> None:
    list(train(recipe_for(tmp_path), tmp_path / "run"))
    for restart in (False, True):
        with pytest.raises(CheckpointError, match="is the folder of --from too"):
            list(
                train(
                    recipe_for(tmp_path),
                    tmp_path / "run",
                    start_from=tmp_path / "run",
                    restart=restart,
                )
            )


def test_a_run_folder_can_be_started_from(tmp_path: Path) -> None:
    list(train(recipe_for(tmp_path), tmp_path / "first"))
    bundle, weights = begin(recipe_for(tmp_path), tmp_path / "second", tmp_path / "first")
    assert all(
        torch.equal(value, weights[key]) for key, value in model_weights(bundle.model).items()
    )


def test_wordpiece_vocabularies_are_not_extended(tmp_path: Path) -> None:
    tokenizer = learn_tokenizer(GERMAN * 4, TokenizerConfig(kind="wordpiece", size=320))
    config = ModelConfig(vocabulary=tokenizer.size, **SMALL)
    save_bundle(tmp_path / "model", Bundle(config, build_model(config), (tokenizer,)), "# card\n")
    recipe = recipe_for(tmp_path, "tokenizer.extend=5")
    with pytest.raises(ConfigError, match=r"tokenizer\.extend: .*wordpiece"):
        list(train(recipe, tmp_path / "run", start_from=tmp_path / "model"))
    assert not (tmp_path / "run").exists()


def test_a_classifier_keeps_its_classes_and_refuses_others(tmp_path: Path) -> None:
    def recipe(name: str, labels: Sequence[str], *settings: str) -> Recipe:
        file = tmp_path / f"{name}.tsv"
        lines = [f"{german}\t{labels[n % len(labels)]}\n" for n, german in enumerate(GERMAN * 4)]
        file.write_text("".join(lines), encoding="utf-8")
        return parse_recipe(
            {
                "data": {"train": str(file)},
                "tokenizer": {"size": 300},
                "model": {**SMALL, "architecture": "encoder-only", "head": "class"},
                "training": {"steps": 2, "batch_tokens": 200},
            },
            settings,
        )

    list(train(recipe("first", ["a", "b", "c"]), tmp_path / "first"))
    fewer = recipe("fewer", ["c", "a"])
    stop = recipe("fewer", ["c", "a"], "training.stop_after=1")
    list(train(stop, tmp_path / "run", start_from=tmp_path / "first"))
    assert isinstance(list(train(fewer, tmp_path / "run"))[-1], Finished)
    config = load_bundle(tmp_path / "run").config
    assert isinstance(config, ModelConfig)
    assert config.classes == ("a", "b", "c")
    with pytest.raises(DataError, match="'d' is not a class of the model to start from; it has a"):
        list(train(recipe("more", ["a", "d"]), tmp_path / "more", start_from=tmp_path / "first"))


def test_a_language_model_is_extended_too(tmp_path: Path) -> None:
    def recipe(name: str, lines: Sequence[str], *settings: str) -> Recipe:
        file = tmp_path / name
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return parse_recipe(
            {
                "data": {"train": {"text": str(file)}},
                "tokenizer": {"size": 300},
                "model": {**SMALL, "architecture": "decoder-only"},
                "training": {"steps": 2, "batch_tokens": 200},
            },
            settings,
        )

    list(train(recipe("old", ENGLISH * 3), tmp_path / "first"))
    new = recipe("new", [english for _, english in NEW] * 3, "tokenizer.extend=10")
    list(train(new, tmp_path / "run", start_from=tmp_path / "first"))
    one, two = (load_bundle(tmp_path / name).source_tokenizer for name in ("first", "run"))
    assert one.size < two.size <= one.size + 10


def test_extending_weights_by_hand() -> None:
    model = torch.nn.Module()
    model.register_parameter("table", torch.nn.Parameter(torch.zeros(4, 2)))
    model.register_parameter("other", torch.nn.Parameter(torch.zeros(2)))
    weights = {"table": torch.tensor([[1.0, 2.0], [3.0, 6.0]]), "other": torch.ones(2)}
    extended = extend_weights(weights, model, [[[0, 1], [1, 1, 0]]])
    # (1 + 3) / 2 and (2 + 6) / 2; (3 + 3 + 1) / 3 and (6 + 6 + 2) / 3.
    expected = [[1.0, 2.0], [3.0, 6.0], [2.0, 4.0], [7 / 3, 14 / 3]]
    torch.testing.assert_close(extended["table"], torch.tensor(expected))
    assert extended["other"] is weights["other"]


def test_a_recipe_that_names_no_shapes_takes_those_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_model(tmp_path / "model", norm_order="pre")
    table = write_record(recipe_for(tmp_path))
    files = table["data"]["train"]
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'[data]\ntrain = {{source = "{files["source"]}", target = "{files["target"]}"}}\n'
        "[model]\ndropout = 0.25\n[training]\nsteps = 2\nbatch_tokens = 200\n",
        encoding="utf-8",
    )
    run = ["--run", str(tmp_path / "run"), "--device", "cpu"]
    stop = ["--set", "training.stop_after=1"]
    command = ["train", str(recipe), *run]
    assert main([*command, *stop, "--from", str(model), "--extend-vocabulary", "7"]) == 0
    assert main([*command, "--set", "tokenizer.extend=7"]) == 0  # goes on, without --from
    config = load_bundle(tmp_path / "run").config
    assert isinstance(config, ModelConfig)
    assert (config.d_model, config.norm_order, config.dropout) == (16, "pre", 0.25)
    capsys.readouterr()
    bad = ["train", str(recipe), "--from", str(model), "--run", str(tmp_path / "bad")]
    assert main([*bad, "--set", "model.d_model=32"]) == 2
    assert f"model.d_model: 32 is not what {model} has, 16" in capsys.readouterr().err
    assert main([*bad, "--set", "model.preset=base"]) == 2
    assert "model.layers: 6 is not what" in capsys.readouterr().err
    assert not (tmp_path / "bad").exists()


def test_two_files_take_the_shapes_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_model(tmp_path / "model", architecture="recurrent")
    files = write_pairs(tmp_path)
    sides = ["--source", files["source"], "--target", files["target"]]
    run = ["--from", str(model), "--run", str(tmp_path / "run")]
    assert main(["train", *sides, *run, "--set", "training.steps=1"]) == 0
    assert isinstance(load_bundle(tmp_path / "run").config, RecurrentConfig)
    assert "error" not in capsys.readouterr().err
    missing = ["--from", str(tmp_path / "none"), "--run", str(tmp_path / "no")]
    assert main(["train", *sides, *missing]) == 2
    assert f"{tmp_path / 'none'}: no such model folder" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
