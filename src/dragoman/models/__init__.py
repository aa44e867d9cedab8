"""The architectures: records of every choice, and the one place that turns them into modules."""

from dragoman.models.build import build_model, initialize
from dragoman.models.config import PRESETS, Learned, ModelConfig, Sinusoidal

__all__ = ["PRESETS", "Learned", "ModelConfig", "Sinusoidal", "build_model", "initialize"]
