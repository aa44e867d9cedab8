"""This machine: what was measured on it before, and by what name it is known."""

import json
import os
import platform
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch

from dragoman.atomic import write_text


def cache_file(name: str) -> Path:
    """Say where measurements are kept: in ``$XDG_CACHE_HOME``, ``~/.cache``, or aside."""
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(given) if given else Path.home() / ".cache"
    except RuntimeError:  # nobody has a home here
        home = Path(tempfile.gettempdir())
    return home / "dragoman" / name


def measured(file: Path) -> dict[str, Any]:  # Any: as JSON holds it
    """Read what was measured before; nothing where the file is missing or damaged."""
    try:
        known = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", known) if isinstance(known, dict) else {}


def remember(file: Path, known: Mapping[str, Any]) -> None:
    """Keep measurements, if this machine can."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps(known, indent=1) + "\n")
    except OSError:
        pass  # a machine that cannot remember measures again


def machine_name(device: torch.device) -> str:
    """Name what speed depends on: a GPU's name, or the host and what its processor can."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    where = f"{platform.node()}, {torch.backends.cpu.get_cpu_capability()}"
    return f"{where}, {torch.get_num_threads()} threads"
