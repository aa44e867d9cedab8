"""Model files written as each version of the format was, by its description and not by our code."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.interop.ctranslate2 import read_binary

PRETRAINED = Path(__file__).parents[4] / "shared/data/pretrained"
TYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")

Arrays = Mapping[str, "np.ndarray[Any, Any]"]


def text(string: str) -> bytes:
    data = string.encode()
    return struct.pack("<H", len(data) + 1) + data + b"\0"


def variable(name: str, array: "np.ndarray[Any, Any]", version: int, kind: str = "") -> bytes:
    head = text(name) + struct.pack("<B", array.ndim)
    head += b"".join(struct.pack("<I", size) for size in array.shape)
    if version < 4:
        head += struct.pack("<BI", array.itemsize, array.size)
    else:
        head += struct.pack("<BI", TYPES.index(kind or array.dtype.name), array.nbytes)
    return head + array.tobytes()


def binary(
    arrays: Arrays,
    *,
    version: int = 6,
    specification: str = "TransformerSpec",
    revision: int = 7,
    aliases: Sequence[tuple[str, str]] = (),
) -> bytes:
    """Lay out a whole file."""
    parts = [struct.pack("<I", version)]
    if version > 1:
        parts += [text(specification), struct.pack("<I", revision)]
    parts.append(struct.pack("<I", len(arrays)))
    parts += [variable(name, array, version) for name, array in arrays.items()]
    if version > 2:
        parts.append(struct.pack("<I", len(aliases)))
        parts += [text(alias) + text(name) for alias, name in aliases]
    return b"".join(parts)


def change(folder: Path, **entries: Any) -> None:
    """Set entries of a folder's config.json; None takes one out."""
    path = folder / "config.json"
    table = {**json.loads(path.read_text()), **entries}
    path.write_text(json.dumps({key: value for key, value in table.items() if value is not None}))


def rewrite(folder: Path, arrays: Arrays, *, drop: Sequence[str] = (), **options: Any) -> None:
    """Write a folder's model file again, with other variables; ``options`` are of ``binary``."""
    path = folder / "model.bin"
    before = read_binary(path)
    kept = {name: each.items() for name, each in before.variables.items() if name not in drop}
    choices: dict[str, Any] = {
        "specification": before.specification,
        "revision": before.revision,
        "aliases": [each for each in before.aliases.items() if each[0] not in drop],
    }
    path.write_bytes(binary({**kept, **arrays}, **{**choices, **options}))


def forget(folder: Path) -> None:
    """Take out what only we write, so that the folder is like one of another program."""
    change(folder, dragoman=None)
    for path in folder.glob("*tokenizer.json"):
        path.unlink()


def number(value: float) -> "np.ndarray[Any, Any]":
    """Make a scalar as the library keeps it: flags in a byte, others wider."""
    kind = np.float32 if isinstance(value, float) else np.int8 if value in (0, 1) else np.int16
    return np.array(value, dtype=kind)
