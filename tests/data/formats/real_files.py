"""Files as users hold them, beside the repository, with an independent reader's counts."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

from dragoman.errors import DataError

FOLDER = Path(__file__).parents[3].parent / "shared" / "data" / "formats"


def real_files(kind: str) -> list[dict[str, Any]]:
    """Give what the manifest says of each file of a folder; nothing where there are no files."""
    manifest = FOLDER / "manifest.json"
    if not manifest.exists():
        return []
    entries = json.loads(manifest.read_text("utf-8"))
    return [entry for entry in entries if entry["file"].startswith(f"{kind}/")]


def open_real(name: str) -> BinaryIO:
    """Open one, unpacked."""
    path = FOLDER / name
    return cast("BinaryIO", gzip.open(path) if path.suffix == ".gz" else path.open("rb"))


def place_of_fault(reading: Callable[[], object]) -> str:
    """Read, and say where it was refused: "" if it was not, "nowhere" if the error has no line."""
    try:
        reading()
    except DataError as error:
        return "nowhere" if error.line is None else f"line {error.line}"
    return ""
