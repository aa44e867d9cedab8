"""The encoder (section 3.1, figure 1 left).

Shapes: B sentences, S source positions, D model width.
"""

from collections.abc import Iterable

from torch import Tensor, nn

from dragoman.nn.checkpointing import LayerRunner, run_layer
from dragoman.nn.multi_head import Attention
from dragoman.nn.residual import Residual


class EncoderLayer(nn.Module):
    """Self-attention, then a position-wise network, each inside its residual.

    Args:
        attention: reads (B, S, D) from itself.
        feed_forward: maps (B, S, D) to (B, S, D).
        residuals: the wiring of the two, in this order.
    """

    def __init__(
        self,
        attention: Attention,
        feed_forward: nn.Module,
        residuals: tuple[Residual, Residual],
    ) -> None:
        super().__init__()
        self.attention, self.attention_residual = attention, residuals[0]
        self.feed_forward, self.feed_forward_residual = feed_forward, residuals[1]

    def forward(self, x: Tensor, visible: Tensor | None = None) -> Tensor:
        """Transform (B, S, D); ``visible`` broadcasts to (B, H, S, S)."""
        h = self.attention_residual.open(x)
        x = self.attention_residual.close(x, self.attention(h, h, visible))
        return self.feed_forward_residual(x, self.feed_forward)


class Encoder(nn.Module):
    """A stack of layers.

    Args:
        layers: applied in order.
        final_norm: applied after the last; pre-norm needs one, the paper has none.
        run: how a layer is run; training injects one that saves memory.
    """

    def __init__(
        self,
        layers: Iterable[EncoderLayer],
        *,
        final_norm: nn.Module | None = None,
        run: LayerRunner = run_layer,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm
        self.run = run

    def forward(self, x: Tensor, visible: Tensor | None = None) -> Tensor:
        """Transform (B, S, D); ``visible`` broadcasts to (B, H, S, S)."""
        for layer in self.layers:
            x = self.run(layer, x, visible)
        return x if self.final_norm is None else self.final_norm(x)
