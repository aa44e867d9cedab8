"""Relative positions without scale and clipping: the score q·k + q·a_(i-j).

Summaries of Shaw et al. 2018 (arXiv 1803.02155) often write the method so. It differs from the
paper, which ``RelativePositions`` follows, in three points: the offset is query minus key, every
offset has a vector of its own, and nothing is divided by sqrt(E).

Shapes: B sentences, H heads, Q query positions, K key positions, E width of a key, F width of a
value, M positions at most; the table has 2M - 1 rows, and row M - 1 + i - j belongs to query
position i and key position j.
"""

import torch
from torch import Tensor, nn

from dragoman.nn.attention import AttentionKernel
from dragoman.nn.positions.offsets import offset_range, spread


def unclipped_bias(q: Tensor, table: Tensor, keys: int, *, scale: float = 1.0) -> Tensor:
    """Score the offset of each key: q·a_(i-j).

    Args:
        q: queries, (..., Q, E), the last Q of the key positions.
        table: one vector per offset i - j, (2M - 1, E).
        keys: number of key positions K.
        scale: factor on the products.

    Returns:
        To add to the scores, (..., Q, K), in the dtype of ``q``.

    Raises:
        ValueError: there are fewer keys than queries, or more keys than M.
    """
    most = (table.size(0) + 1) // 2
    if keys > most:
        raise ValueError(f"{keys} positions are more than the {most} learned")
    queries = q.size(-2)
    rows = spread(most - 1 - offset_range(queries, keys, device=q.device), queries)  # (Q, K)
    by_row = q @ table.to(q.dtype).T * scale  # (..., Q, 2M - 1)
    return by_row.gather(-1, rows.expand(*q.shape[:-2], *rows.shape))


class UnclippedRelativePositions(nn.Module):
    """Attend with the unscaled score q·k + q·a_(i-j) and a learned vector for every offset.

    Args:
        max_length: positions M that one query may see, its own included.
        d_k: width E of a query and key.
    """

    def __init__(self, max_length: int, d_k: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(2 * max_length - 1, d_k))
        self.reset()

    @property
    def max_length(self) -> int:
        """How many positions one query may see."""
        return (self.table.size(0) + 1) // 2

    def reset(self, rng: torch.Generator | None = None) -> None:
        """Draw first values, Xavier uniform."""
        nn.init.xavier_uniform_(self.table, generator=rng)

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
        """Attend without a scale unless one is given; (B, H, Q, F).

        Raises:
            ValueError: there are more keys than ``max_length``.
        """
        scale = 1.0 if scale is None else scale
        bias = unclipped_bias(q, self.table, k.size(-2), scale=scale)
        return kernel(q, k, v, visible, scale=scale, bias=bias, dropout=dropout)
