"""``config.json`` of an ONNX folder: all that a program needs to know to use the graphs.

```
format, version   that this is such a folder
quantization      how matrices and tables are kept
dragoman          every choice of the model, the table [model]
special_ids       ids of the symbols; languages: ids that ask for one, in front of a source
vocabularies      of each side the file, how many pieces there are, and which no text gives
frame             ids around a source and before a target
never_written     ids that no translation holds
longest           most pieces of a source and a target, symbols included; null is no limit
graphs            of each its file, inputs and outputs: kind, shape, meaning
files             SHA-256 of each file
weights           SHA-256 of the weights that it was written from
```
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any, Literal, cast

from dragoman.bundle import Bundle, library_versions
from dragoman.configfile import Table, write_record
from dragoman.errors import ModelError
from dragoman.interop.ctranslate2 import weights_digest
from dragoman.interop.onnx.graph import OPSET, Graph, Port
from dragoman.nn import CausalLM, EncoderDecoder, EncoderOnly
from dragoman.tokenization import ImportedTokenizer, SpecialIds

Quantization = Literal["float32", "int8"]
FORMAT, VERSION = "dragoman-onnx", 1
CONFIG = "config.json"
_SIZES = {
    "sources": "sources read together",
    "source_length": "pieces of the longest source, its symbols included",
    "rows": "hypotheses: as many for each source, those of one source side by side",
    "new": "pieces fed at once, 1 or more",
    "past": "pieces fed before, 0 at the start",
    "present": "past and new together; fewer where attention forgets what is far away",
    "texts": "texts or images read together",
    "length": "pieces of the longest text, its symbols included",
}


def describe(
    bundle: Bundle, quantization: Quantization, graphs: Mapping[str, Graph], folder: Path
) -> Table:
    """Say what lies in ``folder``."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    described: Table = {
        "format": FORMAT,
        "version": VERSION,
        "opset": OPSET,
        "architecture": bundle.config.architecture,
        "quantization": quantization,
        "dragoman": write_record(bundle.config),
    }
    if bundle.tokenizers:
        special = bundle.target_tokenizer.special
        described |= {
            "special_ids": asdict(special),
            "languages": dict(bundle.source_tokenizer.languages),
            "vocabularies": _vocabularies(bundle),
            "frame": frame(bundle),
            "never_written": [*bundle.frame.never_written],
        }
    return {
        **described,
        "longest": _longest(bundle),
        "sizes": {name: _SIZES[name] for name in _sizes_in(graphs)},
        "graphs": {name: _graph(name, graph) for name, graph in graphs.items()},
        "files": {file.name: digest(file) for file in files},
        "weights": weights_digest(bundle.model),
        "versions": library_versions(),
    }


def frame(bundle: Bundle) -> dict[str, list[int]]:
    """Give the ids before and after a source, or a text alone, and those before a target."""
    special = bundle.target_tokenizer.special
    match bundle.model:
        case CausalLM():
            return {"target_before": [special.start]}
        case EncoderOnly():
            return {"source_before": [special.start], "source_after": [special.end]}
        case _:
            framed = bundle.frame
            return {
                "source_before": [*framed.source_before],
                "source_after": [*framed.source_after],
                "target_before": [*framed.target_before],
            }


def _vocabularies(bundle: Bundle) -> dict[str, Table]:
    """Say of each side which file cuts its text, and which ids no text gives."""
    joint = len(bundle.tokenizers) == 1
    sides = {"source": bundle.source_tokenizer, "target": bundle.target_tokenizer}
    return {
        side: {
            "file": "tokenizer.json" if joint else f"{side}.tokenizer.json",
            "pieces": each.size,
            "controls": sorted(each.controls.values())
            if isinstance(each, ImportedTokenizer)
            else sorted({*astuple(each.special), *each.languages.values()}),
            "unknown": _unknown(each.special),
        }
        for side, each in sides.items()
    }


def _unknown(special: SpecialIds) -> int | None:
    """Give the id of what has no piece; None where it is another symbol, and nothing is written."""
    others = (special.padding, special.start, special.end)
    return None if special.unknown in others else special.unknown


def read_description(folder: Path) -> Table:
    """Read ``config.json`` and see that every file is the one that was written.

    Raises:
        ModelError: it is missing, damaged or of another kind; a file is missing, or has changed.
    """
    path = folder / CONFIG
    try:
        described = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ModelError(f"{folder}: holds no ONNX model (no {CONFIG})") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from None
    if not isinstance(described, dict) or cast("Table", described).get("format") != FORMAT:
        raise ModelError(f"{path}: is not of a folder that Dragoman wrote for ONNX")
    table = cast("Table", described)
    if table.get("version") != VERSION:
        found = table.get("version")
        raise ModelError(f"{path}: version {found!r}, this release reads {VERSION}; export again")
    files = table.get("files")
    if not isinstance(files, dict) or not files:
        raise ModelError(f"{path}: files: is no table")
    for name, expected in cast("dict[str, Any]", files).items():
        if not re.fullmatch(r"[A-Za-z_]+(\.[A-Za-z_]+)+", name):
            raise ModelError(f"{path}: files: {name!r} is no name of a file of such a folder")
        try:
            found = digest(folder / name)
        except OSError as error:
            raise ModelError(f"{folder / name}: cannot be read: {error.strerror}") from None
        if found != expected:
            raise ModelError(f"{folder / name}: is not the file that was written; export again")
    return table


def digest(file: Path) -> str:
    """Give the SHA-256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _longest(bundle: Bundle) -> dict[str, int | None]:
    match bundle.model:
        case EncoderDecoder() as model:
            return {"source": model.max_source_length, "target": model.max_target_length}
        case CausalLM() as model:
            return {"target": model.max_length}
        case EncoderOnly() as model:
            return {"source": model.max_length}
        case _:
            return {}


def _sizes_in(graphs: Mapping[str, Graph]) -> list[str]:
    ports = [port for graph in graphs.values() for port in (*graph.inputs, *graph.outputs)]
    return list(dict.fromkeys(size for port in ports for size in port.shape if size in _SIZES))


def _graph(name: str, graph: Graph) -> Table:
    return {
        "file": f"{name}.onnx",
        "inputs": {port.name: _port(port) for port in graph.inputs},
        "outputs": {port.name: _port(port) for port in graph.outputs},
    }


def _port(port: Port) -> Table:
    return {"kind": port.kind, "shape": list(port.shape), "meaning": port.meaning}
