"""Attention with linear biases, ALiBi (Press et al. 2022, arXiv 2108.12409).

Shapes: B sentences, H heads, Q query positions, K key positions, E width of a key, F width of a
value.
"""

import torch
from torch import Tensor, nn

from dragoman.nn.attention import AttentionKernel
from dragoman.nn.positions.offsets import offset_range, spread


def alibi_slopes(heads: int) -> Tensor:
    """Say how steeply distance costs in each head (section 3).

    With n = ``heads`` a power of two these are 2^(-8/n), 2^(-16/n) .. 2^-8. Otherwise, as in the
    authors' code, those of the power of two below, then every second one of the power above.

    Args:
        heads: number of heads H.

    Returns:
        float64, (H,).

    Raises:
        ValueError: there is no head.
    """
    if heads < 1:
        raise ValueError(f"heads: {heads} is less than 1")
    power = 1 << (heads.bit_length() - 1)
    steps = [(head + 1) / power for head in range(power)]
    steps += [(2 * head + 1) / (2 * power) for head in range(heads - power)]
    return 2.0 ** (-8 * torch.tensor(steps, dtype=torch.float64))


def alibi_bias(slopes: Tensor, queries: int, keys: int) -> Tensor:
    """Charge each pair for its distance: -slope · |j - i|.

    Under a causal mask this is the paper's bias; without one it treats both sides alike.

    Args:
        slopes: of each head, (H,).
        queries: number of query positions Q, the last Q of the key positions.
        keys: number of key positions K.

    Returns:
        To add to the scaled scores, (H, Q, K), in the dtype of ``slopes``.

    Raises:
        ValueError: there are fewer keys than queries.
    """
    distances = offset_range(queries, keys, device=slopes.device).abs()
    return spread(-slopes[:, None] * distances, queries)


class AlibiBias(nn.Module):
    """Lower the scores by slope · distance (ALiBi); no length limit, nothing to learn.

    Args:
        heads: number of heads H.

    Raises:
        ValueError: there is no head.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        # No buffer: casting the module would round the slopes.
        self.slopes = alibi_slopes(heads)

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
        """Attend with the bias; (B, H, Q, F)."""
        self.slopes = self.slopes.to(q.device)
        bias = alibi_bias(self.slopes, q.size(-2), k.size(-2)).to(q.dtype)[None]
        return kernel(q, k, v, visible, scale=scale, bias=bias, dropout=dropout)
