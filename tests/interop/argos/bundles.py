"""A bundle that writes text, and its package."""

from pathlib import Path
from typing import Any

import torch

from dragoman.bundle import Bundle
from dragoman.interop.argos import write_argos
from tests.interop.models import SPECIAL, random_bundle


def writing_bundle(choices: dict[str, Any] | None = None, *, joint: bool = True) -> Bundle:
    """Draw a model that writes neither control symbols nor single bytes, which make no text."""
    bundle = random_bundle({**(choices or {}), "output_bias": True}, joint=joint)
    names = bundle.target_tokenizer.names()
    unwritten = {SPECIAL.padding, SPECIAL.start, SPECIAL.unknown}
    unwritten |= {number for number, name in enumerate(names) if name.startswith("<0x")}
    weights = dict(bundle.model.named_parameters())
    with torch.no_grad():
        weights["generator.bias"][sorted(unwritten)] = -1e4
    return bundle


def package(folder: Path, bundle: Bundle, **options: Any) -> Path:
    """Write the package of a bundle."""
    path = folder / "de_en.argosmodel"
    write_argos(path, bundle, source_language="de", target_language="en", **options)
    return path
