"""The softmax of attention scores under a mask ("Attention Is All You Need", equation 1).

Shapes: any leading shape, Q query positions, K key positions.
"""

import torch
from torch import Tensor


def masked_softmax(scores: Tensor, visible: Tensor | None, dtype: torch.dtype) -> Tensor:
    """Turn scores into weights over the keys that a query may see.

    It runs in float32 at least, whatever the input. A query that may attend to nothing gets a row
    of zeros, not NaN, and finite gradients.

    Args:
        scores: how well each query matches each key, (..., Q, K).
        visible: boolean, broadcastable to (..., Q, K), or None to allow all.
        dtype: of the result.

    Returns:
        Weights in [0, 1], (..., Q, K).
    """
    scores = scores if scores.dtype == torch.float64 else scores.float()
    if visible is None:
        return scores.softmax(-1).to(dtype)
    # The lowest finite number instead of -inf keeps the softmax of an empty row, and its
    # gradient, finite; the second mask then makes every hidden weight exactly 0.
    scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    return scores.softmax(-1).masked_fill(~visible, 0.0).to(dtype)
