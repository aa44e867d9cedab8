"""Attention without a model: two layers of three heads, of random weights."""

from collections.abc import Sequence

import numpy as np

from dragoman.inspection import AttentionMaps


def random_maps(source: Sequence[str], target: Sequence[str], seed: int = 1) -> AttentionMaps:
    """Draw rows that sum to one; the end symbol of the target is added."""
    rng = np.random.default_rng(seed)
    s, t = len(source), len(target) + 1
    encoder = rng.dirichlet([0.2] * s, (2, 3, s)).astype(np.float32)
    cross = rng.dirichlet([0.2] * s, (2, 3, t)).astype(np.float32)
    decoder = np.tril(rng.random((2, 3, t, t)))
    decoder = (decoder / decoder.sum(-1, keepdims=True)).astype(np.float32)
    read, written = ("<s>", *target), (*target, "</s>")
    return AttentionMaps(encoder, decoder, cross, tuple(source), read, written)
