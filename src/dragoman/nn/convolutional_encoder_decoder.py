"""Translation by convolution and attention: ConvS2S (Gehring et al. 2017, arXiv 1705.03122).

Both stacks are gated convolutions; every layer of the decoder attends to the source. With dilated
kernels it is close to ByteNet (arXiv 1610.10099), with separable ones to SliceNet (arXiv
1706.03059). Sections named here are those of arXiv 1705.03122. Where this differs from it:
positions may be sinusoids, nothing is weight-normalised, and the gradients of the encoder are not
divided by the number of decoder layers, which adaptive optimisers do themselves.

Shapes: B sentences, S source positions, T target positions, D model width, V target vocabulary.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor, nn

from dragoman.nn.attention import AttentionKernel, fused_attention
from dragoman.nn.convolution import GatedConvolution
from dragoman.nn.dropout import Dropout
from dragoman.nn.embeddings import Generator
from dragoman.nn.input_layer import InputLayer
from dragoman.nn.masks import padding_mask

# Embeddings start with this standard deviation (section 3.5); those of ``Embedding`` with 1. The
# gates count on small inputs, and attention, whose scores are not divided by √D, still more.
INPUT_STD = 0.1


@dataclass(frozen=True, slots=True)
class ConvolutionalMemory:
    """What the decoder reads of the source.

    Args:
        states: encoder output z, matched with queries, (B, S, D).
        values: what is read, (z + e) · √m, with embeddings e and m real positions, (B, S, D).
        visible: boolean, (B, 1, 1, S): which positions are real.
    """

    states: Tensor
    values: Tensor
    visible: Tensor

    def select(self, sources: Tensor) -> "ConvolutionalMemory":
        """Keep ``sources`` (int64, in this order)."""
        return ConvolutionalMemory(
            self.states.index_select(0, sources),
            self.values.index_select(0, sources),
            self.visible.index_select(0, sources),
        )


@dataclass(frozen=True, slots=True)
class ConvolutionalCache:
    """All that the decoder keeps between two steps; its size does not grow.

    The rows of ``own`` are hypotheses, those of ``memory`` are sources: B = sources x width, the
    hypotheses of one source side by side.

    Args:
        own: the last inputs of each layer's convolution, (B, (k - 1) · dilation, D); None before
            the first step.
        memory: the sources.
        length: how many target positions have been fed.
    """

    own: tuple[Tensor | None, ...]
    memory: ConvolutionalMemory
    length: int = 0

    @property
    def memory_visible(self) -> Tensor:
        """Which source positions are real: boolean, (sources, 1, 1, S)."""
        return self.memory.visible

    def select(self, rows: Tensor | None, sources: Tensor | None) -> "ConvolutionalCache":
        """Keep hypotheses ``rows`` and ``sources`` (int64); None keeps all as they are."""
        own, memory = self.own, self.memory
        if rows is not None:
            own = tuple(None if past is None else past.index_select(0, rows) for past in own)
        if sources is not None:
            memory = memory.select(sources)
        return ConvolutionalCache(own, memory, self.length)


class ConvolutionalDecoderLayer(nn.Module):
    """A causal block, then attention to the source, added to it (section 3.3).

    Args:
        convolution: the block, causal.
        d_model: width D.
        kernel: how the one head attends; inspection injects one that records.

    Raises:
        ValueError: ``convolution`` is not causal.
    """

    def __init__(
        self,
        convolution: GatedConvolution,
        d_model: int,
        *,
        kernel: AttentionKernel = fused_attention,
    ) -> None:
        super().__init__()
        if not convolution.causal:
            raise ValueError("convolution: a decoder must not see later positions; make it causal")
        self.convolution, self.query, self.kernel = convolution, nn.Linear(d_model, d_model), kernel

    def extend(
        self,
        x: Tensor,
        past: Tensor | None,
        embedded: Tensor,
        memory: ConvolutionalMemory,
        real: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Transform new positions.

        Args:
            x: output of the layer before, (B, T, D); B a multiple of the number of sources.
            past: what the convolution keeps of earlier positions; None at the start.
            embedded: target embeddings g, (B, T, D).
            memory: the sources.
            real: boolean, (B, T): False at padding.

        Returns:
            The output (B, T, D), and the past after it.
        """
        h, past = self.convolution.extend(x, past, real)
        return (h + self.read(h, embedded, memory)) * math.sqrt(0.5), past

    def read(self, h: Tensor, embedded: Tensor, memory: ConvolutionalMemory) -> Tensor:
        """Attend from ``h`` and the target embeddings, (B, T, D) each (equations 1 and 2).

            d = (W h + b + g) · √½      c = softmax(d zᵀ) (z + e) · √m

        Returns:
            c, (B, T, D); zeros where the source is all padding.
        """
        d = (self.query(h) + embedded) * math.sqrt(0.5)
        # The hypotheses of one source become query positions side by side, so that its keys
        # serve all of them without a copy.
        q = d.reshape(memory.states.size(0), 1, -1, d.size(-1))
        keys, values = memory.states[:, None], memory.values[:, None]
        return self.kernel(q, keys, values, memory.visible, scale=1.0).reshape(d.shape)


