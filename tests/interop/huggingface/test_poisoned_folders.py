"""Every file of a folder in turn is a program: it is refused by name, and never runs."""

import io
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.errors import DragomanError
from dragoman.interop.huggingface import open_huggingface, read_huggingface
from tests.interop.huggingface.models import FAMILIES, make, saved

SIDE_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "spiece.model",
    "source.spm",
    "chat_template.jinja",
    "README.md",
    "training_args.bin",
    "optimizer.pt",
    "flax_model.msgpack",
    "1_Pooling/config.json",
)


class Program:
    """Leaves a mark where it is loaded."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.marker),)


def archived(program: Program) -> bytes:
    """As ``torch.save`` writes weights today."""
    stream = io.BytesIO()
    torch.save({"lm_head.weight": program}, stream)
    return stream.getvalue()


def legacy(program: Program) -> bytes:
    """As ``torch.save`` once wrote: several pickles one after another."""
    stream = io.BytesIO()
    state = {"lm_head.weight": program}
    torch.save(state, stream, _use_new_zipfile_serialization=False)
    return stream.getvalue()


POISONS: dict[str, Callable[[Program], bytes]] = {
    "protocol 0": lambda program: pickle.dumps(program, protocol=0),
    "protocol 2": lambda program: pickle.dumps({"a": [1, program]}, protocol=2),
    "protocol 5": lambda program: pickle.dumps(program, protocol=5),
    "broken off": lambda program: pickle.dumps(program, protocol=4)[:-1] + b"{",
    "an archive": archived,
    "an old archive": legacy,
}


CASES = [
    *(("model.safetensors", poison) for poison in POISONS),
    *(("pytorch_model.bin", poison) for poison in ("protocol 2", "an archive", "an old archive")),
    ("shards", "protocol 5"),
]


@pytest.mark.parametrize(("form", "poison"), CASES)
def test_every_file_is_refused_by_name_when_it_is_a_program(
    form: str, poison: str, tmp_path: Path
) -> None:
    whole = everything(form, tmp_path / "whole")
    bundle = read_huggingface(whole, ())  # as it is, it is read
    marker = tmp_path / "marker"
    for path in sorted(whole.rglob("*")):
        if path.is_file():
            name = path.relative_to(whole)
            data = POISONS[poison](Program(marker))
            refused(bundle, whole, name, data)
            assert not marker.exists(), name


@pytest.mark.parametrize("name", FAMILIES)
def test_every_file_of_every_family_is_refused(name: str, tmp_path: Path) -> None:
    whole = saved(name, tmp_path / "whole")
    bundle = read_huggingface(whole, ())
    marker = tmp_path / "marker"
    for path in sorted(whole.iterdir()):
        data = pickle.dumps(Program(marker), protocol=2)
        refused(bundle, whole, Path(path.name), data)
        assert not marker.exists(), path.name


def refused(bundle: Bundle, folder: Path, name: Path, data: bytes) -> None:
    """Put ``data`` into the place of one file; both sides refuse the folder and name it."""
    before = (folder / name).read_bytes()
    (folder / name).write_bytes(data)
    with pytest.raises(DragomanError, match=re.escape(str(name))):
        read_huggingface(folder, ())
    with pytest.raises(DragomanError, match=re.escape(str(name))):
        open_huggingface(folder, bundle)
    (folder / name).write_bytes(before)


def everything(form: str, folder: Path) -> Path:
    """Write a folder with all that may lie in one; what is not read holds harmless text."""
    model = make("gpt2")
    folder.mkdir()
    if form == "pytorch_model.bin":
        saved("gpt2", folder)
        (folder / "model.safetensors").unlink()
        torch.save(model.state_dict(), folder / form)
    else:
        shard = "5GB" if form == "model.safetensors" else "20KB"
        model.save_pretrained(folder, max_shard_size=shard)
    for name in SIDE_FILES:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("{}\n")
    return folder
