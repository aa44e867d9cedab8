"""A model as a session: sources encoded once, one step of the decoder after the other."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from dragoman.models import SequenceToSequence
from dragoman.nn import CausalLM


class Cache(Protocol):
    """What a model keeps between two steps: of hypotheses (rows), and of their sources."""

    @property
    def memory_visible(self) -> Tensor:
        """Which source positions are real, boolean, (sources, 1, 1, S)."""
        ...

    def select(self, rows: Tensor | None, sources: Tensor | None) -> Self:
        """Keep some of both; None keeps all as they are."""
        ...


@dataclass(frozen=True, slots=True)
class ModelSession:
    """Sources being decoded by a model; see ``Session``.

    Args:
        model: in evaluation mode.
        cache: what it keeps of the sources and of what was fed so far.
    """

    model: SequenceToSequence | CausalLM
    cache: Cache

    @classmethod
    def start(cls, model: SequenceToSequence, source: Tensor) -> "ModelSession":
        """Encode source ids (S, L), once."""
        memory: Any = model.encode(source)  # Any: each model has its own kind
        return cls(model, model.start(memory))

    @property
    def sentences(self) -> int:
        """How many sentences S are being decoded."""
        return self.cache.memory_visible.size(0)

    @property
    def device(self) -> torch.device:
        """Where ids and indices are expected."""
        return self.cache.memory_visible.device

    def step(self, ids: Tensor) -> tuple[Tensor, "ModelSession"]:
        """Feed ids (R,), get log-probabilities (R, V) in float32 and the session after."""
        kept: Any = self.cache  # Any: the model's own kind
        logits, cache = self.model.step(ids[:, None], kept)
        return logits[:, 0].float().log_softmax(-1), ModelSession(self.model, cache)

    def select(self, rows: Tensor, sentences: Tensor | None) -> "ModelSession":
        """Keep rows and sentences."""
        return ModelSession(self.model, self.cache.select(rows, sentences))
