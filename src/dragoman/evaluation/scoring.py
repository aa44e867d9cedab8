"""How surprised a model is by given targets: log-probabilities, loss and perplexity.

Shapes: B sentences, T target positions, V vocabulary size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dragoman.data import Frame, group_by_length, pad_rows
from dragoman.decoding import Ensemble
from dragoman.errors import ModelError
from dragoman.models import SequenceToSequence
from dragoman.tokenization import SpecialIds


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
    special: SpecialIds | Frame,
    *,
    batch_tokens: int = 4096,
) -> list[TargetScore]:
    """Score given targets, piece by piece, by teacher forcing.

    Args:
        model: is run in evaluation mode.
        sources: bare piece ids.
        targets: bare piece ids, as many.
        special: ids that are never text, or how they stand around a source and before a target.
        batch_tokens: most slots in a batch; the result does not depend on it.

    Returns:
        One score per pair, in order.

    Raises:
        ModelError: a side is longer than the positions of the model.
    """
    model.eval()
    frame = Frame.of(special)
    _check_lengths(model, sources, targets, frame)
    device = next(model.parameters()).device
    lengths = [
        max(len(s) + frame.source_added, len(t) + frame.target_added)
        for s, t in zip(sources, targets, strict=True)
    ]
    scores: list[TargetScore | None] = [None] * len(lengths)
    for group in group_by_length(np.array(lengths), batch_tokens):
        rows = [int(row) for row in group]
        source = pad_rows([frame.source(sources[row]) for row in rows], model.padding)
        target_in = pad_rows([frame.target_in(targets[row]) for row in rows], model.padding)
        target_out = pad_rows([frame.target_out(targets[row]) for row in rows], model.padding)
        logits = model(source.to(device), target_in.to(device))
        found = target_log_probs(logits, target_out.to(device)).cpu().numpy()
        for row, log_probs in zip(rows, found, strict=True):
            real = log_probs[frame.target_added - 1 :][: len(targets[row]) + 1]
            scores[row] = TargetScore(tuple(float(value) for value in real))
    return [score for score in scores if score is not None]


def _check_lengths(
    model: SequenceToSequence | Ensemble,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    frame: Frame,
) -> None:
    for side, rows, added, limit in (
        ("source", sources, frame.source_added, model.max_source_length),
        ("target", targets, frame.target_added, model.max_target_length),
    ):
        for number, row in enumerate(rows, start=1):
            if limit is not None and len(row) + added > limit:
                raise ModelError(
                    f"{side} {number}: {len(row) + added} pieces with the end symbol, the model "
                    f"has {limit} positions; shorten it"
                )


def target_log_probs(logits: Tensor, targets: Tensor) -> Tensor:
    """Pick the log-probability of each target: logits (B, T, V), targets (B, T) to (B, T)."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return logits.gather(-1, targets[..., None]).squeeze(-1) - logits.logsumexp(-1)
