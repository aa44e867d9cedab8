"""Scaled dot-product and multi-head attention ("Attention Is All You Need", section 3.2).

Shapes: B sentences, H heads, G groups of heads that share keys and values (H unless asked),
Q query positions, K key positions, D model width, E width of a query or key, F width of a value.
``visible`` is boolean and broadcasts to (B, H, Q, K); True means "may attend".
"""

import math
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.nn.cache import KeyValues
from dragoman.nn.masks import combine
from dragoman.nn.patterns import Pattern
from dragoman.nn.projections import HeadShape, join_heads


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


class AttentionPositions(Protocol):
    """How one attention module learns where keys lie from queries: rotary, relative, biases.

    The queries are always the last Q of the K key positions.
    """

    def turn(self, x: Tensor, start: int) -> Tensor:
        """Prepare new queries or keys (B, H, L, E) at positions start .. start + L - 1."""
        ...

    def attend(
        self,
        kernel: AttentionKernel,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        visible: Tensor | None,
        *,
        scale: float | None,
        dropout: float,
    ) -> Tensor:
        """Attend through ``kernel`` with positions taken into account; shapes are the kernel's."""
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


class Attention(Protocol):
    """What a layer asks of an attention module.

    Any: each module keeps what it knows of past positions in a ``Known`` of its own kind.
    """

    def __call__(self, x: Tensor, memory: Tensor | None, visible: Tensor | None = None) -> Tensor:
        """Read from ``memory`` (B, K, D), or from ``x`` itself, for each position of ``x``."""
        ...

    def extend(self, x: Tensor, past: Any, visible: Tensor | None = None) -> tuple[Tensor, Any]:
        """Self-attend from new positions to all past ones and themselves."""
        ...

    def read(self, x: Tensor, known: Any, visible: Tensor | None = None) -> Tensor:
        """Attend to a memory projected before."""
        ...

    def project_memory(self, memory: Tensor, visible: Tensor | None = None) -> Any:
        """Project a memory once, for any number of reads."""
        ...


class MultiHeadAttention(nn.Module):
    """Attend in several subspaces at once (section 3.2.2, figure 2 right).

    Args:
        d_model: model width D.
        heads: number of heads H.
        kv_heads: number G of key and value heads, each shared by H / G query heads (Shazeer 2019,
            arXiv 1911.02150; Ainslie et al. 2023, arXiv 2305.13245); H unless given.
        d_k: width E of a query and key; D / H unless given.
        d_v: width F of a value; ``d_k`` unless given.
        bias: whether the projections add a bias; not in the paper.
        scale: factor on the dot products; 1 / sqrt(E) unless given.
        dropout: chance in [0, 1) that a weight is dropped in training; 0, as in the paper.
        kernel: how a head attends; inspection injects one that records.
        pattern: which keys a position of its own sequence may see, such as ``Causal()``; all unless
            given. It is for self-attention; reading from a memory uses the mask alone.
        positions: how self-attention learns where keys lie; it does not unless given.

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
        scale: float | None = None,
        dropout: float = 0.0,
        kernel: AttentionKernel = fused_attention,
        pattern: Pattern | None = None,
        positions: AttentionPositions | None = None,
    ) -> None:
        super().__init__()
        self.shape = HeadShape.of(d_model, heads, kv_heads=kv_heads, d_k=d_k, d_v=d_v)
        self.heads, self.kv_heads = heads, self.shape.kv_heads
        self.d_k, self.d_v = self.shape.d_k, self.shape.d_v
        self.query_key_value = self.shape.matrix(d_model, bias=bias)
        self.output = nn.Linear(heads * self.d_v, d_model, bias=bias)
        self.scale, self.dropout = scale, dropout
        self.kernel, self.pattern, self.positions = kernel, pattern, positions

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None = None) -> Tensor:
        """Read from ``memory`` (B, K, D) what each position of ``x`` (B, Q, D) asks for.

        Returns:
            (B, Q, D). Self-attention is ``memory = x``.
        """
        if memory is x:
            return self._attend_to_self(x, None, visible)[0]
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
            The output (B, Q, D), and the past grown by Q positions, without those that the pattern
            lets no later position see.
        """
        y, known = self._attend_to_self(x, past, visible)
        window = None if self.pattern is None else self.pattern.window
        return y, known if window is None else known.last(window)

    def read(self, x: Tensor, known: KeyValues, visible: Tensor | None = None) -> Tensor:
        """Attend from ``x`` (B, Q, D) to a memory projected before; returns (B, Q, D)."""
        q = self.shape.project_queries(self.query_key_value, x)
        keys, values = self._shared(known)
        dropout = self.dropout if self.training else 0.0
        heads = self.kernel(q, keys, values, visible, scale=self.scale, dropout=dropout)
        return self.output(join_heads(heads))

    def project_memory(self, memory: Tensor, visible: Tensor | None = None) -> KeyValues:
        """Project ``memory`` (B, K, D) to keys and values once, for any number of reads.

        What is ``visible`` matters when it is read; here it is for modules that sum over keys.
        """
        return KeyValues(*self.shape.project_memory(self.query_key_value, memory))

    def projection_blocks(self) -> tuple[Tensor, Tensor, Tensor]:
        """Give the query, key and value matrices as views, each (out, D), to initialise or name."""
        return self.shape.blocks(self.query_key_value)

    def _attend_to_self(
        self, x: Tensor, past: KeyValues | None, visible: Tensor | None
    ) -> tuple[Tensor, KeyValues]:
        q, k, v = self.shape.project(self.query_key_value, x)
        if self.positions is not None:
            start = 0 if past is None else past.length
            q, k = self.positions.turn(q, start), self.positions.turn(k, start)
        new = KeyValues(k, v)
        known = new if past is None else past.append(new)
        keys, values = self._shared(known)
        if visible is not None and known.forgotten and visible.size(-1) == known.length:
            visible = visible[..., known.forgotten :]  # the pattern has let go of the oldest keys
        if self.pattern is not None:
            seen = self.pattern.mask(x.size(1), keys.size(2), device=x.device)
            visible = combine(visible, seen)
        dropout = self.dropout if self.training else 0.0
        if self.positions is None:
            heads = self.kernel(q, keys, values, visible, scale=self.scale, dropout=dropout)
        else:
            heads = self.positions.attend(
                self.kernel, q, keys, values, visible, scale=self.scale, dropout=dropout
            )
        return self.output(join_heads(heads)), known

    def _shared(self, known: KeyValues) -> tuple[Tensor, Tensor]:
        """Give keys and values to every query head: head i uses key head i // (H / G)."""
        return self.shape.share(known.keys), self.shape.share(known.values)
