"""What users may leave out or shorten in a recipe, written out before it is read as a record."""

import copy
import os
from pathlib import Path
from typing import Any, cast

from dragoman.configfile import Table, suggest
from dragoman.errors import ConfigError
from dragoman.models import PRESETS

CORPORA = ("train", "validation", "test")  # of the table [data]


def leave_one_length(table: Table, setting: str) -> None:
    """Let ``training.steps`` take the place of ``epochs``, and the other way round."""
    other = {"training.steps": "epochs", "training.epochs": "steps"}
    training, key = table.get("training"), setting.partition("=")[0].strip()
    if key in other and isinstance(training, dict):
        cast("Table", training).pop(other[key], None)


def fill_model(table: Table, model: Table) -> None:
    """Take from another model what ``[model]`` leaves out; a preset leaves out nothing."""
    chosen = table.setdefault("model", {})
    if isinstance(chosen, dict) and "preset" not in chosen:
        named = cast("Table", chosen)
        if named.get("architecture", model["architecture"]) == model["architecture"]:
            table["model"] = copy.deepcopy(model) | named


def expand_preset(table: Table, file: str) -> None:
    """Put the choices of a preset in its place; keys beside it win.

    Raises:
        ConfigError: there is no such preset.
    """
    model = table.setdefault("model", {})
    if not isinstance(model, dict):
        return
    chosen = cast("Table", model)
    chosen.setdefault("architecture", "encoder-decoder")
    if "preset" not in chosen:
        return
    preset = chosen.pop("preset")
    if not isinstance(preset, str) or preset not in PRESETS:
        hint = suggest(str(preset), list(PRESETS))
        raise ConfigError("model.preset", f"{preset!r} is not a preset", hint).inside(file=file)
    table["model"] = copy.deepcopy(PRESETS[preset]) | chosen


def name_kinds(table: Table) -> None:
    """Let ``{ source, target }`` and ``"pairs.tsv"`` stand for a corpus without naming its kind."""
    for data, name in _each_corpus(table):
        value = data[name]
        if isinstance(value, str):
            value = {"file": value}
        if isinstance(value, dict) and "kind" not in value:
            keys = {"file": "tsv", "text": "text", "images": "images"}
            kind = next((keys[key] for key in keys if key in value), "files")
            value = {"kind": kind, **cast("Table", value)}
        data[name] = value
    # A form without settings may be named by its kind alone.
    for section, key in (
        ("model", "positions"),
        ("model", "decoder_positions"),
        ("model", "attention"),
        ("training", "schedule"),
        ("training", "optimizer"),
    ):
        inner = table.get(section)
        if isinstance(inner, dict) and isinstance(cast("Table", inner).get(key), str):
            inner[key] = {"kind": inner[key]}
    training = table.get("training")
    optimizer = cast("Table", training).get("optimizer") if isinstance(training, dict) else None
    if isinstance(optimizer, dict):  # constants alone are those of the paper's
        cast("Table", optimizer).setdefault("kind", "adam")


def anchor(table: Table, folder: Path) -> None:
    """Make relative paths of the corpora start from ``folder``, and absolute.

    A recipe kept in a run folder then means the same files wherever it is read.
    """
    _anchor_tokenizers(table, folder)
    for data, name in _each_corpus(table):
        value = data[name]
        if isinstance(value, str):
            data[name] = os.path.abspath(folder / value)
        elif isinstance(value, dict):
            files = cast("Table", value)
            for key in ("source", "target", "file", "text", "images"):
                if isinstance(files.get(key), str):
                    files[key] = os.path.abspath(folder / files[key])


def _anchor_tokenizers(table: Table, folder: Path) -> None:
    """Make paths of existing tokenizers start from ``folder``, as those of the corpora do."""
    tokenizer = table.get("tokenizer")
    while isinstance(tokenizer, dict):
        chosen = cast("Table", tokenizer)
        if isinstance(chosen.get("file"), str):
            chosen["file"] = os.path.abspath(folder / chosen["file"])
        tokenizer = chosen.get("target")


def _each_corpus(table: Table) -> list[tuple[dict[str, Any], str]]:  # Any: not yet validated
    data = table.get("data")
    if not isinstance(data, dict):
        return []
    found = cast("dict[str, Any]", data)
    return [(found, name) for name in CORPORA if name in found]
