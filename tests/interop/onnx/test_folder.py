"""The folder: what lies in it, and what of it is refused."""

import json
import pickle
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.errors import MissingExtraError, ModelError
from dragoman.interop.onnx import open_onnx, write_onnx
from dragoman.interop.onnx.description import digest
from dragoman.nn import EncoderDecoder
from tests.interop.models import SPECIAL, random_bundle, sources
from tests.interop.onnx.graphs import assert_same, padded_pairs, translator

onnx = pytest.importorskip("onnx", reason="needs onnx: the extra onnx")
pytest.importorskip("onnxruntime", reason="needs onnxruntime: the extra onnx")

PARTS = ["README.md", "config.json", "decoder_step.onnx", "encoder.onnx", "tokenizer.json"]


class Bomb:
    """Leaves a mark where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def config_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "config.json").read_text())


def forge(folder: Path, **changes: Any) -> None:
    """Write ``config.json`` anew, with the right digests of what lies there now."""
    config = config_of(folder) | changes
    config["files"] = {name: digest(folder / name) for name in config["files"]}
    (folder / "config.json").write_text(json.dumps(config))


def test_the_config_names_all_that_a_client_needs(tmp_path: Path) -> None:
    bundle = random_bundle({"positions": {"kind": "learned", "max_length": 20}, "kv_heads": 2})
    write_onnx(tmp_path / "model", bundle)
    assert names_in(tmp_path / "model") == PARTS
    config = config_of(tmp_path / "model")
    assert config["special_ids"] == asdict(SPECIAL)
    assert config["frame"] == {"source_before": [], "source_after": [2], "target_before": [1]}
    assert config["longest"] == {"source": 20, "target": 20}
    assert config["dragoman"]["kv_heads"] == 2
    step = config["graphs"]["decoder_step"]
    # By hand: 2 layers of 2 shared heads, each 32 / 4 wide.
    assert step["inputs"]["past.1.keys"]["shape"] == ["rows", 2, "past", 8]
    assert step["inputs"]["memory.0.values"]["shape"] == ["sources", 2, "source_length", 8]
    assert step["outputs"]["logits"]["shape"] == ["rows", "new", 290]
    for graph in config["graphs"].values():
        model = onnx.load(tmp_path / "model" / graph["file"])
        onnx.checker.check_model(model, full_check=True)
        assert [each.name for each in model.graph.input] == [*graph["inputs"]]
        assert [each.name for each in model.graph.output] == [*graph["outputs"]]
        named = {size for port in graph["inputs"].values() for size in port["shape"]}
        assert {size for size in named if isinstance(size, str)} <= config["sizes"].keys()


def test_writing_twice_gives_the_same_bytes_and_replaces_the_folder(tmp_path: Path) -> None:
    folder, bundle = tmp_path / "model", random_bundle({})
    folder.mkdir()
    (folder / "old").write_text("old")
    before = {name: weight.clone() for name, weight in bundle.model.state_dict().items()}
    write_onnx(folder, bundle)
    first = {name: (folder / name).read_bytes() for name in PARTS}
    write_onnx(folder, bundle)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == first
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    for name, weight in bundle.model.state_dict().items():
        assert torch.equal(weight, before[name]), name


def test_weights_too_large_for_one_file_lie_beside_it(tmp_path: Path) -> None:
    bundle = random_bundle({"positions": {"kind": "shaw", "clip": 3}})
    assert isinstance(bundle.model, EncoderDecoder)
    write_onnx(tmp_path / "model", bundle, largest=1000)
    assert {"encoder.onnx.data", "decoder_step.onnx.data"} <= {*names_in(tmp_path / "model")}
    assert (tmp_path / "model" / "encoder.onnx").stat().st_size < 40_000
    opened = open_onnx(tmp_path / "model", bundle, threads=1)
    source, target = padded_pairs()
    with torch.inference_mode():
        ours = bundle.model(source, target).log_softmax(-1)
    ids = sources(seed=6)[0]
    assert_same(opened.log_probs(sources()[0], ids), ours[0, : len(ids) + 1])  # pyright: ignore  # a translator
    (tmp_path / "model" / "encoder.onnx.data").write_bytes(b"")
    with pytest.raises(ModelError, match=r"encoder\.onnx\.data: is not the file that was written"):
        open_onnx(tmp_path / "model", bundle)


@pytest.mark.parametrize("place", ["../outside", "/outside"])
def test_weights_outside_the_folder_are_never_read(place: str, tmp_path: Path) -> None:
    folder, bundle = tmp_path / "model", random_bundle({})
    write_onnx(folder, bundle, largest=1000)
    data = folder / "encoder.onnx.data"
    (tmp_path / "outside").write_bytes(data.read_bytes())
    place = str(tmp_path / "outside") if place.startswith("/") else place
    model = onnx.load(folder / "encoder.onnx", load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = place
    (folder / "encoder.onnx").write_bytes(model.SerializeToString())
    forge(folder)
    with pytest.raises(ModelError, match=r"encoder\.onnx: cannot be read"):
        open_onnx(folder, bundle)


@pytest.mark.parametrize("name", [name for name in PARTS if name != "README.md"])
def test_a_pickle_in_place_of_a_file_is_refused_by_name_and_never_run(
    name: str, tmp_path: Path
) -> None:
    folder, bundle, mark = tmp_path / "model", random_bundle({}), tmp_path / "mark"
    write_onnx(folder, bundle)
    (folder / name).write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(ModelError, match=re.escape(str(folder / name))):
        open_onnx(folder, bundle)
    if name != "config.json":  # and when whoever put it there knows of the digests
        forge(folder)
        with pytest.raises(ModelError, match=re.escape(str(folder / name))):
            open_onnx(folder, bundle)
    assert not mark.exists()


def test_the_card_may_change(tmp_path: Path) -> None:
    bundle = random_bundle({})
    write_onnx(tmp_path / "model", bundle)
    (tmp_path / "model" / "README.md").write_bytes(pickle.dumps("never read"))
    open_onnx(tmp_path / "model", bundle)


@pytest.mark.parametrize("name", ["encoder.onnx", "decoder_step.onnx", "tokenizer.json"])
@pytest.mark.parametrize("damage", ["cut", "bit", "missing"])
def test_a_damaged_file_is_refused_by_name(name: str, damage: str, tmp_path: Path) -> None:
    folder, bundle = tmp_path / "model", random_bundle({})
    write_onnx(folder, bundle)
    data = bytearray((folder / name).read_bytes())
    if damage == "missing":
        (folder / name).unlink()
    elif damage == "cut":
        (folder / name).write_bytes(data[: len(data) // 2])
    else:
        data[len(data) // 2] ^= 1  # in the middle of a weight: it would still be read
        (folder / name).write_bytes(data)
    with pytest.raises(ModelError, match=re.escape(str(folder / name))):
        open_onnx(folder, bundle)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, r"config\.json: is not of a folder that Dragoman wrote"),
        ({"version": 2}, r"config\.json: version 2, this release reads 1; export again"),
        ({"weights": "0"}, r"config\.json: weights: are of another model; export again"),
        ({"files": {}}, r"config\.json: files: is no table"),
        ({"files": ["encoder.onnx"]}, r"config\.json: files: is no table"),
        ({"files": {"../x": "0"}}, r"files: '\.\./x' is no name of a file of such a folder"),
        ({"files": {"encoder.onnx": 1}}, r"encoder\.onnx: is not the file that was written"),
    ],
)
def test_a_changed_config_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder, bundle = tmp_path / "model", random_bundle({})
    write_onnx(folder, bundle)
    (folder / "config.json").write_text(json.dumps(config_of(folder) | changes))
    with pytest.raises(ModelError, match=message):
        open_onnx(folder, bundle)


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff", "[" * 100_000])
def test_a_config_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    bundle = random_bundle({})
    write_onnx(tmp_path / "model", bundle)
    (tmp_path / "model" / "config.json").write_text(text, encoding="latin-1")
    with pytest.raises(ModelError, match=r"config\.json: (cannot be read|is not of a folder)"):
        open_onnx(tmp_path / "model", bundle)


def test_an_empty_folder_and_another_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nowhere: holds no ONNX model \(no config\.json\)"):
        open_onnx(tmp_path / "nowhere", random_bundle({}))
    write_onnx(tmp_path / "model", random_bundle({}))
    with pytest.raises(ModelError, match=r"weights: are of another model; export again"):
        open_onnx(tmp_path / "model", random_bundle({}, seed=4))


def test_graphs_in_each_others_place_are_refused(tmp_path: Path) -> None:
    folder, bundle = tmp_path / "model", random_bundle({})
    write_onnx(folder, bundle)
    encoder = (folder / "encoder.onnx").read_bytes()
    (folder / "encoder.onnx").write_bytes((folder / "decoder_step.onnx").read_bytes())
    (folder / "decoder_step.onnx").write_bytes(encoder)
    forge(folder)
    with pytest.raises(ModelError, match=r"encoder\.onnx: takes or gives something else than this"):
        open_onnx(folder, bundle)


def test_text_longer_than_learned_positions_is_refused_not_cut(tmp_path: Path) -> None:
    bundle = random_bundle({"positions": {"kind": "learned", "max_length": 14}})
    opened = translator(tmp_path / "model", bundle)
    assert opened.longest == 14
    opened.log_probs(range(4, 17), range(4, 17))
    with pytest.raises(ModelError, match=r"encoder\.onnx: cannot be run: .*bounds"):
        opened.log_probs(range(4, 18), [])
    with pytest.raises(ModelError, match=r"decoder_step\.onnx: cannot be run: .*bounds"):
        opened.log_probs([5], range(4, 18))
    _, session = opened.start([[5]]).feed(np.arange(4, 17)[None])
    for count in (2, 3):  # the first of these has a position, the others have none
        with pytest.raises(ModelError, match=r"decoder_step\.onnx: cannot be run: .*bounds"):
            session.feed(np.full((1, count), 5))
    _, session = session.feed(np.full((1, 1), 5))
    with pytest.raises(ModelError, match=r"decoder_step\.onnx: cannot be run: .*bounds"):
        session.feed(np.full((1, 1), 5))


def test_a_weight_without_a_place_is_refused(tmp_path: Path) -> None:
    bundle = random_bundle({})
    bundle.model.register_parameter("another", torch.nn.Parameter(torch.ones(2)))
    with pytest.raises(ModelError, match=r"ONNX has no place for 1 weights: another"):
        write_onnx(tmp_path / "model", bundle)
    assert not list(tmp_path.iterdir())


def test_a_missing_library_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle: Bundle = random_bundle({})
    write_onnx(tmp_path / "model", bundle)
    for library in ("onnx", "onnxruntime"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"ONNX format .*pip install 'dragoman\[onnx\]'"):
        write_onnx(tmp_path / "other", bundle)
    assert not (tmp_path / "other").exists()
    with pytest.raises(MissingExtraError, match=r"model in ONNX .*pip install 'dragoman\[onnx\]'"):
        open_onnx(tmp_path / "model", bundle)
