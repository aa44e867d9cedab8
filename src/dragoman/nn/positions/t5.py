"""A learned bias per head and bucket of offsets (T5; Raffel et al. 2020, arXiv 1910.10683).

Section 2.1 of the paper describes it; the buckets are those of the published code.

Shapes: B sentences, H heads, Q query positions, K key positions, E width of a key, F width of a
value. Offsets are key minus query.
"""

import math

import torch
from torch import Tensor, nn

from dragoman.nn.attention import AttentionKernel
from dragoman.nn.positions.offsets import offset_range, spread


def t5_bucket(
    offsets: Tensor, *, bidirectional: bool, buckets: int = 32, max_distance: int = 128
) -> Tensor:
    """Put offsets into buckets: near ones each into its own, far ones by their logarithm.

    One side has n buckets: all of them when only keys before the query count, else half of them,
    keys after the query in the upper half. Distances d below e = n // 2 have buckets of their own;
    the others share e + floor((n - e) log(d / e) / log(max_distance / e)), at most n - 1.

    Args:
        offsets: key minus query, integers of any shape.
        bidirectional: whether keys after the query are told apart; otherwise all are in bucket 0.
        buckets: how many there are.
        max_distance: from here on all distances share the last bucket.

    Returns:
        int64 in 0 .. buckets - 1, of the same shape.

    Raises:
        ValueError: there are too few buckets, an odd number of them for two sides, or
            ``max_distance`` lies within the distances that have buckets of their own.
    """
    check_buckets(bidirectional=bidirectional, buckets=buckets, max_distance=max_distance)
    side = buckets // 2 if bidirectional else buckets
    near = side // 2
    distance = offsets.abs() if bidirectional else (-offsets).clamp(min=0)
    # In float64, powers that fall on the edge of a bucket do not round below it.
    ratio = (distance.clamp(min=near).double() / near).log() / math.log(max_distance / near)
    far = (near + (ratio * (side - near)).long()).clamp(max=side - 1)
    bucket = torch.where(distance < near, distance, far)
    return bucket + side * (offsets > 0) if bidirectional else bucket


def check_buckets(*, bidirectional: bool, buckets: int, max_distance: int) -> None:
    """Refuse buckets that ``t5_bucket`` could not fill.

    Raises:
        ValueError: see ``t5_bucket``.
    """
    sides = 2 if bidirectional else 1
    if buckets < 2 * sides or buckets % sides:
        parity = "an even number, 4 or more" if bidirectional else "2 or more"
        raise ValueError(f"buckets: {buckets} is not {parity}")
    near = buckets // sides // 2
    if max_distance <= near:
        raise ValueError(
            f"max_distance: {max_distance} is not beyond the {near} nearest distances, which have "
            "buckets of their own"
        )


class T5Bias(nn.Module):
    """Add a learned number per head and bucket to the scores (T5, arXiv 1910.10683, section 2.1).

    One object may serve every layer of a stack, as in T5, which then share its ``table``.

    Args:
        heads: number of heads H.
        bidirectional: whether keys after the query are told apart: in an encoder, not in a decoder.
        buckets: rows of the table.
        max_distance: from here on all distances share a bucket.

    Raises:
        ValueError: see ``t5_bucket``.
    """

    def __init__(
        self, heads: int, *, bidirectional: bool, buckets: int = 32, max_distance: int = 128
    ) -> None:
        super().__init__()
        check_buckets(bidirectional=bidirectional, buckets=buckets, max_distance=max_distance)
        self.bidirectional, self.max_distance = bidirectional, max_distance
        self.table = nn.Parameter(torch.empty(buckets, heads))
        self.reset()

    def reset(self, rng: torch.Generator | None = None) -> None:
        """Draw first values, Xavier uniform as in the T5X code of the authors."""
        nn.init.xavier_uniform_(self.table, generator=rng)

    def bias(self, queries: int, keys: int) -> Tensor:
        """Give what is added to the scores of the last Q of K positions, (1, H, Q, K)."""
        bucket = t5_bucket(
            offset_range(queries, keys, device=self.table.device),
            bidirectional=self.bidirectional,
            buckets=self.table.size(0),
            max_distance=self.max_distance,
        )
        return spread(self.table[bucket].T, queries)[None]

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
        """Attend with the bias; (B, H, Q, F). T5 itself has ``scale=1.0``."""
        bias = self.bias(q.size(-2), k.size(-2)).to(q.dtype)
        return kernel(q, k, v, visible, scale=scale, bias=bias, dropout=dropout)
