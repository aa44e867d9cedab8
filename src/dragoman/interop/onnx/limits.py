"""What is not written as ONNX, by name, before anything is written."""

from dragoman.errors import Mistake
from dragoman.models import AnyConfig, ModelConfig


def beyond_onnx(config: AnyConfig) -> list[Mistake]:
    """List every choice that has no form there: a Transformer has one for each of its own."""
    if isinstance(config, ModelConfig):
        return []
    problem = f"a {config.architecture} model is not written as ONNX"
    return [Mistake("architecture", problem, "only Transformers are: translate with Dragoman")]
