"""Who attended to whom, by an injected kernel that records (figures 3-5).

Shapes: N layers, H heads, Q query positions, K key positions.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.nn import (
    AttentionKernel,
    EncoderDecoder,
    LinearAttention,
    MultiHeadAttention,
)

Array = npt.NDArray[np.float32]
AttentionKind = Literal["encoder", "decoder", "cross"]


@dataclass(frozen=True, slots=True)
class AttentionMaps:
    """The weights of one sentence pair, in the three uses of section 3.2.3.

    Args:
        encoder: source to source, (N, H, S, S).
        decoder: target to itself, (N, H, T, T); the first target position is the start symbol.
        cross: target to source, (N, H, T, S).
        source_pieces: labels of the S source positions.
        target_pieces: labels of the T target positions, as the decoder read them.
        written_pieces: the piece that was written at each target position, one step ahead of what
            was read there; rows of decoder and cross are named after it.
    """

    encoder: Array
    decoder: Array
    cross: Array
    source_pieces: tuple[str, ...]
    target_pieces: tuple[str, ...]
    written_pieces: tuple[str, ...] = ()

    def view(self, kind: AttentionKind) -> "AttentionView":
        """Give one of the three uses with the names of its rows and columns."""
        written = self.written_pieces or self.target_pieces
        match kind:
            case "encoder":
                return AttentionView(self.encoder, self.source_pieces, self.source_pieces)
            case "decoder":
                return AttentionView(self.decoder, written, self.target_pieces)
            case "cross":
                return AttentionView(self.cross, written, self.source_pieces)


@dataclass(frozen=True, slots=True)
class AttentionView:
    """One use of attention.

    Args:
        weights: (N, H, Q, K); each row sums to 1.
        rows: names of the Q positions that look.
        columns: names of the K positions looked at.
    """

    weights: Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    def chosen(self, layer: int, head: int | None) -> Array:
        """Give the weights (Q, K) of a head, or the mean of all heads of a layer, from 0."""
        return self.weights[layer].mean(0) if head is None else self.weights[layer, head]


@torch.inference_mode()
def attention_maps(
    model: EncoderDecoder, source: Tensor, target_in: Tensor
) -> tuple[Array, Array, Array]:
    """Run one pair through a model and record every attention weight.

    Args:
        model: is run in evaluation mode, unchanged.
        source: ids, (1, S).
        target_in: ids, (1, T).

    Returns:
        Encoder (N, H, S, S), decoder (N, H, T, T) and cross-attention (N, H, T, S) weights.

    Raises:
        ModelError: its attention forms no weights.
    """
    model.eval()
    if any(isinstance(module, LinearAttention) for module in model.modules()):
        raise ModelError("linear attention forms no weights, so there is nothing to show")
    parts = (
        [layer.get_submodule("attention") for layer in model.encoder.layers],
        [layer.get_submodule("attention") for layer in model.decoder.layers],
        [layer.get_submodule("cross_attention") for layer in model.decoder.layers],
    )
    with _recording([module for part in parts for module in part]) as recorded:
        model(source, target_in)
    maps = [torch.cat([recorded[module] for module in part]) for part in parts]
    encoder, decoder, cross = (weights.float().cpu().numpy() for weights in maps)
    return encoder, decoder, cross


@torch.inference_mode()
def cross_attention(model: EncoderDecoder, source: Tensor, target_in: Tensor) -> Tensor:
    """Run a batch of B pairs through a model and record how its targets attend to its sources.

    Args:
        model: is run in evaluation mode, unchanged.
        source: ids, (B, S), padded on the right.
        target_in: ids, (B, T), starting with the start symbol, padded on the right.

    Returns:
        Weights in [0, 1], (N, B, H, T, S), float32; rows of padding hold anything.

    Raises:
        ModelError: its attention forms no weights.
    """
    model.eval()
    attentions = [layer.get_submodule("cross_attention") for layer in model.decoder.layers]
    if not all(isinstance(module, MultiHeadAttention) for module in attentions):
        raise ModelError("its decoder forms no attention weights over the source")
    with _recording(attentions) as recorded:
        model.decode(target_in, model.encode(source))
    return torch.stack([recorded[module] for module in attentions]).float()


@contextmanager
def _recording(modules: Sequence[nn.Module]) -> Generator[dict[nn.Module, Tensor]]:
    """Give each attention module a kernel that notes its weights; take it away again after."""
    recorded: dict[nn.Module, Tensor] = {}
    attentions = [module for module in modules if isinstance(module, MultiHeadAttention)]
    before = [module.kernel for module in attentions]
    try:
        for module in attentions:
            _replace_kernel(module, _recorder(module, module.kernel, recorded))
        yield recorded
    finally:
        for module, kernel in zip(attentions, before, strict=True):
            _replace_kernel(module, kernel)


@contextmanager
def replaced_kernel(module: MultiHeadAttention, kernel: AttentionKernel) -> Generator[None]:
    """Let a module attend by another kernel as long as the block runs."""
    own = module.kernel
    _replace_kernel(module, kernel)
    try:
        yield
    finally:
        _replace_kernel(module, own)


def _recorder(
    module: nn.Module, own: AttentionKernel, recorded: dict[nn.Module, Tensor]
) -> AttentionKernel:
    """Make a kernel that attends as ``own`` does, whatever its scores are."""

    def kernel(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        visible: Tensor | None = None,
        *,
        scale: float | None = None,
        bias: Tensor | None = None,
        dropout: float = 0.0,
    ) -> Tensor:
        # With the identity for values, what comes out is the weights.
        identity = torch.eye(k.size(-2), dtype=v.dtype, device=v.device).expand(
            *k.shape[:-2], -1, -1
        )
        weights = own(q, k, identity, visible, scale=scale, bias=bias)
        recorded[module] = weights
        return weights @ v

    return kernel


def _replace_kernel(module: MultiHeadAttention, kernel: AttentionKernel) -> None:
    del module.kernel  # a kernel that is a module itself would not give way
    module.kernel = kernel
