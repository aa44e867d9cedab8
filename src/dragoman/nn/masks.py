"""Who may attend to whom (section 3.2.3): boolean masks in which True means "may attend".

Shapes: B sentences, Q query positions, K key positions. Every mask broadcasts to (B, H, Q, K).
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def causal_mask(
    queries: int, keys: int | None = None, *, device: torch.device | str | None = None
) -> Tensor:
    """Let each query see its own position and those before (section 3.2.3, last point).

    Args:
        queries: number of query positions Q; they are the last Q of the key positions, so that
            a cache of K - Q past positions is all visible.
        keys: number of key positions K; Q unless given.
        device: where the mask lives.

    Returns:
        Boolean, (Q, K).

    Raises:
        ValueError: there are fewer keys than queries.
    """
    keys = queries if keys is None else keys
    if keys < queries:
        raise ValueError(f"keys: {keys} is less than queries {queries}")
    everything = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return everything.tril(keys - queries)


def padding_mask(ids: Tensor, padding: int) -> Tensor:
    """Let every query see the real pieces only.

    Args:
        ids: piece ids of the keys, (B, K).
        padding: id of the padding piece.

    Returns:
        Boolean, (B, 1, 1, K).
    """
    return (ids != padding)[:, None, None, :]


def local_mask(
    queries: int,
    keys: int | None = None,
    *,
    half_width: int,
    device: torch.device | str | None = None,
) -> Tensor:
    """Let each query see r = 2 * half_width + 1 keys centred on it (section 4, restricted).

    Args:
        queries: number of query positions Q, the last Q of the key positions.
        keys: number of key positions K; Q unless given.
        half_width: how many keys on each side.
        device: where the mask lives.

    Returns:
        Boolean, (Q, K).

    Raises:
        ValueError: there are fewer keys than queries, or ``half_width`` is negative.
    """
    if half_width < 0:
        raise ValueError(f"half_width: {half_width} is negative")
    before = causal_mask(queries, keys, device=device).size(1) - queries  # checks the sizes
    query = torch.arange(queries, device=device)[:, None] + before
    key = torch.arange(before + queries, device=device)[None, :]
    return (key - query).abs() <= half_width


def sparse_mask(
    queries: int,
    keys: int | None = None,
    *,
    half_width: int,
    global_positions: Sequence[int],
    device: torch.device | str | None = None,
) -> Tensor:
    """Let each query see its neighbourhood, and global positions see and be seen by all.

    Longformer's pattern (Beltagy et al. 2020, arXiv 2004.05150).

    Args:
        queries: number of query positions Q, the last Q of the key positions.
        keys: number of key positions K; Q unless given.
        half_width: how many keys on each side.
        global_positions: places in the sequence, from 0; those past its end are left out.
        device: where the mask lives.

    Returns:
        Boolean, (Q, K).

    Raises:
        ValueError: there are fewer keys than queries, or ``half_width`` or a place is negative.
    """
    if min(global_positions, default=0) < 0:
        raise ValueError(f"global_positions: {min(global_positions)} is negative")
    near = local_mask(queries, keys, half_width=half_width, device=device)
    keys = near.size(1)
    everywhere = torch.zeros(keys, dtype=torch.bool, device=device)
    everywhere[[place for place in global_positions if place < keys]] = True
    return near | everywhere | everywhere[keys - queries :, None]


def combine(*masks: Tensor | None) -> Tensor | None:
    """Allow what every mask allows; None allows all.

    Returns:
        Boolean, of the broadcast shape, or None if every mask is None.

    Raises:
        TypeError: a mask is not boolean.
    """
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    if any(mask.dtype != torch.bool for mask in given):
        raise TypeError("masks must be boolean, True = may attend")
    result = given[0]
    for mask in given[1:]:
        result = result & mask
    return result
