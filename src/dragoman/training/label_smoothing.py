"""Forms of label smoothing beside each other, to compare; training uses ``loss.py`` (section 5.4).

Section 5.4 names a share ε of 0.1 and cites Szegedy et al. 2015 (arXiv 1512.00567), who spread it
over all V pieces: ``uniform``. Other programs spread it over all but the right piece (``others``),
or over those without padding (``others_nopad``), and some report the divergence from the smoothed
labels, which is lower by their entropy and has the same gradient.

Shapes: any leading shape, V vocabulary size.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

SmoothingForm = Literal["uniform", "others", "others_nopad"]


def smoothed_labels(
    targets: Tensor,
    pieces: int,
    *,
    smoothing: float,
    padding: int,
    form: SmoothingForm = "uniform",
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Spread a share of each label over other pieces.

    Args:
        targets: piece ids, (...).
        pieces: vocabulary size V.
        smoothing: share ε in [0, 1].
        padding: id of the padding piece.
        form: who gets the share. ``uniform``: ε / V for every piece, the right one included;
            ``others``: ε / (V - 1) for all but the right one; ``others_nopad``: ε / (V - 2) for
            all but the right one and padding.
        dtype: of the result.

    Returns:
        (..., V), each row a distribution; zeros where the target is padding.

    Raises:
        ValueError: the vocabulary has nobody to give the share to.
    """
    takers = {"uniform": pieces, "others": pieces - 1, "others_nopad": pieces - 2}[form]
    if takers < 1:
        raise ValueError(f"pieces: a vocabulary of {pieces} is too small for the form {form!r}")
    right = F.one_hot(targets, pieces).bool()
    labels = torch.full(right.shape, smoothing / takers, dtype=dtype, device=targets.device)
    if form == "others_nopad":
        labels[..., padding] = 0.0
    shared = smoothing / takers if form == "uniform" else 0.0
    labels = labels.masked_fill(right, 1 - smoothing + shared)
    return labels.masked_fill((targets == padding)[..., None], 0.0)


def label_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Say how surprised a model is by a distribution of labels: -Σ labels log p.

    It runs in float32 at least. A piece without a label costs nothing, even at probability 0.

    Args:
        logits: unnormalised scores, (..., V).
        labels: shares, (..., V).

    Returns:
        Nats per target, (...); 0 where all labels are 0.
    """
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    log_probs = wide.log_softmax(-1).masked_fill(labels == 0, 0.0)  # 0 * -inf would be NaN
    return -(labels * log_probs).sum(-1)


def label_divergence(logits: Tensor, labels: Tensor) -> Tensor:
    """Say how far a model is from the labels: the cross-entropy less the entropy of the labels.

    The Kullback-Leibler divergence Σ labels log (labels / p); 0 when the model gives the labels.

    Args:
        logits: unnormalised scores, (..., V).
        labels: shares, (..., V).

    Returns:
        Nats per target, (...); 0 where all labels are 0.
    """
    return label_cross_entropy(logits, labels) + torch.xlogy(labels, labels).sum(-1)


def mean_over_targets(losses: Tensor, targets: Tensor, *, padding: int) -> Tensor:
    """Average losses over the targets that are not padding.

    Args:
        losses: nats, (...).
        targets: piece ids, (...).
        padding: id of the padding piece.

    Returns:
        A scalar in nats per counted target.

    Raises:
        ValueError: every target is padding, so there is nothing to average.
    """
    counted = losses[targets != padding]
    if counted.numel() == 0:
        raise ValueError("targets: all are padding, there is nothing to average")
    return counted.mean()
