"""Graphs of small random models, run by onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from dragoman.bundle import Bundle
from dragoman.data import pad_rows
from dragoman.interop.onnx import OnnxReader, OnnxTranslator, open_onnx, write_onnx
from dragoman.interop.onnx.session import Array, OnnxSession
from dragoman.models import AnyConfig, Model, build_model, read_config
from tests.interop.models import SIZES, SPECIAL, random_bundle, sources

TOLERANCE = 1e-4  # of the largest number


def assert_same(theirs: Array, ours: torch.Tensor) -> None:
    """Hold numbers of onnxruntime to ours, relative to their size."""
    assert theirs.shape == tuple(ours.shape)
    assert np.isfinite(theirs).all()
    off = np.abs(theirs - ours.numpy()).max() / np.abs(ours.numpy()).max()
    assert off < TOLERANCE


def padded_pairs() -> tuple[torch.Tensor, torch.Tensor]:
    """Give sources and targets of 1 to 12 pieces with their symbols, padded."""
    source = pad_rows([[*ids, SPECIAL.end] for ids in sources()], SPECIAL.padding)
    target = pad_rows([[SPECIAL.start, *ids] for ids in sources(seed=6)], SPECIAL.padding)
    return source, target


def translator(folder: Path, bundle: Bundle) -> OnnxTranslator:
    """Write and open an encoder-decoder."""
    write_onnx(folder, bundle)
    opened = open_onnx(folder, bundle, threads=1)
    assert isinstance(opened, OnnxTranslator)
    return opened


def reader(folder: Path, bundle: Bundle) -> OnnxReader:
    """Write and open a model of one stack."""
    write_onnx(folder, bundle)
    opened = open_onnx(folder, bundle, threads=1)
    assert isinstance(opened, OnnxReader)
    return opened


def one_stack(choices: dict[str, Any], **more: Any) -> Bundle:
    """Draw the weights of a model of one stack, or of one that reads images."""
    table = {**choices, **more}
    if "images" not in table:
        return random_bundle(table)
    config = read_config({**SIZES, **table})
    return Bundle(config, drawn(config), ())


def drawn(config: AnyConfig) -> Model:
    """Draw every weight large, so that no search hangs on rounding."""
    model = build_model(config).eval()
    rng = torch.Generator().manual_seed(3)
    for weight in model.parameters():
        weight.data.normal_(0.0, 0.25, generator=rng)
    return model


def fed_in_parts(session: OnnxSession, ids: torch.Tensor) -> Array:
    """Feed one, two, three, one ... pieces at a time; give the logits of all."""
    parts: list[Array] = []
    while (done := session.position) < ids.size(1):
        count = 1 + len(parts) % 3
        logits, session = session.feed(ids[:, done : done + count].numpy())
        parts.append(logits)
    return np.concatenate(parts, axis=1)
