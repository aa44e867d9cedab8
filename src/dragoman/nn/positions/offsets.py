"""Offsets from query to key, and values per offset spread over all pairs.

The queries are always the last Q of the K key positions, so query i stands at place K - Q + i and
the offset j - (K - Q + i) of key j lies between 1 - K and Q - 1: Q + K - 1 offsets for Q · K pairs.
What depends on the offset alone is computed once per offset.
"""

import torch
from torch import Tensor


def offset_range(queries: int, keys: int, *, device: torch.device | str | None = None) -> Tensor:
    """List every offset from a query to a key, ascending.

    Args:
        queries: number of query positions Q, the last Q of the key positions.
        keys: number of key positions K.
        device: where the result lives.

    Returns:
        int64, (Q + K - 1,): 1 - K .. Q - 1.

    Raises:
        ValueError: there are fewer keys than queries.
    """
    if keys < queries:
        raise ValueError(f"keys: {keys} is less than queries {queries}")
    return torch.arange(1 - keys, queries, device=device)


def spread(by_offset: Tensor, queries: int) -> Tensor:
    """Give every pair of query and key the value of its offset.

    Args:
        by_offset: one value for each of ``offset_range``, (..., Q + K - 1).
        queries: number of query positions Q.

    Returns:
        (..., Q, K).
    """
    keys = by_offset.size(-1) + 1 - queries
    # The window from s on holds the offsets 1 - K + s ..: the last query has s = 0.
    return by_offset.unfold(-1, keys, 1).flip(-2)
