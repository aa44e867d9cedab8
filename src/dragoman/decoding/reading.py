"""One text as a model reads it: several pieces at a time, and back to an earlier place.

This is all that speculative decoding needs to know of a model. A reading is a value that is used
once: ``read`` and ``cut`` return the next one, which may take over the memory of the last.

Shapes: N pieces read, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor

from dragoman.data import pad_rows
from dragoman.decoding.ensemble import Ensemble
from dragoman.errors import ModelError
from dragoman.models import Model
from dragoman.nn import CausalLM, DecoderCache, EncoderDecoder, MultiHeadAttention

# How far log-probabilities of pieces read together may lie from those of pieces read one by one,
# with room: matrix products add up in another order. Most seen of a trained model: 1.3e-5.
_ROUNDING = {torch.float64: 1e-6, torch.float32: 1e-4}  # they are given in float32


class Reading(Protocol):
    """A text that a model has read so far."""

    @property
    def rounding(self) -> float:
        """Two log-probabilities closer than this may change places when pieces are read singly."""
        ...

    @property
    def device(self) -> torch.device:
        """Where log-probabilities lie."""
        ...

    @property
    def most(self) -> int | None:
        """Most pieces that can be read, the start symbol included; None is no limit."""
        ...

    def read(self, ids: Sequence[int]) -> tuple[Tensor, Self]:
        """Read at least one piece more.

        Returns:
            Log-probabilities (natural, float32 or float64) of what follows each of ``ids``, (N, V),
            which the caller may overwrite; and the reading after them.
        """
        ...

    def cut(self, length: int) -> Self:
        """Forget all but the first ``length`` pieces that were read."""
        ...


class Reader(Protocol):
    """A model that can read several pieces at once and go back, whatever computes it."""

    @property
    def model(self) -> EncoderDecoder | CausalLM:
        """In evaluation mode; tells how much can be read."""
        ...

    def begin(self, source: Sequence[int], opening: Sequence[int]) -> Reading:
        """Begin a text.

        Args:
            source: what is translated, its end symbol included; empty for a model without one.
            opening: what stands before the first piece written: the start symbol, and then a
                prompt. All but its last piece are read.
        """
        ...


@dataclass(frozen=True, slots=True)
class ModelReading:
    """A text being read by a decoder with keys and values of every position; see ``Reading``.

    Args:
        model: in evaluation mode.
        cache: of one text.
    """

    model: EncoderDecoder | CausalLM
    cache: DecoderCache

    @property
    def rounding(self) -> float:
        """None is known in half precision, where near pieces change places all the time."""
        return _ROUNDING.get(self.model.generator.table.dtype, 0.0)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self.cache.memory_visible.device

    @property
    def most(self) -> int | None:
        """The positions learned."""
        if isinstance(self.model, CausalLM):
            return self.model.max_length
        return self.model.max_target_length

    def read(self, ids: Sequence[int]) -> "tuple[Tensor, ModelReading]":
        """Run the decoder once over all of them."""
        new = torch.tensor([ids], device=self.device)
        logits, cache = self.model.step(new, self.cache)
        return logits[0].float().log_softmax(-1), ModelReading(self.model, cache)

    def cut(self, length: int) -> "ModelReading":
        """Forget later keys and values."""
        if length == self.cache.length:
            return self
        return ModelReading(self.model, self.cache.cut(length))


@dataclass(frozen=True, slots=True)
class TorchReader:
    """A model's own modules, on any device; see ``Reader``.

    Args:
        model: in evaluation mode; one that passes ``check_reading``.
    """

    model: EncoderDecoder | CausalLM

    @torch.inference_mode()
    def begin(self, source: Sequence[int], opening: Sequence[int]) -> ModelReading:
        """Encode the source, once, or read the prompt; what follows a prompt is not computed."""
        model, read = self.model, list(opening[:-1])
        if isinstance(model, CausalLM):
            cache = model.start(1)
            if read:
                ids = torch.tensor([read], device=model.generator.table.device)
                _, cache = model.decoder.step(model.input(ids), cache)
            return ModelReading(model, cache)
        ids = pad_rows([list(source)], model.padding).to(model.generator.table.device)
        reading = ModelReading(model, model.start(model.encode(ids)))
        return reading.read(read)[1] if read else reading


def check_reading(model: Model | Ensemble, role: str) -> EncoderDecoder | CausalLM:
    """See that a model can go back to an earlier place.

    Args:
        model: of any architecture.
        role: what the message calls it.

    Raises:
        ModelError: it keeps no keys and values of each position, or forgets some.
    """
    if not isinstance(model, EncoderDecoder | CausalLM):
        one = "an ensemble" if isinstance(model, Ensemble) else f"a {type(model).__name__}"
        raise ModelError(f"{role}: {one} cannot go back to an earlier piece; use one Transformer")
    for layer in model.decoder.layers:
        attention = layer.attention
        if not isinstance(attention, MultiHeadAttention):
            raise ModelError(
                f"{role}: {type(attention).__name__} keeps sums that cannot be taken apart to go "
                "back to an earlier piece; use a model with softmax attention"
            )
        if attention.pattern is not None and attention.pattern.window is not None:
            raise ModelError(
                f"{role}: local attention forgets pieces that going back to an earlier one needs; "
                "use a model with full attention"
            )
    return model
