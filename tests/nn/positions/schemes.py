"""The schemes that attention takes as ``positions=``, by name, ready to try."""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from dragoman.nn import (
    AlibiBias,
    AttentionKernel,
    MultiHeadAttention,
    RelativePositions,
    RotaryPositions,
    T5Bias,
    UnclippedRelativePositions,
    fused_attention,
)
from dragoman.nn.multi_head import AttentionPositions
from dragoman.nn.patterns import Pattern

HEADS, KV_HEADS, WIDTH, D_MODEL = 4, 2, 6, 10


class PositionsModule(AttentionPositions, Protocol):
    """A scheme that is a module as well."""

    def to(self, dtype: torch.dtype) -> nn.Module: ...


SCHEMES: dict[str, Callable[[], PositionsModule]] = {
    "shaw": lambda: RelativePositions(3, WIDTH, WIDTH),
    "shaw-keys-only": lambda: RelativePositions(2, WIDTH),
    "unclipped": lambda: UnclippedRelativePositions(512, WIDTH),
    "t5": lambda: T5Bias(HEADS, bidirectional=False, buckets=8, max_distance=10),
    "t5-bidirectional": lambda: T5Bias(HEADS, bidirectional=True, buckets=8, max_distance=10),
    "rotary": lambda: RotaryPositions(WIDTH),
    "rotary-interleaved": lambda: RotaryPositions(WIDTH, layout="interleaved"),
    "alibi": lambda: AlibiBias(HEADS),
}


def random(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=rng, dtype=torch.float64).to(dtype)


def attention_with(
    scheme: str,
    *,
    pattern: Pattern | None = None,
    kernel: AttentionKernel = fused_attention,
    dtype: torch.dtype = torch.float64,
) -> MultiHeadAttention:
    """Build grouped self-attention with a scheme, in evaluation mode, all weights random."""
    attention = MultiHeadAttention(
        D_MODEL,
        HEADS,
        kv_heads=KV_HEADS,
        d_k=WIDTH,
        pattern=pattern,
        positions=SCHEMES[scheme](),
        kernel=kernel,
    )
    for number, parameter in enumerate(attention.parameters()):
        parameter.data = random(*parameter.shape, seed=number, dtype=torch.float32) / 2
    return attention.to(dtype).eval()
