"""The decoder (section 3.1, figure 1 right).

Shapes: B target sentences, T target positions, S source positions, D model width.
"""

from collections.abc import Iterable

from torch import Tensor, nn

from dragoman.nn.attention import MultiHeadAttention
from dragoman.nn.cache import DecoderCache, KeyValues
from dragoman.nn.masks import causal_mask
from dragoman.nn.residual import Residual


class DecoderLayer(nn.Module):
    """Self-attention, attention to the source, then a position-wise network.

    Args:
        attention: reads (B, T, D) from itself, under a causal mask.
        cross_attention: reads from the encoder's output.
        feed_forward: maps (B, T, D) to (B, T, D).
        residuals: the wiring of the three, in this order.
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: nn.Module,
        residuals: tuple[Residual, Residual, Residual],
    ) -> None:
        super().__init__()
        self.attention, self.attention_residual = attention, residuals[0]
        self.cross_attention, self.cross_attention_residual = cross_attention, residuals[1]
        self.feed_forward, self.feed_forward_residual = feed_forward, residuals[2]

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        visible: Tensor | None = None,
        memory_visible: Tensor | None = None,
    ) -> Tensor:
        """Transform all target positions at once.

        Args:
            x: target, (B, T, D).
            memory: encoder output, (B, S, D).
            visible: broadcastable to (B, H, T, T).
            memory_visible: broadcastable to (B, H, T, S).

        Returns:
            (B, T, D).
        """
        h = self.attention_residual.open(x)
        x = self.attention_residual.close(x, self.attention(h, h, visible))
        h = self.cross_attention_residual.open(x)
        x = self.cross_attention_residual.close(x, self.cross_attention(h, memory, memory_visible))
        return self.feed_forward_residual(x, self.feed_forward)

    def step(
        self,
        x: Tensor,
        past: KeyValues | None,
        memory: KeyValues,
        visible: Tensor | None,
        memory_visible: Tensor,
    ) -> tuple[Tensor, KeyValues]:
        """Transform new positions only.

        Args:
            x: new target positions, (B, T, D); B a multiple of the number of sources.
            past: what self-attention knows of the positions before.
            memory: the projected sources.
            visible: broadcastable to (B, H, T, past + T).
            memory_visible: (sources, 1, 1, S).

        Returns:
            The output (B, T, D), and the grown past.
        """
        h = self.attention_residual.open(x)
        y, past = self.attention.extend(h, past, visible)
        x = self.attention_residual.close(x, y)
        # The hypotheses of one source become query positions side by side, so that its keys
        # serve all of them without a copy.
        h = self.cross_attention_residual.open(x).view(memory.keys.size(0), -1, x.size(-1))
        y = self.cross_attention.read(h, memory, memory_visible)
        x = self.cross_attention_residual.close(x, y.view(x.shape))
        return self.feed_forward_residual(x, self.feed_forward), past


class Decoder(nn.Module):
    """A stack of layers.

    Args:
        layers: applied in order.
        final_norm: applied after the last; pre-norm needs one, the paper has none.
    """

    def __init__(self, layers: Iterable[DecoderLayer], *, final_norm: nn.Module | None = None):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        visible: Tensor | None = None,
        memory_visible: Tensor | None = None,
    ) -> Tensor:
        """Transform all target positions at once; arguments as in ``DecoderLayer``."""
        for layer in self.layers:
            x = layer(x, memory, visible, memory_visible)
        return x if self.final_norm is None else self.final_norm(x)

    def start(self, memory: Tensor, memory_visible: Tensor) -> DecoderCache:
        """Project the encoder output (sources, S, D) once for every layer."""
        known = tuple(layer.cross_attention.project_memory(memory) for layer in self._layers())
        return DecoderCache((None,) * len(known), known, memory_visible)

    def step(self, x: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        """Transform new positions (B, T, D) after those in ``cache``; give both onwards."""
        length = x.size(1)
        visible = None
        if length > 1:
            visible = causal_mask(length, cache.length + length, device=x.device)
        own: list[KeyValues | None] = []
        for layer, past, memory in zip(self._layers(), cache.own, cache.memory, strict=True):
            x, grown = layer.step(x, past, memory, visible, cache.memory_visible)
            own.append(grown)
        x = x if self.final_norm is None else self.final_norm(x)
        return x, DecoderCache(tuple(own), cache.memory, cache.memory_visible)

    def _layers(self) -> "list[DecoderLayer]":
        return [layer for layer in self.layers if isinstance(layer, DecoderLayer)]
