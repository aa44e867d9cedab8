"""The recurrent translator from before the paper (Bahdanau et al. 2014, arXiv 1409.0473).

It has the interface of ``EncoderDecoder``, so whatever trains, scores or searches with a
Transformer does so with this one too.

Shapes: B sentences, S source positions, T target positions, D width of embeddings and states, V
target vocabulary. A source state is 2D wide: the forward and the backward state side by side.
"""

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from dragoman.nn.dropout import Dropout
from dragoman.nn.embeddings import Generator
from dragoman.nn.encoder_decoder import Memory
from dragoman.nn.masks import padding_mask
from dragoman.nn.recurrent_decoder import RecurrentCache, RecurrentDecoder


class RecurrentEncoder(nn.Module):
    """Layers that each read the source in both directions (Bahdanau et al., section 3.2).

    Only real pieces are read, so padding never changes a result.

    Args:
        layers: bidirectional and batch first, each of one layer; the first takes in D numbers, the
            others 2D.
        dropout: chance in [0, 1) that an element is dropped in training, between layers.
    """

    def __init__(self, layers: Sequence[nn.LSTM | nn.GRU], *, dropout: float = 0.0) -> None:
        super().__init__()
        self.layers, self.dropout = nn.ModuleList(layers), Dropout(dropout)

    def forward(self, embedded: Tensor, real: Tensor) -> Tensor:
        """Read sources.

        Args:
            embedded: (B, S, D), S at least 1.
            real: boolean, (B, S): which positions hold a piece; they come before the others.

        Returns:
            (B, S, 2D); zeros where nothing is real.

        Raises:
            ValueError: padding stands before a piece.
        """
        known = real.cpu()  # the library wants lengths there
        if (known[:, 1:] & ~known[:, :-1]).any():
            raise ValueError("real: padding stands before a piece; pad sources on the right")
        packed = pack_padded_sequence(
            embedded,
            known.sum(-1).clamp(min=1),  # an empty row reads one vector, and is emptied below
            batch_first=True,
            enforce_sorted=False,
        )
        for number, layer in enumerate(self.layers):
            packed = self._dropped(packed) if number else packed
            packed, _ = layer(packed)
        states, _ = pad_packed_sequence(packed, batch_first=True, total_length=real.size(1))
        return states.masked_fill(~real[..., None], 0.0)

    def _dropped(self, packed: PackedSequence) -> PackedSequence:
        return packed._replace(data=self.dropout(packed.data))


class RecurrentEncoderDecoder(nn.Module):
    """The translator: an encoder in both directions, and a decoder that attends to it.

    Args:
        source_embedding: source ids to vectors of width D.
        encoder: vectors to source states.
        target_embedding: target ids to vectors of width D; its table also scores the output.
        decoder: vectors and source states to hidden states of width D.
        dropout: chance in [0, 1) that an element of an embedding is dropped in training.
        padding: id of the padding piece on both sides.
        attends: to all source states; otherwise the decoder reads the first one alone, in which the
            backward direction has read the whole source: one vector for a sentence, as before
            attention (Sutskever et al. 2014, arXiv 1409.3215).
    """

    def __init__(
        self,
        source_embedding: nn.Embedding,
        encoder: RecurrentEncoder,
        target_embedding: nn.Embedding,
        decoder: RecurrentDecoder,
        *,
        dropout: float = 0.0,
        padding: int,
        attends: bool = True,
    ) -> None:
        super().__init__()
        self.attends = attends
        self.source_embedding, self.encoder = source_embedding, encoder
        self.target_embedding, self.decoder = target_embedding, decoder
        assert isinstance(target_embedding.weight, nn.Parameter)
        self.generator = Generator(target_embedding.weight)
        self.dropout, self.padding = Dropout(dropout), padding

    @property
    def max_source_length(self) -> int | None:
        """None: there is no limit."""
        return None

    @property
    def max_target_length(self) -> int | None:
        """None: there is no limit."""
        return None

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        """Score the piece after every target position.

        Args:
            source: ids, (B, S), padded on the right.
            target_in: ids, (B, T), starting with the start symbol, padded on the right.

        Returns:
            Logits, (B, T, V).
        """
        return self.generator(self.decode(target_in, self.encode(source)))

    def encode(self, source: Tensor) -> Memory:
        """Run the encoder over ids (B, S), padded on the right; the states are (B, S, 2D)."""
        visible = padding_mask(source, self.padding)
        embedded = self.dropout(self.source_embedding(source))
        return Memory(self.encoder(embedded, visible[:, 0, 0]), visible)

    def decode(self, target_in: Tensor, memory: Memory) -> Tensor:
        """Run the decoder over ids (B, T), piece after piece; returns hidden states (B, T, D)."""
        return self._extend(target_in, self.start(memory))[0]

    def start(self, memory: Memory) -> RecurrentCache:
        """Begin to decode piece by piece."""
        # The backward direction ends at the first position, having read the whole source.
        summary = memory.states[:, 0].chunk(2, -1)[1]
        states, visible = memory.states, memory.visible
        if not self.attends:
            states, visible = states[:, :1], visible[..., :1]
        return self.decoder.start(states, summary, visible)

    def step(self, ids: Tensor, cache: RecurrentCache) -> tuple[Tensor, RecurrentCache]:
        """Feed the next ids (rows, T) of each hypothesis; get logits (rows, T, V)."""
        hidden, cache = self._extend(ids, cache)
        return self.generator(hidden), cache

    def _extend(self, ids: Tensor, cache: RecurrentCache) -> tuple[Tensor, RecurrentCache]:
        return self.decoder(self.dropout(self.target_embedding(ids)), cache)
