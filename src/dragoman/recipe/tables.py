"""What users may leave out or shorten in a recipe, written out before it is read as a record."""

import copy
import os
from pathlib import Path
from typing import Any, cast

from dragoman.configfile import Table, suggest
from dragoman.data import kind_of
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
    """Let ``{ source, target }`` and ``"pairs.tsv"`` stand for a corpus without naming its kind.

    What one file holds is told by its name.
    """
    for data, name in _each_corpus(table):
        value = data[name]
        if isinstance(value, str):
            value = {"file": value}
        if isinstance(value, dict) and "kind" not in value:
            value = {"kind": _kind(cast("Table", value)), **cast("Table", value)}
        data[name] = value
    _gather_parts(table)
    # A form without settings may be named by its kind alone.
    for section, key in (
        ("model", "positions"),
        ("model", "decoder_positions"),
        ("model", "attention"),
        ("tokenizer", "sampling"),
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


def _gather_parts(table: Table) -> None:
    """Let a list of corpora stand for ``{ parts = [...] }``."""
    data = table.get("data")
    if not isinstance(data, dict):
        return
    named = cast("Table", data)
    for name in CORPORA:
        value = named.get(name)
        if isinstance(value, list):
            named[name] = {"kind": "several", "parts": value}


def _kind(corpus: Table) -> str:
    """Say what kind of corpus a table describes, by its keys and the name of its file."""
    if "file" in corpus:
        return kind_of(Path(str(corpus["file"])))
    named = {"text": "text", "images": "images", "dataset": "dataset", "parts": "several"}
    return next((named[key] for key in named if key in corpus), "files")


def anchor(table: Table, folder: Path) -> None:
    """Make relative paths of the corpora start from ``folder``, and absolute.

    A recipe kept in a run folder then means the same files wherever it is read.
    """
    _anchor_tokenizers(table, folder)
    data = table.get("data")
    named = cast("Table", data) if isinstance(data, dict) else {}
    if isinstance(named.get("prepared"), str):
        named["prepared"] = os.path.abspath(folder / named["prepared"])
    for data, name in _each_corpus(table):
        value = data[name]
        if isinstance(value, str):
            data[name] = os.path.abspath(folder / value)
        elif isinstance(value, dict):
            files = cast("Table", value)
            for key in ("source", "target", "file", "text", "images"):
                if isinstance(files.get(key), str):
                    files[key] = os.path.abspath(folder / files[key])
            # A data set without a folder of its name is fetched by that name.
            if isinstance(files.get("dataset"), str) and (folder / files["dataset"]).is_dir():
                files["dataset"] = os.path.abspath(folder / files["dataset"])


def _anchor_tokenizers(table: Table, folder: Path) -> None:
    """Make paths of existing tokenizers start from ``folder``, as those of the corpora do."""
    tokenizer = table.get("tokenizer")
    while isinstance(tokenizer, dict):
        chosen = cast("Table", tokenizer)
        if isinstance(chosen.get("file"), str):
            chosen["file"] = os.path.abspath(folder / chosen["file"])
        tokenizer = chosen.get("target")


def _each_corpus(table: Table) -> list[tuple[Any, Any]]:  # Any: not yet validated
    """Give where each corpus stands: a table or list, and its key or place in it."""
    data = table.get("data")
    if not isinstance(data, dict):
        return []
    data = cast("Table", data)
    found: list[tuple[Any, Any]] = []
    for name in CORPORA:
        value = data.get(name)
        parts = cast("Table", value).get("parts") if isinstance(value, dict) else value
        if isinstance(parts, list):
            found += [(parts, place) for place in range(len(cast("list[Any]", parts)))]
        if value is not None and not isinstance(value, list):
            found.append((data, name))
    return found
