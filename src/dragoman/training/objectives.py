"""What a batch costs: the summed loss of each kind of model, in nats.

Each sums over the real targets of its batch, so that accumulation over several batches can divide
by the count of the whole update. Shapes: B examples, S source and T target positions, D model
width, C classes.
"""

from collections.abc import Callable
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from dragoman.data import Batch, ClassBatch, ImageBatch, MaskedBatch, StreamBatch
from dragoman.models import SequenceToSequence
from dragoman.nn import CausalLM, EncoderOnly, Generator, PieceHead
from dragoman.training.loss import projected_cross_entropy


class Counted(Protocol):
    """A batch that knows how many real targets it has."""

    @property
    def target_tokens(self) -> int:
        """Real targets, padding not counted."""
        ...


Objective = Callable[[Counted], Tensor]


def translation_loss(model: SequenceToSequence, batch: Batch, *, smoothing: float) -> Tensor:
    """Sum the surprise at the pieces of the targets (section 5.4)."""
    device = model.generator.table.device
    memory: Any = model.encode(_on(batch.source, device))  # Any: each model has its own kind
    hidden = model.decode(_on(batch.target_in, device), memory)
    return piece_loss(
        model.generator, hidden, _on(batch.target_out, device), model.padding, smoothing=smoothing
    )


def language_loss(model: CausalLM, batch: StreamBatch, *, smoothing: float) -> Tensor:
    """Sum the surprise at every next piece of running text."""
    device = model.generator.table.device
    hidden = model.hidden(_on(batch.inputs, device))
    return piece_loss(
        model.generator, hidden, _on(batch.targets, device), model.padding, smoothing=smoothing
    )


def masked_loss(model: EncoderOnly, batch: MaskedBatch, *, smoothing: float) -> Tensor:
    """Sum the surprise at the pieces that were masked (arXiv 1810.04805, section 3.1)."""
    assert isinstance(model.head, PieceHead)
    table = model.head.generator.table
    targets = _on(batch.targets, table.device)
    masked = targets != model.padding  # only these go through the head
    hidden = model.head.transform(model.hidden(_on(batch.inputs, table.device))[masked])
    return _projected(model.head.generator, hidden, targets[masked], smoothing)


def class_loss(model: EncoderOnly, batch: ClassBatch | ImageBatch, *, smoothing: float) -> Tensor:
    """Sum the surprise at the classes, of sequences (B,) or positions (B, S); -1 is none."""
    device = next(model.parameters()).device
    logits = model(_on(batch.inputs, device))
    return F.cross_entropy(
        logits.flatten(0, -2).to(torch.promote_types(logits.dtype, torch.float32)),
        _on(batch.classes, device).flatten(),
        ignore_index=-1,
        label_smoothing=smoothing,
        reduction="sum",
    )


def piece_loss(
    generator: Generator, hidden: Tensor, targets: Tensor, padding: int, *, smoothing: float
) -> Tensor:
    """Sum the surprise at pieces: the costly product only where a target is.

    Args:
        generator: vectors to logits.
        hidden: (B, T, D).
        targets: piece ids, (B, T); those equal to ``padding`` do not count.
        padding: id of the padding piece.
        smoothing: share of each label spread over all pieces.
    """
    real = targets != padding
    return _projected(generator, hidden[real], targets[real], smoothing)


def _projected(generator: Generator, hidden: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    hidden, table = generator.project(hidden), generator.table
    if generator.bias is not None:  # one more feature that is always 1
        hidden = torch.cat((hidden, hidden.new_ones(hidden.size(0), 1)), dim=1)
        table = torch.cat((table, generator.bias[:, None]), dim=1)
    return projected_cross_entropy(hidden, table, targets, smoothing=smoothing)


def _on(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy to where the model computes; from pinned memory, without waiting for it."""
    return tensor.to(device, non_blocking=True)
