"""Layers compiled by ``torch.compile``, where a compiler exists and the user asks for it."""

import shutil

import torch
from torch import nn

from dragoman.errors import ConfigError
from dragoman.nn import DecoderLayer, EncoderLayer


def compile_layers(model: nn.Module, device: torch.device) -> int:
    """Compile every encoder and decoder layer for sentences of any length; the first updates wait.

    The numbers are those of the layers as they are, up to rounding. Names of weights stay.

    Args:
        model: is changed in place.
        device: where it computes.

    Returns:
        How many layers; 0 for models of other parts, which stay as they are.

    Raises:
        ConfigError: there is no compiler for the device.
    """
    if device.type == "cpu" and not any(map(shutil.which, ("c++", "g++", "clang++", "cl"))):
        problem = "needs a C++ compiler, and there is none on the path"
        raise ConfigError("training.compile", problem, "install g++ or clang++, or leave it off")
    layers = [part for part in model.modules() if isinstance(part, EncoderLayer | DecoderLayer)]
    for layer in layers:
        layer.compile(dynamic=True)  # pyright: ignore[reportUnknownMemberType]  # torch's stub
    return len(layers)
