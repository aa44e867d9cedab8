"""What lies in a folder: read with limits, and never outside of it."""

import json
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from dragoman.errors import ModelError
from dragoman.interop.huggingface.folder import Weights, read_json
from dragoman.interop.huggingface.pickles import harmful_call


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe{}", "is not JSON"),
        (b"[" * 100_000, "is not JSON|is nested"),
        (b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}", "is nested more than 32 deep"),
        (b"[1]", "holds no table"),
        (b"null", "holds no table"),
    ],
)
def test_json_that_is_no_table_is_refused(text: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(text)
    with pytest.raises(ModelError, match=f"config.json: ({message})"):
        read_json(path)


def test_a_table_of_many_gigabytes_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(10 << 30)  # takes no room
    with pytest.raises(ModelError, match=r"config\.json: 10,737,418,240 bytes are more than"):
        read_json(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json: no such file"):
        read_json(tmp_path / "config.json")
    with pytest.raises(ModelError, match=r"holds no weights: neither model\.safetensors nor"):
        Weights(tmp_path)


# Field report 30, for an index: a name that leads out of the folder.
@pytest.mark.parametrize(
    "name",
    [
        "../x.safetensors",
        "/etc/x.safetensors",
        "a/b.safetensors",
        "C:x.safetensors",
        "..\\x.safetensors",
        "..",
        "",
        ".safetensors/../x",
        "x.bin",
        "config.json",
        7,
    ],
)
def test_an_index_names_files_beside_it_only(name: object, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    save_file({"a": torch.ones(2)}, tmp_path / "x.safetensors")
    index = {"weight_map": {"a": name}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match=r"index\.json: .* is not the name of a file of weights"):
        Weights(folder)


@pytest.mark.parametrize("table", [{}, {"weight_map": []}, {"weight_map": {}}])
def test_an_index_without_files_is_refused(table: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(table))
    with pytest.raises(ModelError, match=r"index\.json: weight_map: is no table"):
        Weights(tmp_path)


def test_a_shard_that_is_not_there_is_named(tmp_path: Path) -> None:
    index = {"weight_map": {"a": "model-1.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match=r"model-1\.safetensors: no such file, and model"):
        Weights(tmp_path)


def test_two_shards_with_one_weight_are_refused(tmp_path: Path) -> None:
    for number in (1, 2):
        save_file({"a": torch.ones(2)}, tmp_path / f"model-{number}.safetensors")
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match=r"model-2\.safetensors: a is in model-1\.safetensors too"):
        Weights(tmp_path)


def test_safetensors_that_claim_more_than_there_is_are_refused(tmp_path: Path) -> None:
    header = {"a": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}
    text = json.dumps(header).encode()
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
    with pytest.raises(ModelError, match=r"model\.safetensors: holds no weights in safetensors"):
        Weights(tmp_path)


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ([torch.ones(2)], "holds no table of weights"),
        ({"epoch": 3}, "'epoch': is no weight; save the state of the model alone"),
        ({"state": {"a": torch.ones(2)}}, "'state': is no weight"),
        ({3: torch.ones(2)}, "3: is no weight"),
        ({"a": torch.ones(1).expand(1 << 40)}, "a: is no plain tensor"),
        ({"a": torch.ones(2).to_sparse()}, "a: is no plain tensor"),
        ({"a": torch.ones(2, device="meta")}, "cannot be read|is no plain tensor"),
    ],
)
def test_a_bin_holds_plain_tensors_only(held: object, message: str, tmp_path: Path) -> None:
    torch.save(held, tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match=rf"pytorch_model\.bin: .*({message})"):
        Weights(tmp_path)


def test_safetensors_are_chosen_before_a_bin(tmp_path: Path) -> None:
    save_file({"a": torch.ones(2)}, tmp_path / "model.safetensors")
    torch.save({"a": torch.zeros(2)}, tmp_path / "pytorch_model.bin")
    assert Weights(tmp_path).read()["a"].tolist() == [1, 1]


@pytest.mark.parametrize("old", [False, True])
def test_what_torch_saves_of_tensors_is_harmless(old: bool, tmp_path: Path) -> None:
    kinds = (torch.float32, torch.bfloat16, torch.int64, torch.bool)
    held = {str(kind): torch.ones(3).to(kind) for kind in kinds}
    held["parameter"] = torch.nn.Parameter(torch.ones(2))
    torch.save(held, tmp_path / "x.bin", _use_new_zipfile_serialization=not old)
    assert harmful_call(tmp_path / "x.bin") is None


@pytest.mark.parametrize(
    "text",
    [
        "conv\nrelu\nReduce\n.",
        "con mucho\ngusto es\nR.",  # reads like code, but names nothing that could exist
        "",
        ".",
        "#version: 0.2\n",
        "I am text\n.",
    ],
)
def test_text_is_no_program(text: str, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text(text)
    assert harmful_call(tmp_path / "vocab.txt") is None


def test_a_file_without_end_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(ModelError, match=r"config\.json: is no file"):
        read_json(tmp_path / "config.json")


def test_a_file_made_to_be_looked_at_forever_is_not(tmp_path: Path) -> None:
    (tmp_path / "stops").write_bytes(b"\x80\x02." * 100_000)
    assert harmful_call(tmp_path / "stops") is None
    (tmp_path / "nothing").write_bytes(b"\x80\x02" + b"N" * 6_000_000)
    assert harmful_call(tmp_path / "nothing") == "more than can be looked at"


def test_a_bin_that_unpacks_to_more_than_it_is_is_refused(tmp_path: Path) -> None:
    torch.save({"a": torch.zeros(100_000)}, tmp_path / "plain")
    with zipfile.ZipFile(tmp_path / "plain") as plain:
        held = {name: plain.read(name) for name in plain.namelist()}
    path = tmp_path / "pytorch_model.bin"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in held.items():
            packed.writestr(name, data)
    with pytest.raises(ModelError, match=r"pytorch_model\.bin: is packed, to 4\d\d,\d\d\d bytes"):
        Weights(tmp_path)
