"""Relative positions as vectors added to keys and values (Shaw et al. 2018, arXiv 1803.02155).

Shapes: B sentences, H heads, Q query positions, K key positions, E width of a key, F width of a
value, R = 2 clip + 1 rows of a table. Row clip + clamp(j - i, -clip, clip) belongs to query
position i and key position j; the queries are the last Q of the K positions.
"""

import math

import torch
from torch import Tensor, nn

from dragoman.nn.attention import AttentionKernel, attention_weights
from dragoman.nn.positions.offsets import offset_range, spread


def relative_rows(
    queries: int, keys: int, *, clip: int, device: torch.device | str | None = None
) -> Tensor:
    """Say which row of a table belongs to each query and key (section 3.2 of Shaw et al.).

    Args:
        queries: number of query positions Q, the last Q of the key positions.
        keys: number of key positions K.
        clip: the largest offset told apart.
        device: where the result lives.

    Returns:
        int64 in 0 .. 2 clip, (Q, K).

    Raises:
        ValueError: there are fewer keys than queries.
    """
    offsets = offset_range(queries, keys, device=device)
    return spread(clip + offsets.clamp(-clip, clip), queries)


def relative_bias(q: Tensor, table: Tensor, keys: int, *, scale: float | None = None) -> Tensor:
    """Score the offset of each key: the second term of equation (5) of Shaw et al.

    Each query meets each row once, and the pairs pick from these products, so that no (Q, K, E) is
    ever made.

    Args:
        q: queries, (..., Q, E).
        table: one vector per clipped offset, (R, E).
        keys: number of key positions K.
        scale: factor on the products; 1 / sqrt(E) unless given.

    Returns:
        scale · q·a, to add to the scaled scores, (..., Q, K), in the dtype of ``q``.

    Raises:
        ValueError: there are fewer keys than queries.
    """
    scale = 1 / math.sqrt(q.size(-1)) if scale is None else scale
    rows = relative_rows(q.size(-2), keys, clip=table.size(0) // 2, device=q.device)
    by_row = q @ table.to(q.dtype).T * scale  # (..., Q, R)
    return by_row.gather(-1, rows.expand(*q.shape[:-2], *rows.shape))


class RelativePositions(nn.Module):
    """Attend with a learned vector per clipped offset (Shaw et al. 2018, arXiv 1803.02155).

    The vectors ``keys`` (R, E), and ``values`` (R, F) if there are any, are shared by the heads.
    The value term needs the attention weights, and gets them from any kernel, dropout included,
    by an identity matrix beside the values; this costs K more columns in each head.

    Args:
        clip: the largest offset told apart; those beyond share its vector.
        d_k: width E of a query and key.
        d_v: width F of a value; without it keys alone know positions (section 4.3, table 3).

    Raises:
        ValueError: ``clip`` is less than 1, so that no offsets would be told apart.
    """

    def __init__(self, clip: int, d_k: int, d_v: int | None = None) -> None:
        super().__init__()
        if clip < 1:
            raise ValueError(f"clip: {clip} tells no offsets apart; take 1 or more")
        self.clip = clip
        self.keys = nn.Parameter(torch.empty(2 * clip + 1, d_k))
        self.values = None if d_v is None else nn.Parameter(torch.empty(2 * clip + 1, d_v))
        self.reset()

    def reset(self, rng: torch.Generator | None = None) -> None:
        """Draw first values, Xavier uniform as in Tensor2Tensor, where the method was tried."""
        for table in (self.keys, self.values):
            if table is not None:
                nn.init.xavier_uniform_(table, generator=rng)

    def turn(self, x: Tensor, start: int) -> Tensor:
        """Leave queries and keys as they are."""
        return x

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
        """Attend as equations (3) and (5) of Shaw et al. read; (B, H, Q, F)."""
        length = k.size(-2)
        scale = 1 / math.sqrt(q.size(-1)) if scale is None else scale
        bias = relative_bias(q, self.keys, length, scale=scale)
        if self.values is None:
            return kernel(q, k, v, visible, scale=scale, bias=bias, dropout=dropout)
        identity = torch.eye(length, dtype=v.dtype, device=v.device)
        identity = identity.expand(*v.shape[:-1], length)
        wide = torch.cat((v, identity), dim=-1)  # (B, H, K, F + K)
        both = kernel(q, k, wide, visible, scale=scale, bias=bias, dropout=dropout)
        output, weights = both[..., :-length], both[..., -length:]
        return output + _weigh_offsets(weights, self.values)


def _weigh_offsets(weights: Tensor, table: Tensor) -> Tensor:
    """Sum the vectors of all offsets by weight: (..., Q, K) and (R, F) to (..., Q, F)."""
    rows = relative_rows(*weights.shape[-2:], clip=table.size(0) // 2, device=weights.device)
    # Many keys share the rows at the ends: half precision would lose most of such a sum.
    exact = weights if weights.dtype == torch.float64 else weights.float()
    by_row = exact.new_zeros(*weights.shape[:-1], table.size(0))
    by_row = by_row.scatter_add(-1, rows.expand_as(weights), exact)  # (..., Q, R)
    return (by_row @ table.to(exact.dtype)).to(weights.dtype)


def reference_relative_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visible: Tensor | None = None,
    *,
    positions: RelativePositions,
    scale: float | None = None,
) -> Tensor:
    """Attend with a vector for every pair, as Shaw et al. write it: the slow twin.

    e_ij = scale · q_i·(k_j + a^K_ij), α = softmax(e), z_i = Σ_j α_ij (v_j + a^V_ij).

    Args:
        q: queries, (..., Q, E).
        k: keys, (..., K, E).
        v: values, (..., K, F).
        visible: boolean, broadcastable to (..., Q, K), or None to allow all.
        positions: whose vectors to use.
        scale: factor on the dot products; 1 / sqrt(E) unless given.

    Returns:
        (..., Q, F); zeros for a query that sees nothing.
    """
    scale = 1 / math.sqrt(q.size(-1)) if scale is None else scale
    rows = relative_rows(q.size(-2), k.size(-2), clip=positions.clip, device=q.device)
    moved = k[..., None, :, :] + positions.keys[rows]  # (..., Q, K, E)
    scores = scale * torch.einsum("...qe,...qke->...qk", q, moved)
    weights = attention_weights(torch.zeros_like(q), k, visible, bias=scores)
    if positions.values is None:
        return weights @ v
    told = v[..., None, :, :] + positions.values[rows]  # (..., Q, K, F)
    return torch.einsum("...qk,...qkf->...qf", weights, told)
