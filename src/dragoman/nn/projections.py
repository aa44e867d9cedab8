"""From the model width into heads and back (section 3.2.2): what every kind of attention shares.

One matrix holds the projections of queries, keys and values side by side, so that self-attention
needs a single product; reading from a memory uses a part of its rows.

Shapes: B sentences, H heads, G groups of heads that share keys and values, L positions, D model
width, E width of a query or key, F width of a value.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class HeadShape:
    """How many heads there are and how wide; knows where each projection lies in the matrix.

    Args:
        heads: number of query heads H.
        kv_heads: number of key and value heads G.
        d_k: width E of a query and key.
        d_v: width F of a value.
    """

    heads: int
    kv_heads: int
    d_k: int
    d_v: int

    @classmethod
    def of(
        cls,
        d_model: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
    ) -> "HeadShape":
        """Fill in what is not given: G = H, E = D / H, F = E.

        Raises:
            ValueError: ``heads`` does not divide ``d_model`` and no ``d_k`` is given, or
                ``kv_heads`` does not divide ``heads``.
        """
        kv_heads = heads if kv_heads is None else kv_heads
        if heads < 1 or (d_k is None and d_model % heads):
            raise ValueError(f"heads: {heads} does not divide d_model {d_model}")
        if kv_heads < 1 or heads % kv_heads:
            raise ValueError(f"kv_heads: {kv_heads} does not divide heads {heads}")
        d_k = d_model // heads if d_k is None else d_k
        return cls(heads, kv_heads, d_k, d_k if d_v is None else d_v)

    @property
    def widths(self) -> tuple[int, int, int]:
        """Rows of the query, key and value matrices."""
        return self.heads * self.d_k, self.kv_heads * self.d_k, self.kv_heads * self.d_v

    def matrix(self, d_model: int, *, bias: bool) -> nn.Linear:
        """Make the matrix of all three projections, (H E + G E + G F, D)."""
        return nn.Linear(d_model, sum(self.widths), bias=bias)

    def blocks(self, matrix: nn.Linear) -> tuple[Tensor, Tensor, Tensor]:
        """Give the query, key and value matrices as views, each (out, D)."""
        q, k, v = torch.split(matrix.weight, list(self.widths), 0)
        return q, k, v

    def project(self, matrix: nn.Linear, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Turn ``x`` (B, L, D) into queries (B, H, L, E) and keys and values (B, G, L, E or F)."""
        q, k, v = torch.split(matrix(x), list(self.widths), -1)
        return (
            split_heads(q, self.heads),
            split_heads(k, self.kv_heads),
            split_heads(v, self.kv_heads),
        )

    def project_queries(self, matrix: nn.Linear, x: Tensor) -> Tensor:
        """Turn ``x`` (B, L, D) into queries alone, (B, H, L, E)."""
        return split_heads(_part(matrix, x, 0, self.widths[0]), self.heads)

    def project_memory(self, matrix: nn.Linear, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Turn ``memory`` (B, L, D) into keys (B, G, L, E) and values (B, G, L, F) alone."""
        both = _part(matrix, memory, self.widths[0], None)
        k, v = torch.split(both, list(self.widths[1:]), -1)
        return split_heads(k, self.kv_heads), split_heads(v, self.kv_heads)

    def share(self, x: Tensor) -> Tensor:
        """Give what the G groups know (B, G, ...) to all heads: i has that of i // (H / G)."""
        times = self.heads // self.kv_heads
        return x if times == 1 else x.repeat_interleave(times, 1)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Cut (B, L, heads * width) into (B, heads, L, width); head i has columns i width onwards."""
    return x.view(*x.shape[:-1], heads, x.size(-1) // heads).transpose(1, 2)


def join_heads(heads: Tensor) -> Tensor:
    """Put heads (B, H, L, F) side by side again: (B, L, H F)."""
    return heads.transpose(1, 2).flatten(2)


def _part(matrix: nn.Linear, x: Tensor, start: int, end: int | None) -> Tensor:
    """Apply rows ``start`` to ``end`` of a matrix and its bias, if it has one."""
    return F.linear(x, matrix.weight[start:end], _rows(matrix.bias, start, end))


def _rows(bias: Tensor | None, start: int, end: int | None) -> Tensor | None:
    return None if bias is None else bias[start:end]
