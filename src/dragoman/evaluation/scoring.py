"""How surprised a model is by given targets: log-probabilities, loss and perplexity.

Shapes: B sentences, T target positions, V vocabulary size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dragoman.data import group_by_length, pad_rows
from dragoman.decoding import Ensemble
from dragoman.errors import ModelError
from dragoman.models import SequenceToSequence


@dataclass(frozen=True, slots=True)
class TargetScore:
    """What a model says of one given target.

    Args:
        log_probs: natural logarithm of the probability of each piece, the end symbol last.
    """

    log_probs: tuple[float, ...]

    @property
    def log_prob(self) -> float:
        """Log-probability of the whole target: the chain rule's sum."""
        return math.fsum(self.log_probs)


def perplexity(loss_nats: float) -> float:
    """Turn a mean loss per piece into a perplexity, e^loss; infinite when it overflows."""
    try:
        return math.exp(loss_nats)
    except OverflowError:
        return math.inf


@torch.inference_mode()
def score_targets(
    model: SequenceToSequence | Ensemble,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    start: int,
    end: int,
    batch_tokens: int = 4096,
) -> list[TargetScore]:
    """Score given targets, piece by piece, by teacher forcing.

    Args:
        model: is run in evaluation mode.
        sources: bare piece ids.
        targets: bare piece ids, as many.
        start: id that begins a target.
        end: id that ends a source and a target.
        batch_tokens: most slots in a batch; the result does not depend on it.

    Returns:
        One score per pair, in order.

    Raises:
        ModelError: a side is longer than the positions of the model.
    """
    model.eval()
    _check_lengths(model, sources, targets)
    device = next(model.parameters()).device
    lengths = [max(len(s), len(t)) + 1 for s, t in zip(sources, targets, strict=True)]
    scores: list[TargetScore | None] = [None] * len(lengths)
    for group in group_by_length(np.array(lengths), batch_tokens):
        rows = [int(row) for row in group]
        source = pad_rows([[*sources[row], end] for row in rows], model.padding).to(device)
        target_in = pad_rows([[start, *targets[row]] for row in rows], model.padding).to(device)
        target_out = pad_rows([[*targets[row], end] for row in rows], model.padding).to(device)
        found = target_log_probs(model(source, target_in), target_out).cpu().numpy()
        for row, log_probs in zip(rows, found, strict=True):
            real = log_probs[: len(targets[row]) + 1]
            scores[row] = TargetScore(tuple(float(value) for value in real))
    return [score for score in scores if score is not None]


def _check_lengths(
    model: SequenceToSequence | Ensemble,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
) -> None:
    for side, rows, limit in (
        ("source", sources, model.max_source_length),
        ("target", targets, model.max_target_length),
    ):
        for number, row in enumerate(rows, start=1):
            if limit is not None and len(row) + 1 > limit:
                raise ModelError(
                    f"{side} {number}: {len(row) + 1} pieces with the end symbol, the model has "
                    f"{limit} positions; shorten it"
                )


def target_log_probs(logits: Tensor, targets: Tensor) -> Tensor:
    """Pick the log-probability of each target: logits (B, T, V), targets (B, T) to (B, T)."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return logits.gather(-1, targets[..., None]).squeeze(-1) - logits.logsumexp(-1)
