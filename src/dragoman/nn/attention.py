"""Scaled dot-product attention ("Attention Is All You Need", section 3.2.1), slow and fused.

Shapes: B sentences, H heads, Q query positions, K key positions, E width of a query or key, F width
of a value. ``visible`` is boolean and broadcasts to (B, H, Q, K); True means "may attend".
"""

import math
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from dragoman.nn.softmax import masked_softmax


class AttentionKernel(Protocol):
    """How heads attend: any function with this signature can be handed to a module."""

    def __call__(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        visible: Tensor | None = None,
        *,
        scale: float | None = None,
        bias: Tensor | None = None,
        dropout: float = 0.0,
    ) -> Tensor:
        """Attend: q (B, H, Q, E), k (B, H, K, E), v (B, H, K, F) to (B, H, Q, F)."""
        ...


def attention_scores(
    q: Tensor, k: Tensor, *, scale: float | None = None, bias: Tensor | None = None
) -> Tensor:
    """Say how well each query matches each key: the inside of the softmax in equation (1).

    Args:
        q: queries, (..., Q, E).
        k: keys, (..., K, E).
        scale: factor on the dot products; 1 / sqrt(E) unless given.
        bias: added to the scaled scores, broadcastable to (..., Q, K).

    Returns:
        Scores, (..., Q, K), in the dtype of ``q``.
    """
    scale = 1 / math.sqrt(q.size(-1)) if scale is None else scale
    scores = q @ k.transpose(-2, -1) * scale  # (..., Q, K)
    return scores if bias is None else scores + bias


def attention_weights(
    q: Tensor,
    k: Tensor,
    visible: Tensor | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """Say how much each query attends to each key: the softmax in equation (1).

    The softmax runs in float32 at least, whatever the input. A query that may attend to nothing
    gets a row of zeros, not NaN, and finite gradients.

    Args:
        q: queries, (..., Q, E).
        k: keys, (..., K, E).
        visible: boolean, broadcastable to (..., Q, K), or None to allow all.
        scale: factor on the dot products; 1 / sqrt(E) unless given.
        bias: added to the scaled scores, broadcastable to (..., Q, K).

    Returns:
        Weights in [0, 1], (..., Q, K), in the dtype of ``q``.

    Raises:
        TypeError: ``visible`` is not boolean.
    """
    check_visible(visible)
    scores = attention_scores(q, k, scale=scale, bias=bias)
    return masked_softmax(scores, visible, q.dtype)


def reference_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visible: Tensor | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Attend as equation (1) reads: softmax(q kᵀ / √E) v. The slow twin of ``fused_attention``.

    Args:
        q: queries, (..., Q, E).
        k: keys, (..., K, E).
        v: values, (..., K, F).
        visible: boolean, broadcastable to (..., Q, K), or None to allow all.
        scale: factor on the dot products; 1 / sqrt(E) unless given.
        bias: added to the scaled scores, broadcastable to (..., Q, K).
        dropout: chance in [0, 1) that a weight is dropped.

    Returns:
        (..., Q, F); zeros for a query that sees nothing.

    Raises:
        TypeError: ``visible`` is not boolean.
    """
    weights = attention_weights(q, k, visible, scale=scale, bias=bias)
    return F.dropout(weights, dropout, training=dropout > 0) @ v


def fused_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visible: Tensor | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Attend through PyTorch's fused kernel: the same numbers as ``reference_attention``, faster.

    Arguments, result and errors are those of ``reference_attention``.
    """
    check_visible(visible)
    mask = visible
    if bias is not None:
        mask = bias if visible is None else bias.masked_fill(~visible, float("-inf"))
        mask = mask.to(q.dtype)
    return F.scaled_dot_product_attention(q, k, v, mask, dropout_p=dropout, scale=scale)


def check_visible(visible: Tensor | None) -> None:
    """Refuse masks whose polarity could be mistaken.

    Raises:
        TypeError: ``visible`` is not boolean.
    """
    if visible is not None and visible.dtype != torch.bool:
        raise TypeError(
            f"visible must be boolean, True = may attend, not {visible.dtype}; an additive mask "
            "(0 and -inf) becomes one by `mask == 0`, a mask that marks padding by `~mask`"
        )
