"""What training by a recipe will need, said before any of it is made.

Forward and backward of one full batch run on PyTorch's meta device, which knows sizes and stores
nothing; what would have been held at most is counted.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from dragoman.models import ModelConfig, SequenceToSequence, build_model
from dragoman.recipe.record import Recipe
from dragoman.training import (
    AdafactorConfig,
    Adam8bitConfig,
    peak_memory,
    readable,
    recompute_layers,
)

_WIDTH = 32  # pieces of a sentence; memory follows the slots, and hardly their shape
_CHUNK = 512  # targets whose logits exist at the same time
_ID = 2  # bytes of a piece on disk, with up to 65,536 pieces
_PLACE = 28  # bytes that say where both sides of a pair begin, its line and its batch


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingNeeds:
    """Bytes that training takes on its device; the corpus stays on disk and adds nothing.

    Args:
        parameters: number of weights.
        weights: all of them in float32, with the moving average if there is one.
        optimizer: what it remembers.
        batch: activations and gradients of one full batch at their peak.
        batch_tokens: slots in it.
    """

    parameters: int
    weights: int
    optimizer: int
    batch: int
    batch_tokens: int

    @property
    def total(self) -> int:
        """All of it, beside what Python and PyTorch take."""
        return self.weights + self.optimizer + self.batch

    def lines(self, *, pairs: int, characters: int) -> list[str]:
        """Say it for people.

        Args:
            pairs: in the training set.
            characters: of both its sides; text has no more pieces than that, bytes aside.
        """
        parts = f"weights {readable(self.weights)}, optimizer {readable(self.optimizer)}"
        return [
            f"training needs about {readable(self.total)} of memory in float32, beside Python and "
            f"PyTorch, however large the corpus: {parts}, a batch of {self.batch_tokens:,} tokens "
            f"{readable(self.batch)}",
            f"its ids take at most {readable(_ID * characters + _PLACE * pairs)} on disk",
        ]


def training_needs(recipe: Recipe) -> TrainingNeeds | None:
    """Foretell the memory of a training on parallel text in float32.

    Args:
        recipe: vocabularies are taken to be as large as its tokenizers may become.

    Returns:
        None for what is not foretold: other tasks, and a budget that is ``auto``, which fits itself
        to the memory.
    """
    config, training = recipe.model, recipe.training
    if not isinstance(config, ModelConfig) or config.architecture != "encoder-decoder":
        return None
    if config.images is not None or training.batch_tokens == "auto":
        return None
    with torch.device("meta"):
        model = build_model(_sized(config, recipe))
    assert isinstance(model, SequenceToSequence)
    if training.activation_checkpointing:
        recompute_layers(model)
    count = sum(weight.numel() for weight in model.parameters())
    return TrainingNeeds(
        parameters=count,
        weights=4 * count * (1 if training.ema is None else 2),
        optimizer=_moments(recipe, count),
        batch=_peak(model, training.batch_tokens),
        batch_tokens=training.batch_tokens,
    )


def _moments(recipe: Recipe, count: int) -> int:
    match recipe.training.optimizer:
        case AdafactorConfig():
            return 0  # a number a row and one a column
        case Adam8bitConfig():
            return 2 * count
        case _:
            return 8 * count


def _sized(config: ModelConfig, recipe: Recipe) -> ModelConfig:
    """Take vocabularies to be as large as the tokenizers may become."""
    if config.vocabulary is not None:
        return config
    own = recipe.tokenizer
    source = own.size
    other = own.target.size if own.target is not None else None
    return replace(
        config, vocabulary=source, target_vocabulary=None if own.shared else other or source
    )


def _peak(model: SequenceToSequence, tokens: int) -> int:
    """Count the bytes held at most in forward and backward of a batch without padding."""
    width = min(_WIDTH, tokens)
    ids = torch.zeros((tokens // width, width), dtype=torch.int64, device="meta")

    def work() -> None:
        memory: Any = model.encode(ids)  # Any: each model has its own kind
        hidden = model.generator.project(model.decode(ids, memory)).flatten(0, -2)
        slopes = _loss_slopes(hidden, model.generator.table)
        gradients = [slope * 1.0 for slope in slopes]
        hidden.backward(gradients[0])  # pyright: ignore[reportUnknownMemberType]  # torch's stub

    return peak_memory(work, ids.device)


def _loss_slopes(hidden: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
    """Hold what ``projected_cross_entropy`` does, whose values the meta device cannot have."""
    slopes = torch.empty_like(hidden), torch.empty_like(table)
    logits = hidden.new_empty(min(_CHUNK, len(hidden)), len(table))
    shares = torch.empty_like(logits)
    del logits, shares
    return slopes
