"""The whole model: encoder, decoder, tables and positions (figure 1).

Shapes: B sentences, S source positions, T target positions, D model width, V target vocabulary.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from dragoman.nn.cache import DecoderCache
from dragoman.nn.decoder import Decoder
from dragoman.nn.embeddings import Generator
from dragoman.nn.encoder import Encoder
from dragoman.nn.input_layer import InputLayer
from dragoman.nn.masks import padding_mask


@dataclass(frozen=True, slots=True)
class Memory:
    """What the decoder reads of the source.

    Args:
        states: encoder output, (B, S, D).
        visible: boolean, (B, 1, 1, S): which positions are real.
    """

    states: Tensor
    visible: Tensor


class EncoderDecoder(nn.Module):
    """The Transformer of the paper.

    Args:
        source_input: source ids to vectors.
        encoder: the left stack.
        target_input: target ids to vectors.
        decoder: the right stack, of layers whose self-attention is causal.
        generator: vectors to logits.
        padding: id of the padding piece on both sides.
        starts_with_padding: whether targets start with the padding piece, as in Marian and T5; it
            is then read like any other.
    """

    def __init__(
        self,
        source_input: InputLayer,
        encoder: Encoder,
        target_input: InputLayer,
        decoder: Decoder,
        generator: Generator,
        *,
        padding: int,
        starts_with_padding: bool = False,
    ) -> None:
        super().__init__()
        self.source_input, self.encoder = source_input, encoder
        self.target_input, self.decoder = target_input, decoder
        self.generator = generator
        self.padding, self.starts_with_padding = padding, starts_with_padding

    @property
    def max_source_length(self) -> int | None:
        """Most source pieces its positions allow; None is no limit."""
        return self.source_input.max_length

    @property
    def max_target_length(self) -> int | None:
        """Most target pieces, the start symbol included; None is no limit."""
        return self.target_input.max_length

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        """Score the piece after every target position.

        Args:
            source: ids, (B, S), padded on the right.
            target_in: ids, (B, T), starting with the start symbol.

        Returns:
            Logits, (B, T, V).
        """
        return self.generator(self.decode(target_in, self.encode(source)))

    def encode(self, source: Tensor) -> Memory:
        """Run the encoder over ids (B, S)."""
        visible = padding_mask(source, self.padding)
        return Memory(self.encoder(self.source_input(source), visible), visible)

    def decode(self, target_in: Tensor, memory: Memory) -> Tensor:
        """Run the decoder over ids (B, T) at once; returns hidden states (B, T, D)."""
        visible = padding_mask(target_in, self.padding)
        if self.starts_with_padding:
            visible[..., :1] = True
        x = self.target_input(target_in)
        return self.decoder(x, memory.states, visible, memory.visible)

    def start(self, memory: Memory) -> DecoderCache:
        """Begin to decode piece by piece."""
        return self.decoder.start(memory.states, memory.visible)

    def step(self, ids: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        """Feed the next ids (rows, T) of each hypothesis; get logits (rows, T, V)."""
        x = self.target_input(ids, cache.length)
        hidden, cache = self.decoder.step(x, cache)
        return self.generator(hidden), cache
