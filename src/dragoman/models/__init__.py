"""The architectures: records of every choice, and the one place that turns them into modules."""

from dragoman.models.build import (
    AnyConfig,
    Model,
    ModelChoice,
    SequenceToSequence,
    build_model,
    read_config,
)
from dragoman.models.choices import (
    T5,
    Additive,
    Alibi,
    Images,
    Learned,
    Linear,
    Local,
    NoPositions,
    Positions,
    Rotary,
    Shaw,
    Sinusoidal,
    Softmax,
    Sparse,
)
from dragoman.models.config import ModelConfig
from dragoman.models.convolutional import ConvolutionalConfig
from dragoman.models.impossible import nearest_divisors
from dragoman.models.initialize import initialize
from dragoman.models.presets import PRESETS
from dragoman.models.recurrent import RecurrentConfig

__all__ = [
    "PRESETS",
    "T5",
    "Additive",
    "Alibi",
    "AnyConfig",
    "ConvolutionalConfig",
    "Images",
    "Learned",
    "Linear",
    "Local",
    "Model",
    "ModelChoice",
    "ModelConfig",
    "NoPositions",
    "Positions",
    "RecurrentConfig",
    "Rotary",
    "SequenceToSequence",
    "Shaw",
    "Sinusoidal",
    "Softmax",
    "Sparse",
    "build_model",
    "initialize",
    "nearest_divisors",
    "read_config",
]
