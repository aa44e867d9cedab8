"""Scaled dot-product and multi-head attention ("Attention Is All You Need", section 3.2).

Shapes: B sentences, H heads, G groups of heads that share keys and values (H unless asked),
Q query positions, K key positions, D model width, E width of a query or key, F width of a value.
``visible`` is boolean and broadcasts to (B, H, Q, K); True means "may attend".
"""

import math
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.nn.cache import KeyValues


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
    scores = scores if scores.dtype == torch.float64 else scores.float()
    if visible is None:
        return scores.softmax(-1).to(q.dtype)
    # The lowest finite number instead of -inf keeps the softmax of an empty row, and its
    # gradient, finite; the second mask then makes every hidden weight exactly 0.
    scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    return scores.softmax(-1).masked_fill(~visible, 0.0).to(q.dtype)


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


class MultiHeadAttention(nn.Module):
    """Attend in several subspaces at once (section 3.2.2, figure 2 right).

    One matrix holds the projections of queries, keys and values side by side, so that
    self-attention needs a single product.

    Args:
        d_model: model width D.
        heads: number of heads H.
        kv_heads: number G of key and value heads, each shared by H / G query heads (Shazeer 2019,
            arXiv 1911.02150; Ainslie et al. 2023, arXiv 2305.13245); H unless given.
        d_k: width E of a query and key; D / H unless given.
        d_v: width F of a value; ``d_k`` unless given.
        bias: whether the projections add a bias; not in the paper.
        dropout: chance in [0, 1) that a weight is dropped in training; 0, as in the paper.
        kernel: how a head attends; inspection injects one that records.

    Raises:
        ValueError: ``heads`` does not divide ``d_model`` and no ``d_k`` is given, or ``kv_heads``
            does not divide ``heads``.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        kernel: AttentionKernel = fused_attention,
    ) -> None:
        super().__init__()
        kv_heads = heads if kv_heads is None else kv_heads
        if heads < 1 or (d_k is None and d_model % heads):
            raise ValueError(f"heads: {heads} does not divide d_model {d_model}")
        if kv_heads < 1 or heads % kv_heads:
            raise ValueError(f"kv_heads: {kv_heads} does not divide heads {heads}")
        self.heads, self.kv_heads = heads, kv_heads
        self.d_k = d_model // heads if d_k is None else d_k
        self.d_v = self.d_k if d_v is None else d_v
        self.widths = (heads * self.d_k, kv_heads * self.d_k, kv_heads * self.d_v)
        self.query_key_value = nn.Linear(d_model, sum(self.widths), bias=bias)
        self.output = nn.Linear(heads * self.d_v, d_model, bias=bias)
        self.dropout = dropout
        self.kernel = kernel

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None = None) -> Tensor:
        """Read from ``memory`` (B, K, D) what each position of ``x`` (B, Q, D) asks for.

        Returns:
            (B, Q, D). Self-attention is ``memory = x``.
        """
        if memory is x:
            q, known = self._project_all(x)
            return self._attend(q, known, visible)
        return self.read(x, self.project_memory(memory), visible)

    def extend(
        self, x: Tensor, past: KeyValues | None, visible: Tensor | None = None
    ) -> tuple[Tensor, KeyValues]:
        """Self-attend from new positions ``x`` (B, Q, D) to all past ones and themselves.

        Args:
            x: the new positions only.
            past: keys and values of the positions before, or None at the start.
            visible: broadcastable to (B, H, Q, past + Q).

        Returns:
            The output (B, Q, D), and the past grown by Q positions.
        """
        q, new = self._project_all(x)
        known = new if past is None else past.append(new)
        return self._attend(q, known, visible), known

    def read(self, x: Tensor, known: KeyValues, visible: Tensor | None = None) -> Tensor:
        """Attend from ``x`` (B, Q, D) to a memory projected before; returns (B, Q, D)."""
        width = self.widths[0]
        bias = self.query_key_value.bias
        q = F.linear(x, self.query_key_value.weight[:width], _part(bias, 0, width))
        return self._attend(self._split(q, self.heads), known, visible)

    def project_memory(self, memory: Tensor) -> KeyValues:
        """Project ``memory`` (B, K, D) to keys and values once, for any number of reads."""
        width = self.widths[0]
        bias = self.query_key_value.bias
        both = F.linear(memory, self.query_key_value.weight[width:], _part(bias, width, None))
        k, v = _blocks(both, self.widths[1:], dim=-1)
        return KeyValues(self._split(k, self.kv_heads), self._split(v, self.kv_heads))

    def projection_blocks(self) -> tuple[Tensor, Tensor, Tensor]:
        """Give the query, key and value matrices as views, each (out, D), to initialise or name."""
        q, k, v = _blocks(self.query_key_value.weight, self.widths, dim=0)
        return q, k, v

    def _project_all(self, x: Tensor) -> tuple[Tensor, KeyValues]:
        q, k, v = _blocks(self.query_key_value(x), self.widths, dim=-1)
        known = KeyValues(self._split(k, self.kv_heads), self._split(v, self.kv_heads))
        return self._split(q, self.heads), known

    def _attend(self, q: Tensor, known: KeyValues, visible: Tensor | None) -> Tensor:
        k, v = known.keys, known.values
        if self.kv_heads != self.heads:  # query head i uses key head i // (H / G)
            k = k.repeat_interleave(self.heads // self.kv_heads, dim=1)
            v = v.repeat_interleave(self.heads // self.kv_heads, dim=1)
        dropout = self.dropout if self.training else 0.0
        heads = self.kernel(q, k, v, visible, dropout=dropout)  # (B, H, Q, F)
        return self.output(heads.transpose(1, 2).flatten(2))  # (B, Q, D)

    @staticmethod
    def _split(x: Tensor, heads: int) -> Tensor:
        return x.view(*x.shape[:-1], heads, -1).transpose(1, 2)  # (B, heads, length, width)


def _part(bias: Tensor | None, start: int, end: int | None) -> Tensor | None:
    return None if bias is None else bias[start:end]


def _blocks(x: Tensor, widths: tuple[int, ...], *, dim: int) -> tuple[Tensor, ...]:
    """Cut ``x`` into views side by side."""
    return torch.split(x, list(widths), dim)
