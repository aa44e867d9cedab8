"""Activation checkpointing: layers whose insides are computed twice instead of kept.

What a layer computes on the way is dropped after forward and made again in backward, so that a
stack keeps one tensor a layer (Chen et al. 2016, arXiv 1604.06174, section 3). The second time
draws the same dropout, so loss and gradient stay what they were.
"""

from typing import Protocol, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint  # pyright: ignore[reportUnknownVariableType]  # torch's stub


class LayerRunner(Protocol):
    """How a stack runs one of its layers."""

    def __call__(self, layer: nn.Module, *inputs: Tensor | None) -> Tensor:
        """Give ``layer(*inputs)``, (B, T, D), the input the first."""
        ...


def run_layer(layer: nn.Module, *inputs: Tensor | None) -> Tensor:
    """Run a layer and keep what its backward needs."""
    return layer(*inputs)


def run_checkpointed(layer: nn.Module, *inputs: Tensor | None) -> Tensor:
    """Run a layer and keep its inputs alone; backward runs it again.

    Without gradients, as in decoding, there is nothing to keep and the layer runs as ever.
    """
    if not torch.is_grad_enabled():
        return layer(*inputs)
    # Not re-entrant: the other form wants an input with a gradient, and hides errors of backward.
    return cast("Tensor", checkpoint(layer, *inputs, use_reentrant=False))
