"""The decoder alone: a language model (Radford et al. 2018; Liu et al. 2018, arXiv 1801.10198).

Shapes: B sequences, T positions, D model width, V vocabulary.
"""

import torch
from torch import Tensor, nn

from dragoman.nn.cache import DecoderCache
from dragoman.nn.decoder import Decoder
from dragoman.nn.embeddings import Generator
from dragoman.nn.input_layer import InputLayer
from dragoman.nn.masks import padding_mask


class CausalLM(nn.Module):
    """Predict every next piece from the pieces before.

    Args:
        input: ids to vectors.
        decoder: a stack of layers without a source, whose self-attention is causal.
        generator: vectors to logits.
        padding: id of the padding piece.
        starts_with_padding: whether the padding piece is a piece of texts too, such as what they
            start with; it is then read like any other. On the right no real piece sees it anyway.
    """

    def __init__(
        self,
        input: InputLayer,
        decoder: Decoder,
        generator: Generator,
        *,
        padding: int,
        starts_with_padding: bool = False,
    ) -> None:
        super().__init__()
        self.input, self.decoder, self.generator = input, decoder, generator
        self.padding, self.starts_with_padding = padding, starts_with_padding

    @property
    def max_length(self) -> int | None:
        """Most pieces its positions allow, the start symbol included; None is no limit."""
        return self.input.max_length

    def forward(self, ids: Tensor) -> Tensor:
        """Score the piece after every position: ids (B, T), padded on the right, to (B, T, V)."""
        return self.generator(self.hidden(ids))

    def hidden(self, ids: Tensor) -> Tensor:
        """Run the stack over ids (B, T); returns hidden states (B, T, D)."""
        visible = None if self.starts_with_padding else padding_mask(ids, self.padding)
        return self.decoder(self.input(ids), visible=visible)

    def start(self, sequences: int) -> DecoderCache:
        """Begin to write ``sequences`` texts piece by piece."""
        nothing = torch.empty(sequences, 1, 1, 0, device=self.generator.table.device)
        return self.decoder.start(nothing, nothing.bool())

    def step(self, ids: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        """Feed the next ids (rows, T) of each text; get logits (rows, T, V)."""
        x = self.input(ids, cache.length)
        hidden, cache = self.decoder.step(x, cache)
        return self.generator(hidden), cache
