"""How many numbers a model learns, part by part, without building it in memory."""

from dataclasses import dataclass, fields

import torch

from dragoman.models import AnyConfig, build_model


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterCount:
    """Learned numbers of each part; a table that serves several parts counts once.

    Args:
        embeddings: tables of pieces and segments, projections of patches: all that makes vectors.
        positions: tables of positions, added to embeddings or asked by attention.
        encoder: layers of the encoder, the norms inside them included.
        decoder: layers of the decoder.
        norms: those outside the layers, after the embeddings and after a stack.
        output: what only the output has: a table of its own, biases, the head of an encoder.
    """

    embeddings: int = 0
    positions: int = 0
    encoder: int = 0
    decoder: int = 0
    norms: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(getattr(self, part.name) for part in fields(self))


def count_parameters(config: AnyConfig) -> ParameterCount:
    """Count what ``build_model`` would make, on PyTorch's meta device, which stores nothing.

    Args:
        config: every choice; what only the data knows, such as ``vocabulary``, must be set.

    Raises:
        ConfigError: something that the data sets is not set.
    """
    with torch.device("meta"):
        model = build_model(config)
    counts = dict.fromkeys((part.name for part in fields(ParameterCount)), 0)
    for name, weight in model.named_parameters():  # each once, by the first of its names
        counts[_part(name.split("."))] += weight.numel()
    return ParameterCount(**counts)


def _part(path: list[str]) -> str:
    """Say to which part a parameter belongs, by where it hangs in the model."""
    if "positions" in path:
        return "positions"
    match path:
        case ["encoder" | "decoder", "final_norm", *_]:
            return "norms"
        case ["source_input" | "target_input" | "input", "norm", *_]:
            return "norms"
        case ["encoder" | "decoder" as stack, *_]:
            return stack
        case ["generator" | "head", *_]:
            return "output"
        case _:  # the rest of the inputs
            return "embeddings"
