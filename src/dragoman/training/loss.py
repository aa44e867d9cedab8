"""Label-smoothed cross-entropy, in nats per target piece (section 5.4).

Shapes: any leading shape, V vocabulary size.
"""

from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor


def smoothed_cross_entropy(
    logits: Tensor, targets: Tensor, *, smoothing: float, padding: int
) -> Tensor:
    """Average the surprise at the targets, with smoothed labels (section 5.4).

    Each label keeps 1 - smoothing of its weight, and the rest is spread evenly over all V pieces
    (Szegedy et al. 2015, arXiv 1512.00567).

    Args:
        logits: unnormalised scores, (..., V).
        targets: piece ids, (...); those equal to ``padding`` do not count.
        smoothing: share in [0, 1] of each label spread over all V pieces; 0.1 in the paper.
        padding: id of the padding piece.

    Returns:
        A scalar in nats per counted target.

    Raises:
        ValueError: every target is padding, so there is nothing to average.
    """
    counted = int((targets != padding).sum())
    if counted == 0:
        raise ValueError("targets: all are padding, there is nothing to average")
    return summed_cross_entropy(logits, targets, smoothing=smoothing, padding=padding) / counted


def summed_cross_entropy(
    logits: Tensor, targets: Tensor, *, smoothing: float, padding: int
) -> Tensor:
    """Sum the same over the counted targets, for whoever divides by a count of its own.

    Accumulation over several batches divides each sum by the number of targets of the whole update,
    so that the gradient is that of one large batch. It runs in float32 at least: in half precision
    the sum of log-probabilities over all pieces would overflow.
    """
    return F.cross_entropy(
        logits.flatten(0, -2).to(torch.promote_types(logits.dtype, torch.float32)),
        targets.flatten(),
        ignore_index=padding,
        label_smoothing=smoothing,
        reduction="sum",
    )


def projected_cross_entropy(
    hidden: Tensor, table: Tensor, targets: Tensor, *, smoothing: float, chunk: int = 512
) -> Tensor:
    """Sum the smoothed loss straight from hidden states; logits exist for one chunk only.

    The gradient is made on the way forward, so nothing of size targets x V is kept or read twice.
    It equals ``summed_cross_entropy(hidden @ table.T, targets)`` and its gradient.

    Args:
        hidden: decoder output at real targets, (N, D).
        table: output table, (V, D).
        targets: piece ids, (N,), none of them padding.
        smoothing: share in [0, 1] of each label spread over all V pieces.
        chunk: targets whose logits exist at the same time.

    Returns:
        A scalar in nats, in float32 at least.
    """
    loss = _ProjectedCrossEntropy.apply(hidden, table, targets, smoothing, chunk)  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]  # torch's stub
    return cast("Tensor", loss)


class _ProjectedCrossEntropy(torch.autograd.Function):
    """With logits z = h Wᵀ, smoothing e and gold piece g: log Σ exp z - (1 - e) z_g - e/V Σ z."""

    @staticmethod
    def forward(
        ctx: Any,  # Any: PyTorch gives it no type
        hidden: Tensor,
        table: Tensor,
        targets: Tensor,
        smoothing: float,
        chunk: int,
    ) -> Tensor:
        pieces = table.size(0)
        grad_hidden, grad_table = torch.empty_like(hidden), torch.zeros_like(table)
        logits = hidden.new_empty(min(chunk, len(hidden)), pieces)
        shares = torch.empty_like(logits)
        loss = hidden.new_zeros((), dtype=torch.float64)
        for start in range(0, len(hidden), chunk):
            h, gold = hidden[start : start + chunk], targets[start : start + chunk, None]
            z = torch.mm(h, table.t(), out=logits[: len(h)])
            p = torch.softmax(z, 1, out=shares[: len(h)])
            gold_logit = z.gather(1, gold)
            log_total = _log_total(z, p, gold_logit, p.gather(1, gold))
            loss += (log_total - (1 - smoothing) * gold_logit).sum(dtype=torch.float64)
            p.sub_(smoothing / pieces)
            p.scatter_add_(1, gold, torch.full_like(gold_logit, smoothing - 1))
            torch.mm(p, table, out=grad_hidden[start : start + chunk])
            grad_table.addmm_(p.t(), h)
        # Sums over thousands of targets or pieces leave the range of float16.
        wide = torch.promote_types(hidden.dtype, torch.float32)
        loss -= smoothing / pieces * (hidden.sum(0, dtype=wide) @ table.sum(0, dtype=wide))
        ctx.save_for_backward(grad_hidden, grad_table)
        return loss.to(wide)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        grad_hidden, grad_table = ctx.saved_tensors
        return grad_hidden * grads[0], grad_table * grads[0], None, None, None


def _log_total(logits: Tensor, shares: Tensor, logit: Tensor, share: Tensor) -> Tensor:
    """Give log Σ exp of each row of ``logits`` (N, V) from one logit (N, 1) and its softmax.

    log Σ exp z = z_g - log softmax(z)_g. Where that share is too small for its log to be exact, the
    largest is taken instead, which is at least 1 / V.
    """
    if not share.is_meta and float(share.min()) < 1e-6:  # a plan has shapes without numbers
        logit, place = logits.max(1, keepdim=True)
        share = shares.gather(1, place)
    return logit - share.log()


def reference_cross_entropy(logits: Tensor, targets: Tensor, *, smoothing: float) -> Tensor:
    """Say the loss of each target as the formula reads; the slow twin, (..., V) to (...)."""
    log_probs = logits.log_softmax(-1)
    true = F.one_hot(targets, logits.size(-1)).to(logits.dtype)
    labels = (1 - smoothing) * true + smoothing / logits.size(-1)
    return -(labels * log_probs).sum(-1)
