"""A file that ``torch.save`` wrote, read so that nothing in it can run.

Such a file is a pickle beside raw numbers. Only tensors, numbers, strings, lists, dicts and
``argparse.Namespace`` are taken from it, by the restricted reader of PyTorch; anything else is
refused by name. Where a few kinds of notes on training stand, nothing is put in their place.
"""

import argparse
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from dragoman.errors import ModelError

Content = dict[str, Any]  # Any: what a checkpoint holds is known only after looking
# What fairseq noted of its speed and losses until 0.9, in files that hold plain tensors otherwise.
_NOTES = tuple(f"fairseq.meters.{kind}Meter" for kind in ("Average", "Time", "Stopwatch"))
_REFUSED = re.compile(r"GLOBAL ([\w.]+)")
_RESAVE = "load it where you trust it, and save only its tensors and plain settings by torch.save"


class _Nothing:
    """Stands where a note on training stood; takes what it was made of, and keeps nothing."""

    def __init__(self, *_: object) -> None: ...

    def __setstate__(self, _: object) -> None: ...


_ALLOWED: list[Any] = [argparse.Namespace, *((_Nothing, name) for name in _NOTES)]


def read_torch_file(path: Path, *, advice: Mapping[str, str] | None = None) -> Content:
    """Read a dict of plain values and tensors, on the CPU.

    Args:
        path: of the file, zipped as today or as before PyTorch 1.6.
        advice: what to do where it holds objects of a package, by the name of the package.

    Raises:
        ModelError: it is missing or damaged, claims more than it holds, or holds anything that
            could run code.
    """
    _check_archive(path)
    try:
        with torch.serialization.safe_globals(_ALLOWED), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about pickles it may not know: it then refuses them
            found: object = torch.load(path, map_location="cpu", weights_only=True, mmap=False)
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise ModelError(f"{path}: is a folder; name the file in it") from None
    except Exception as error:  # the library lets through what its parts raise
        raise ModelError(f"{path}: {_explain(str(error), advice or {})}") from None
    if not isinstance(found, dict):
        raise ModelError(f"{path}: holds one {type(found).__name__}, not a dict of names")
    content = cast("Content", found)
    odd = next((key for key in content if type(key) is not str), None)
    if odd is not None:
        raise ModelError(f"{path}: holds something under {odd!r}, which is no name")
    return content


def plain_tensors(found: object, path: Path) -> dict[str, Tensor]:
    """See that a state is tensors by name, each backed by as many numbers as it claims.

    Raises:
        ModelError: something else is among them.
    """
    if not isinstance(found, Mapping) or not found:
        raise ModelError(f"{path}: holds no weights by name")
    state = cast("Mapping[str, object]", found)
    for name, weight in state.items():
        if type(name) is not str or not isinstance(weight, Tensor):
            raise ModelError(
                f"{path}: {name}: is of the type {type(weight).__name__}, and no tensor"
            )
        held = weight.untyped_storage().nbytes() if weight.layout is torch.strided else 0
        if weight.numel() * weight.element_size() > held:
            raise ModelError(f"{path}: {name}: claims more numbers than the file holds")
    return cast("dict[str, Tensor]", dict(state))


def plain_settings(found: object) -> Content | None:
    """Give what a dict or an ``argparse.Namespace`` says; None for anything else."""
    if isinstance(found, argparse.Namespace):
        return dict(vars(found))
    return dict(cast("Content", found)) if type(found) is dict else None


def _check_archive(path: Path) -> None:
    """See that a zip archive holds its parts as they are, no more than the file has bytes."""
    if not zipfile.is_zipfile(path):
        return  # of an older PyTorch, which says its sizes tensor by tensor
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ModelError(f"{path}: is a damaged archive ({error})") from None
    if any(part.filename.endswith("constants.pkl") for part in parts):
        raise ModelError(f"{path}: is a TorchScript program; save its state_dict() instead")
    packed = any(part.compress_type != zipfile.ZIP_STORED for part in parts)
    if packed or sum(part.file_size for part in parts) > path.stat().st_size:
        raise ModelError(f"{path}: is packed tighter than torch.save does; save it again by that")


def _explain(message: str, advice: Mapping[str, str]) -> str:
    """Say what a failure of PyTorch's reader means; its own advice is to read unsafely."""
    refused = _REFUSED.search(message)
    if refused is not None:
        resave = advice.get(refused[1].partition(".")[0], _RESAVE)
        return f"holds {refused[1]}, and reading that could run code; {resave}"
    if "weights" in message.lower() and "only" in message.lower():
        return f"holds more than tensors and plain values, which could run code; {_RESAVE}"
    first = message.strip().splitlines()[0] if message.strip() else "no reason given"
    return f"is no checkpoint of PyTorch, or damaged ({first[:200]})"
