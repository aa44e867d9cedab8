"""The decoder (section 3.1, figure 1 right).

Shapes: B target sentences, T target positions, S source positions, D model width.
"""

from collections.abc import Iterable, Sequence

from torch import Tensor, nn

from dragoman.nn.cache import DecoderCache, Known
from dragoman.nn.checkpointing import LayerRunner, run_layer
from dragoman.nn.multi_head import Attention
from dragoman.nn.residual import Residual


class DecoderLayer(nn.Module):
    """Self-attention, attention to the source, then a position-wise network.

    Args:
        attention: reads (B, T, D) from itself; knows by its pattern that no position may look
            ahead, unless every call brings a causal mask.
        cross_attention: reads from the encoder's output; None in a stack without a source.
        feed_forward: maps (B, T, D) to (B, T, D).
        residuals: the wiring of the three, in this order; of two without a source.
    """

    def __init__(
        self,
        attention: Attention,
        cross_attention: Attention | None,
        feed_forward: nn.Module,
        residuals: Sequence[Residual],
    ) -> None:
        super().__init__()
        self.attention, self.attention_residual = attention, residuals[0]
        self.cross_attention = cross_attention
        self.cross_attention_residual = None if cross_attention is None else residuals[1]
        self.feed_forward, self.feed_forward_residual = feed_forward, residuals[-1]

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        visible: Tensor | None = None,
        memory_visible: Tensor | None = None,
    ) -> Tensor:
        """Transform all target positions at once.

        Args:
            x: target, (B, T, D).
            memory: encoder output, (B, S, D); None in a stack without a source.
            visible: broadcastable to (B, H, T, T).
            memory_visible: broadcastable to (B, H, T, S).

        Returns:
            (B, T, D).
        """
        h = self.attention_residual.open(x)
        x = self.attention_residual.close(x, self.attention(h, h, visible))
        if self.cross_attention is not None and self.cross_attention_residual is not None:
            h, wiring = self.cross_attention_residual.open(x), self.cross_attention_residual
            x = wiring.close(x, self.cross_attention(h, memory, memory_visible))
        return self.feed_forward_residual(x, self.feed_forward)

    def step(
        self, x: Tensor, past: Known | None, memory: Known | None, memory_visible: Tensor
    ) -> tuple[Tensor, Known]:
        """Transform new positions only.

        Args:
            x: new target positions, (B, T, D); B a multiple of the number of sources.
            past: what self-attention knows of the positions before.
            memory: the projected sources.
            memory_visible: (sources, 1, 1, S).

        Returns:
            The output (B, T, D), and the grown past.
        """
        h = self.attention_residual.open(x)
        y, grown = self.attention.extend(h, past)
        x = self.attention_residual.close(x, y)
        if self.cross_attention is not None and self.cross_attention_residual is not None:
            # The hypotheses of one source become query positions side by side, so that its keys
            # serve all of them without a copy.
            h = self.cross_attention_residual.open(x)
            h = h.view(memory_visible.size(0), -1, x.size(-1))
            y = self.cross_attention.read(h, memory, memory_visible)
            x = self.cross_attention_residual.close(x, y.view(x.shape))
        return self.feed_forward_residual(x, self.feed_forward), grown


class Decoder(nn.Module):
    """A stack of layers.

    Args:
        layers: applied in order.
        final_norm: applied after the last; pre-norm needs one, the paper has none.
        run: how a layer is run over all positions; training injects one that saves memory.
    """

    def __init__(
        self,
        layers: Iterable[DecoderLayer],
        *,
        final_norm: nn.Module | None = None,
        run: LayerRunner = run_layer,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm
        self.run = run

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        visible: Tensor | None = None,
        memory_visible: Tensor | None = None,
    ) -> Tensor:
        """Transform all target positions at once; arguments as in ``DecoderLayer``."""
        for layer in self.layers:
            x = self.run(layer, x, memory, visible, memory_visible)
        return x if self.final_norm is None else self.final_norm(x)

    def start(self, memory: Tensor, memory_visible: Tensor) -> DecoderCache:
        """Project the encoder output (sources, S, D) once for every layer.

        Args:
            memory: encoder output; not read in a stack without a source.
            memory_visible: boolean, (sources, 1, 1, S).
        """
        readers = [layer.cross_attention for layer in self._layers()]
        known = tuple(
            reader.project_memory(memory, memory_visible)
            for reader in readers
            if reader is not None
        )
        return DecoderCache((None,) * len(readers), known, memory_visible)

    def step(self, x: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        """Transform new positions (B, T, D) after those in ``cache``; give both onwards."""
        own: list[Known | None] = []
        memories = cache.memory or (None,) * len(cache.own)
        for layer, past, memory in zip(self._layers(), cache.own, memories, strict=True):
            x, grown = layer.step(x, past, memory, cache.memory_visible)
            own.append(grown)
        length = cache.length + x.size(1)
        x = x if self.final_norm is None else self.final_norm(x)
        return x, DecoderCache(tuple(own), cache.memory, cache.memory_visible, length)

    def _layers(self) -> "list[DecoderLayer]":
        return [layer for layer in self.layers if isinstance(layer, DecoderLayer)]
