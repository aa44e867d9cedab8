"""Sums over keys that stand in for all of them in linear attention (arXiv 2006.16236).

Shapes: B sentences, G heads, Q query positions, K key positions, E width of a query or key,
F width of a value; any leading dimensions may stand for (B, G). Features are phi(q) and phi(k).
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

CHUNK = 64  # positions: weights inside a chunk then take about the room of a head's sums


def feature_map(x: Tensor) -> Tensor:
    """Give phi(x) = elu(x) + 1 > 0 (equation 7), in float32 at least.

    Written as exp(x) below 0, since elu(x) + 1 cancels to 0 in float32 from -17 down.
    """
    x = x.to(torch.promote_types(x.dtype, torch.float32))
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


def hide_keys(features: Tensor, keys_visible: Tensor | None) -> Tensor:
    """Take keys out of all sums: their features (..., K, E) become 0 where not visible (..., K)."""
    return features if keys_visible is None else features.masked_fill(~keys_visible[..., None], 0)


@dataclass(frozen=True, slots=True)
class LinearState:
    """What one linear attention module knows of some positions, however many they are.

    Args:
        products: sum of phi(k) vᵀ over them, (B, G, E, F), in float32 at least.
        keys: sum of phi(k) over them, (B, G, E).
        length: how many positions there have been, hidden ones included.
    """

    products: Tensor
    keys: Tensor
    length: int

    @classmethod
    def over(cls, features: Tensor, v: Tensor, past: "LinearState | None" = None) -> "LinearState":
        """Sum over keys with ``features`` phi(k) (B, G, K, E) and values (B, G, K, F).

        ``past`` holds the sums over the positions before; None is nothing.
        """
        products = features.transpose(-2, -1) @ v.to(features.dtype)
        keys, length = features.sum(-2), features.size(-2)
        if past is None:
            return cls(products, keys, length)
        return cls(past.products + products, past.keys + keys, past.length + length)

    def sums(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Weigh for queries with ``features`` phi(q) (B, G, Q, E).

        Returns:
            The values by their weights, summed, (B, G, Q, F); the weights, summed, (B, G, Q).
        """
        return features @ self.products, (features @ self.keys[..., None])[..., 0]

    def read(self, features: Tensor) -> Tensor:
        """Answer queries with ``features`` phi(q) (B, G, Q, E): means of values, (B, G, Q, F)."""
        return divide(*self.sums(features))

    def select(self, rows: Tensor) -> "LinearState":
        """Keep ``rows`` (int64, in this order, possibly repeated)."""
        products, keys = self.products.index_select(0, rows), self.keys.index_select(0, rows)
        return LinearState(products, keys, self.length)


def attend_causally(q: Tensor, k: Tensor, v: Tensor, past: LinearState | None = None) -> Tensor:
    """Let query i see the past and new keys 0 .. i (equation 9).

    Sums are kept once per chunk and weights are formed inside a chunk only, so that memory grows
    with the length alone: neither Q² weights nor sums for each position.

    Args:
        q: features of queries, (B, G, Q, E).
        k: features of keys, (B, G, Q, E).
        v: values, (B, G, Q, F).
        past: sums over the positions before; None is nothing.

    Returns:
        (B, G, Q, F), in the dtype of ``q``.
    """
    past = LinearState.over(k[..., :0, :], v[..., :0, :], past)
    outputs: list[Tensor] = []
    chunks = [torch.split(x, CHUNK, -2) for x in (q, k, v.to(q.dtype))]
    for q_chunk, k_chunk, v_chunk in zip(*chunks, strict=True):
        weights = (q_chunk @ k_chunk.transpose(-2, -1)).tril()
        before, total_before = past.sums(q_chunk)
        outputs.append(divide(before + weights @ v_chunk, total_before + weights.sum(-1)))
        past = LinearState.over(k_chunk, v_chunk, past)
    return torch.cat(outputs, -2)


def divide(x: Tensor, total: Tensor) -> Tensor:
    """Divide (..., Q, F) by sums of weights (..., Q); a query that saw nothing has x = 0."""
    return x / total.masked_fill(total == 0, 1)[..., None]


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Keep autocast from lowering the sums; "meta" and others know no autocast."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()
