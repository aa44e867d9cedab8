"""Additive attention, the older kind in section 3.2.1 (Bahdanau et al. 2014, arXiv 1409.0473).

    score(q, k) = v · tanh(q W_q + k W_k)

Shapes: B sentences, H heads, Q query positions, K key positions, A hidden width of the scores,
E width of a head, F width of a value. ``visible`` is boolean; True means "may attend".
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.nn.attention import check_visible
from dragoman.nn.softmax import masked_softmax


def additive_scores(q: Tensor, k: Tensor, vector: Tensor, *, most_numbers: int = 1 << 24) -> Tensor:
    """Say how well each query matches each key: a network with one hidden layer asks each pair.

    Every pair has a hidden layer of its own, so memory would grow with Q·K·A; it exists for some
    queries at a time only (in training what a gradient needs is kept all the same).

    Args:
        q: projected queries, (..., Q, A).
        k: projected keys, (..., K, A).
        vector: weights of the hidden layer, (A,), or (H, A) where the others are (..., H, _, A).
        most_numbers: of hidden layers that may exist at once; at least one query is taken.

    Returns:
        Scores, (..., Q, K), in the dtype of ``q``.
    """
    queries = max(1, most_numbers // max(1, k.numel()))
    parts = [
        _pair_scores(part, k, vector)
        for part in q.chunk(max(1, math.ceil(q.size(-2) / queries)), -2)
    ]
    return parts[0] if len(parts) == 1 else torch.cat(parts, -2)


def _pair_scores(q: Tensor, k: Tensor, vector: Tensor) -> Tensor:
    hidden = torch.tanh(q[..., :, None, :] + k[..., None, :, :])  # (..., Q, K, A)
    if vector.dim() == 1:
        return hidden @ vector
    return (hidden @ vector[:, None, :, None]).squeeze(-1)


class AdditiveAttention(nn.Module):
    """Attend with one head by additive scores; queries and keys may differ in width.

    Args:
        query_width: of a query.
        key_width: of a key.
        hidden: width A of the layer that compares them.
    """

    def __init__(self, query_width: int, key_width: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, hidden, bias=False)
        self.key = nn.Linear(key_width, hidden, bias=False)
        self.vector = nn.Parameter(torch.empty(hidden).normal_(std=hidden**-0.5))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, visible: Tensor | None = None) -> Tensor:
        """Attend from queries to keys.

        Args:
            q: (B, Q, query width).
            k: (B, K, key width).
            v: (B, K, F).
            visible: boolean, broadcastable to (B, Q, K), or None to allow all.

        Returns:
            (B, Q, F); zeros for a query that sees nothing.

        Raises:
            TypeError: ``visible`` is not boolean.
        """
        return self.read(q, self.project(k), v, visible)

    def project(self, k: Tensor) -> Tensor:
        """Project keys (B, K, key width) to (B, K, A) once, for any number of reads."""
        return self.key(k)

    def read(self, q: Tensor, keys: Tensor, v: Tensor, visible: Tensor | None = None) -> Tensor:
        """Attend to ``keys`` (B, K, A) projected before; the rest is as in ``forward``."""
        check_visible(visible)
        scores = additive_scores(self.query(q), keys, self.vector)
        return masked_softmax(scores, visible, v.dtype) @ v


class AdditiveKernel(nn.Module):
    """How heads attend by additive scores: an ``AttentionKernel`` with a learned vector per head.

        score = v_h · tanh(q + k),    q and k projected by ``MultiHeadAttention`` as ever

    Args:
        heads: number of heads H.
        d_k: width E of a query and key.
    """

    def __init__(self, heads: int, d_k: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.empty(heads, d_k))
        self.reset()

    @torch.no_grad()
    def reset(self, rng: torch.Generator | None = None) -> None:
        """Draw the vectors anew: normal with std E^-0.5, so that scores have the size of one."""
        self.vector.normal_(std=self.vector.size(1) ** -0.5, generator=rng)

    def forward(
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
        """Attend in every head.

        Args:
            q: queries, (B, H, Q, E).
            k: keys, (B, H, K, E).
            v: values, (B, H, K, F).
            visible: boolean, broadcastable to (B, H, Q, K), or None to allow all.
            scale: factor on the scores; 1 unless given.
            bias: added to the scaled scores, broadcastable to (B, H, Q, K).
            dropout: chance in [0, 1) that a weight is dropped.

        Returns:
            (B, H, Q, F); zeros for a query that sees nothing.

        Raises:
            TypeError: ``visible`` is not boolean.
        """
        check_visible(visible)
        scores = additive_scores(q, k, self.vector)
        scores = scores if scale is None else scores * scale
        scores = scores if bias is None else scores + bias
        weights = masked_softmax(scores, visible, v.dtype)
        return F.dropout(weights, dropout, training=dropout > 0) @ v
