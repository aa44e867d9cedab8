import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from dragoman.bundle import Bundle, load_bundle, load_weights, model_weights, save_bundle
from dragoman.errors import ModelError
from dragoman.models import ModelConfig
from dragoman.tokenization import Imported, ImportedTokenizer, SpecialIds
from tests.fixtures import build_encoder_decoder, encoder_decoder, tiny_bundle, tiny_folder
from tests.tokenization.foreign import settings_of


def test_saving_and_loading_gives_the_same_bits_and_choices(tmp_path: Path) -> None:
    bundle = tiny_bundle(layers=2)
    save_bundle(tmp_path, bundle, "# card\n")
    loaded = load_bundle(tmp_path)
    assert loaded.config == bundle.config
    assert loaded.source_tokenizer is loaded.target_tokenizer
    for name, weight in model_weights(bundle.model).items():
        assert torch.equal(weight, model_weights(loaded.model)[name])
    assert not loaded.model.training
    assert (tmp_path / "README.md").read_text() == "# card\n"


def test_a_tied_table_is_stored_once_and_stays_tied(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    stored = load_file(folder / "model.safetensors")
    assert (
        sum(
            weight.shape == (load_bundle(folder).source_tokenizer.size, 16)
            for weight in stored.values()
        )
        == 1
    )
    model = encoder_decoder(load_bundle(folder))
    assert model.generator.table is model.source_input.embedding.table
    assert model.generator.table is model.target_input.embedding.table


def test_separate_vocabularies_have_two_files_and_a_tied_output(tmp_path: Path) -> None:
    bundle = tiny_bundle()
    config = ModelConfig(
        layers=1, d_model=16, heads=2, d_ff=32, vocabulary=300, target_vocabulary=301
    )
    model = build_encoder_decoder(config)
    assert model.generator.table is model.target_input.embedding.table
    assert model.generator.table is not model.source_input.embedding.table
    assert model.generator.table.shape == (301, 16)
    assert bundle.config.target_vocabulary is None


def test_config_json_says_format_architecture_choices_and_versions(tmp_path: Path) -> None:
    described = json.loads((tiny_folder(tmp_path / "m") / "config.json").read_text())
    assert described["format"] == 1
    assert described["architecture"] == "encoder-decoder"
    assert described["model"]["d_model"] == 16
    assert described["special_ids"] == {"padding": 0, "start": 1, "end": 2, "unknown": 3}
    assert described["normal_form"] == "NFC"
    assert {"dragoman", "torch", "tokenizers"} <= described["versions"].keys()


def test_another_format_is_refused(tmp_path: Path) -> None:
    file = tiny_folder(tmp_path / "m") / "config.json"
    file.write_text(file.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(ModelError, match="format 2, this release reads format 1"):
        load_bundle(tmp_path / "m")


def test_a_folder_of_another_toolkit_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "marian"}')
    with pytest.raises(ModelError, match=r"no model folder of Dragoman.*dragoman import .* --to"):
        load_bundle(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1, "model": {"headz": 2}}'])
def test_a_damaged_config_is_refused(text: str, tmp_path: Path) -> None:
    (tiny_folder(tmp_path / "m") / "config.json").write_text(text)
    with pytest.raises(ModelError, match=r"config\.json"):
        load_bundle(tmp_path / "m")


def test_damaged_or_missing_weights_are_refused(tmp_path: Path) -> None:
    file = tiny_folder(tmp_path / "m") / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(ModelError, match="cannot be read"):
        load_bundle(tmp_path / "m")
    file.unlink()
    with pytest.raises(ModelError, match="no such file"):
        load_bundle(tmp_path / "m")


def test_missing_unknown_and_misshapen_weights_are_named() -> None:
    model = encoder_decoder(tiny_bundle())
    weights = model_weights(model)
    name, weight = next(iter(weights.items()))
    with pytest.raises(ModelError, match="1 weights are missing"):
        load_weights(model, {k: v for k, v in weights.items() if k != name}, "here")
    with pytest.raises(ModelError, match="1 are not known"):
        load_weights(model, {**weights, "extra": weight}, "here")
    with pytest.raises(ModelError, match=r"here: .* the model needs"):
        load_weights(model, {**weights, name: weight[:1]}, "here")


def test_a_tokenizer_of_another_size_is_refused(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    table = next(name for name, weight in weights.items() if "embedding" in name)
    config = json.loads((folder / "config.json").read_text())
    config["model"]["vocabulary"] += 1
    (folder / "config.json").write_text(json.dumps(config))
    weights[table] = torch.cat((weights[table], weights[table][:1]))
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ModelError, match="use the tokenizers it was trained with"):
        load_bundle(folder)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("architecture",), "recurrent", "architecture 'recurrent', but model says"),
        (("special_ids", "end"), 9, "special_ids: are not those of the tokenizer"),
        (("model", "padding"), 9, "model.padding: 9 is not the padding piece of the tokenizer, 0"),
        (("model", "architecture"), [], "architecture: [] is not a choice"),
    ],
)
def test_a_config_that_contradicts_itself_or_the_tokenizer_is_refused(
    place: tuple[str, ...], value: object, message: str, tmp_path: Path
) -> None:
    folder = tiny_folder(tmp_path / "m")
    described = json.loads((folder / "config.json").read_text())
    inner = described
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = value
    (folder / "config.json").write_text(json.dumps(described))
    with pytest.raises(ModelError) as caught:
        load_bundle(folder)
    assert message in str(caught.value)


def _imported(**more: Any) -> ImportedTokenizer:
    special = SpecialIds(padding=0, start=0, end=1, unknown=2)
    return ImportedTokenizer(settings_of("unigram"), Imported(special=special, **more))


@pytest.mark.parametrize("count", [1, 2])
def test_imported_tokenizers_are_saved_with_their_ids(count: int, tmp_path: Path) -> None:
    # Two of one vocabulary: each side cuts text in its own way.
    tokenizers = (_imported(languages={"de": 4}), _imported())[:count]
    size = tokenizers[0].size
    config = ModelConfig(layers=1, d_model=16, heads=2, d_ff=32, vocabulary=size)
    save_bundle(tmp_path, Bundle(config, build_encoder_decoder(config), tokenizers), "# card\n")
    described = json.loads((tmp_path / "config.json").read_text())
    assert described["special_ids"] == {"padding": 0, "start": 0, "end": 1, "unknown": 2}
    assert described["normal_form"] == "imported"
    loaded = load_bundle(tmp_path)
    assert [each.to_json() for each in loaded.tokenizers] == [each.to_json() for each in tokenizers]
    assert loaded.source_tokenizer.languages == {"de": 4}
    described["special_ids"]["start"] = 1
    (tmp_path / "config.json").write_text(json.dumps(described))
    with pytest.raises(ModelError, match="special_ids: are not those of the tokenizer"):
        load_bundle(tmp_path)