class ConvolutionalEncoderDecoder(nn.Module):
    """An encoder and a decoder of gated convolutions, with the interface of ``EncoderDecoder``.

    Args:
        source_input: source ids to vectors.
        encoder: centred blocks, applied in order.
        target_input: target ids to vectors.
        decoder: layers applied in order. What comes out is dropped out like ``target_input``.
        generator: vectors to logits.
        padding: id of the padding piece on both sides.
    """

    def __init__(
        self,
        source_input: InputLayer,
        encoder: Iterable[GatedConvolution],
        target_input: InputLayer,
        decoder: Iterable[ConvolutionalDecoderLayer],
        generator: Generator,
        *,
        padding: int,
    ) -> None:
        super().__init__()
        self.source_input, self.encoder = source_input, nn.ModuleList(encoder)
        self.target_input, self.decoder = target_input, nn.ModuleList(decoder)
        self.dropout = Dropout(target_input.dropout.p)
        self.generator = generator
        self.padding = padding

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

    def encode(self, source: Tensor) -> ConvolutionalMemory:
        """Run the encoder over ids (B, S)."""
        real = source != self.padding
        embedded = self.source_input(source) * INPUT_STD  # e
        x = embedded
        for layer in self.encoder:
            x = layer(x, real)
        # A mean of m vectors is √m times smaller than each of them (section 3.4).
        size = real.sum(1).to(x.dtype).sqrt()[:, None, None]
        return ConvolutionalMemory(x, (x + embedded) * size, padding_mask(source, self.padding))

    def decode(self, target_in: Tensor, memory: ConvolutionalMemory) -> Tensor:
        """Run the decoder over ids (B, T) at once; returns hidden states (B, T, D)."""
        return self._extend(target_in, self.start(memory))[0]

    def start(self, memory: ConvolutionalMemory) -> ConvolutionalCache:
        """Begin to decode piece by piece."""
        return ConvolutionalCache((None,) * len(self.decoder), memory)

    def step(self, ids: Tensor, cache: ConvolutionalCache) -> tuple[Tensor, ConvolutionalCache]:
        """Feed the next ids (rows, T) of each hypothesis; get logits (rows, T, V)."""
        hidden, cache = self._extend(ids, cache)
        return self.generator(hidden), cache

    def _extend(self, ids: Tensor, cache: ConvolutionalCache) -> tuple[Tensor, ConvolutionalCache]:
        real = ids != self.padding
        embedded = self.target_input(ids, cache.length) * INPUT_STD  # g
        x, own = embedded, list[Tensor | None]()
        for layer, past in zip(self._layers(), cache.own, strict=True):
            x, kept = layer.extend(x, past, embedded, cache.memory, real)
            own.append(kept)
        length = cache.length + ids.size(1)
        return self.dropout(x), ConvolutionalCache(tuple(own), cache.memory, length)

    def _layers(self) -> list[ConvolutionalDecoderLayer]:
        return [layer for layer in self.decoder if isinstance(layer, ConvolutionalDecoderLayer)]
