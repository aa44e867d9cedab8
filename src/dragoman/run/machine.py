"""What was measured on this machine before, so that equal recipes compute alike on it."""

import json
import os
import platform
import tempfile
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from dragoman.atomic import write_text
from dragoman.configfile import read_record, write_record
from dragoman.errors import ConfigError
from dragoman.nn import MultiHeadAttention
from dragoman.training import (
    MOST_ROWS,
    Kernels,
    TrainingConfig,
    choose_kernels,
    product_shapes,
)

WAY = 2  # of measuring; another one forgets what was found before


def machine_kernels(model: nn.Module, training: TrainingConfig, device: torch.device) -> Kernels:
    """Choose how to compute: as measured on this machine for such a model before, or measured now.

    Args:
        model: its widths matter.
        training: precision asked for, and whether anything may be measured at all.
        device: where the model computes.
    """
    if training.deterministic:
        return choose_kernels(model, training.precision, device, deterministic=True)
    tokens = 4_096 if training.batch_tokens == "auto" else training.batch_tokens
    file, key = cache_file(), _key(model, training, device, tokens)
    known = _read(file)
    try:
        return read_record(Kernels, known[key], file=str(file))
    except (KeyError, TypeError, ConfigError):
        kernels = choose_kernels(
            model, training.precision, device, deterministic=False, tokens=tokens
        )
    known[key] = write_record(kernels)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps(known, indent=1) + "\n")
    except OSError:
        pass  # a machine that cannot remember measures again
    return kernels


def cache_file() -> Path:
    """Say where measurements are kept: in ``$XDG_CACHE_HOME``, ``~/.cache``, or aside."""
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(given) if given else Path.home() / ".cache"
    except RuntimeError:  # nobody has a home here
        home = Path(tempfile.gettempdir())
    return home / "dragoman" / "kernels.json"


def _key(model: nn.Module, training: TrainingConfig, device: torch.device, tokens: int) -> str:
    """Name what the measurements depend on."""
    heads = [part for part in model.modules() if isinstance(part, MultiHeadAttention)]
    shape = f"{heads[0].heads}x{heads[0].d_k}x{heads[0].d_v}" if heads else "no heads"
    if device.type == "cuda":
        where = torch.cuda.get_device_name(device)
    else:
        where = f"{platform.node()}, {torch.backends.cpu.get_cpu_capability()}"
        where += f", {torch.get_num_threads()} threads"
    products = " ".join(f"{wide}x{narrow}" for wide, narrow in product_shapes(model))
    rows = min(tokens, MOST_ROWS).bit_length()  # to a power of two
    about = f"heads {shape}, products {products} with 2^{rows} rows"
    return f"way {WAY}, torch {torch.__version__}, {where}, {training.precision}, {about}"


def _read(file: Path) -> dict[str, Any]:  # Any: as JSON holds it
    try:
        known = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", known) if isinstance(known, dict) else {}
