"""Exact attention over blocks of keys, in memory that grows with the length and not its square.

The softmax needs the sum over all keys, but that sum can run: after each block of keys the largest
score m, the sum l of exp(score - m) and the weighted sum of values are enough (Milakov and
Gimelshein 2018, arXiv 1805.02867). Queries are cut into blocks too, and backward computes each
block's weights again instead of keeping them (Dao et al. 2022, arXiv 2205.14135).

Shapes: B sentences, H heads, Q query positions, K key positions, E width of a query or key,
F width of a value; any leading dimensions may stand for (B, H).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint  # pyright: ignore[reportUnknownVariableType]  # untyped in torch

from dragoman.nn.attention import attention_scores, check_visible


@dataclass(frozen=True, slots=True)
class RunningSoftmax:
    """What queries know after some blocks of keys; enough to go on, and to answer.

    Args:
        row_max: the largest score m so far, (..., Q); -inf while a query has seen nothing.
        row_sum: the sum l of exp(score - m), (..., Q).
        values: the sum of exp(score - m) v, (..., Q, F).
    """

    row_max: Tensor
    row_sum: Tensor
    values: Tensor

    @classmethod
    def start(cls, q: Tensor, width: int) -> "RunningSoftmax":
        """Know nothing yet, for queries (..., Q, E) and values of ``width``; float32 at least."""
        dtype = torch.promote_types(q.dtype, torch.float32)
        nothing = torch.zeros(q.shape[:-1], dtype=dtype, device=q.device)
        row_max = torch.full_like(nothing, float("-inf"))
        return cls(row_max, nothing, nothing[..., None].expand(*nothing.shape, width))

    def after(self, scores: Tensor, v: Tensor, *, dropout: float = 0.0) -> "RunningSoftmax":
        """Take in one more block of keys: the loop body of algorithm 3 in arXiv 1805.02867.

        Args:
            scores: (..., Q, block), in float32 at least; -inf for hidden keys.
            v: values, (..., block, F).
            dropout: chance in [0, 1) that a weight is dropped; ``row_sum`` counts it all the same.
        """
        # The result does not depend on the maximum, so no gradient goes through it.
        row_max = torch.maximum(self.row_max, scores.detach().amax(-1))
        # A query that has seen nothing would compute -inf - (-inf).
        reference = row_max.masked_fill(row_max == float("-inf"), 0)
        weights = (scores - reference[..., None]).exp()  # (..., Q, block)
        rescale = (self.row_max - reference).exp()  # (..., Q)
        row_sum = self.row_sum * rescale + weights.sum(-1)
        new = F.dropout(weights, dropout, training=dropout > 0).to(v.dtype) @ v
        return RunningSoftmax(row_max, row_sum, self.values * rescale[..., None] + new)

    def output(self) -> Tensor:
        """Give the attention over all keys seen, (..., Q, F); zeros where none was."""
        return self.values / self.row_sum.masked_fill(self.row_sum == 0, 1)[..., None]


def running_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visible: Tensor | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    block: int = 128,
) -> Iterator[RunningSoftmax]:
    """Attend to one block of keys after the other, for all queries at once.

    Arguments and errors are those of ``blockwise_attention``.

    Yields:
        What is known after each block of keys, the last possibly shorter; nothing without keys.
    """
    length, state = k.size(-2), RunningSoftmax.start(q, v.size(-1))
    if length == 0:
        return
    cuts = (_cut(x, -2, block, length) for x in (k, v))
    masks = (_cut(x, -1, block, length) for x in (visible, bias))
    for keys, values, seen, added in zip(*cuts, *masks, strict=True):
        assert keys is not None
        assert values is not None
        scores = attention_scores(q, keys, scale=scale, bias=added).to(state.row_sum.dtype)
        if seen is not None:
            scores = scores.masked_fill(~seen, float("-inf"))
        state = state.after(scores, values, dropout=dropout)
        yield state


def blockwise_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visible: Tensor | None = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    block: int = 128,
) -> Tensor:
    """Attend block by block: the numbers of ``reference_attention`` without its Q x K weights.

    Forward and backward need room for (Q + K) (E + F) numbers and one row of blocks, block x K. A
    mask or bias that is itself Q x K takes its own room, so give one that broadcasts where it can.

    Args:
        q: queries, (..., Q, E).
        k: keys, (..., K, E).
        v: values, (..., K, F).
        visible: boolean, broadcastable to (..., Q, K), or None to allow all.
        scale: factor on the dot products; 1 / sqrt(E) unless given.
        bias: added to the scaled scores, broadcastable to (..., Q, K).
        dropout: chance in [0, 1) that a weight is dropped.
        block: queries and keys in a block.

    Returns:
        (..., Q, F) in the dtype of ``q``, summed in float32 at least; zeros, with finite
        gradients, for a query that sees nothing.

    Raises:
        TypeError: ``visible`` is not boolean.
        ValueError: ``block`` is less than 1.
    """
    check_visible(visible)
    if block < 1:
        raise ValueError(f"block: {block} is less than 1")

    def attend(queries: Tensor, seen: Tensor | None, added: Tensor | None) -> Tensor:
        state = RunningSoftmax.start(queries, v.size(-1))
        for later in running_attention(
            queries, k, v, seen, scale=scale, bias=added, dropout=dropout, block=block
        ):
            state = later
        return state.output().to(q.dtype)

    rows = (_cut(x, -2, block, q.size(-2)) for x in (q, visible, bias))
    outputs: list[Tensor] = [
        checkpoint(attend, *row, use_reentrant=False, preserve_rng_state=dropout > 0)
        for row in zip(*rows, strict=True)
    ]
    return torch.cat(outputs, -2)


def _cut(x: Tensor | None, dim: int, block: int, length: int) -> Sequence[Tensor | None]:
    """Cut ``length`` places along ``dim`` into blocks; what broadcasts there serves them all."""
    blocks = max(1, -(-length // block))
    if x is None or x.dim() < -dim or x.size(dim) == 1:
        return [x] * blocks
    return torch.split(x, block, dim)
