"""Attention as plain batched products, with the backward pass written out (section 3.2.1).

For short sentences on a CPU, products of small matrices, a softmax in place and a backward pass
that writes where its result is needed beat the general fused kernel; for long ones they do not, as
all scores are in memory at once. ``ChosenAttention`` knows from where on.

Shapes: B sentences, H heads, Q query positions, K key positions, E width of a query or key, F width
of a value. ``visible`` is boolean and broadcasts to (B, H, Q, K); True means "may attend".
"""

import math
from typing import Any, cast

import torch
from torch import Tensor

from dragoman.nn.attention import check_visible, fused_attention
from dragoman.nn.dropout import dropout_mask


def batched_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visible: Tensor | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Attend by batched products: the numbers of ``reference_attention``, faster when short.

    Arguments, result and errors are those of ``reference_attention``; q, k and v have four axes.
    Its memory grows with Q x K. With a ``bias`` it hands over to the fused kernel.
    """
    if bias is not None:
        return fused_attention(q, k, v, visible, scale=scale, bias=bias, dropout=dropout)
    check_visible(visible)
    scale = 1 / math.sqrt(q.size(-1)) if scale is None else scale
    attended = _BatchedAttention.apply(q, k, v, visible, scale, dropout)  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]  # torch's stub
    return cast("Tensor", attended)


class ChosenAttention:
    """Batched products up to a length, the fused kernel beyond.

    Args:
        longest: most query or key positions for which batched products are faster, as measured on
            the machine; 0 for never.
    """

    def __init__(self, longest: int) -> None:
        self.longest = longest

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
        """Attend; arguments and result are those of ``reference_attention``."""
        short = max(q.size(-2), k.size(-2)) <= self.longest
        kernel = batched_attention if short else fused_attention
        return kernel(q, k, v, visible, scale=scale, bias=bias, dropout=dropout)


class _BatchedAttention(torch.autograd.Function):
    """With P = softmax(s Q Kᵀ) and dropout factors M: O = (M P) V.

    dV = (M P)ᵀ dO, dP = M (dO Vᵀ), dS = s P (dP - Σ P dP), dQ = dS K, dK = dSᵀ Q.
    """

    @staticmethod
    def forward(
        ctx: Any,  # Any: PyTorch gives it no type
        q: Tensor,
        k: Tensor,
        v: Tensor,
        visible: Tensor | None,
        scale: float,
        dropout: float,
    ) -> Tensor:
        batch, heads, queries, keys = *q.shape[:3], k.size(2)
        q, k, v = (x.reshape(batch * heads, *x.shape[2:]) for x in (q, k, v))  # contiguous
        scores = torch.bmm(q, k.transpose(1, 2)).mul_(scale)
        by_head = scores.view(batch, heads, queries, keys)
        hidden = None if visible is None else ~visible
        if hidden is not None:
            by_head.masked_fill_(hidden, torch.finfo(q.dtype).min)
        weights = torch.softmax(scores, -1, out=scores)
        if hidden is not None and bool(hidden.all(-1).any()):  # asking costs less than another pass
            by_head.masked_fill_(hidden, 0.0)
        factors = dropout_mask(weights, dropout) if dropout else None
        dropped = weights if factors is None else weights * factors
        ctx.save_for_backward(q, k, v, weights, factors)
        ctx.scale, ctx.heads = scale, heads
        return torch.bmm(dropped, v).view(batch, heads, queries, -1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights, factors = ctx.saved_tensors
        grad = grads[0].reshape(q.size(0), q.size(1), -1)
        dropped = weights if factors is None else weights * factors
        grad_v = torch.bmm(dropped.transpose(1, 2), grad)
        grad_weights = torch.bmm(grad, v.transpose(1, 2))
        if factors is not None:
            grad_weights.mul_(factors)
        scores = torch._softmax_backward_data(grad_weights, weights, -1, weights.dtype)  # pyright: ignore  # untyped
        scores.mul_(ctx.scale)
        grad_q, grad_k = torch.bmm(scores, k), torch.bmm(scores.transpose(1, 2), q)
        split = (x.view(-1, ctx.heads, *x.shape[1:]) for x in (grad_q, grad_k, grad_v))
        return (*split, None, None, None)
