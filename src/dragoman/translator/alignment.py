"""Which words of a translation come of which words of its source.

What the decoder looks at when it writes a word says so: the cross-attention of the layer that looks
most sharply, averaged over heads, times some trust in equal places. That layer mostly is the last
or the one before it, as Garg et al. found (2019, arXiv 1909.02074). Models that show no such
weights are aligned by place.

Shapes: W target words, V source words, N layers, T target pieces, S source pieces.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from dragoman.bundle import Bundle
from dragoman.data import group_by_length, pad_rows
from dragoman.errors import ModelError
from dragoman.inspection import cross_attention
from dragoman.nn import EncoderDecoder
from dragoman.translator.words import Spans

Array = npt.NDArray[np.float64]
Head = tuple[int, int]  # layer of the decoder and head, from 0
# How fast trust falls with distance, found on the German-English pairs of Multi30k.
_DISTANCE = 2.0
_FAINT = 1e-6  # place decides where nothing is seen


@dataclass(frozen=True, slots=True)
class Pair:
    """A text and its translation, and where the words of each stand."""

    source: str
    target: str
    source_words: Spans
    target_words: Spans


@dataclass(frozen=True, slots=True)
class Aligner:
    """Says how strongly words belong together.

    Args:
        bundle: the model that made the translations, and its tokenizers.
        lead: ids in front of every source, such as that of a language tag.
        limit: most pieces of a source or target; longer pairs are aligned by place.
        batch_tokens: most slots of a batch, source and target together.
        heads: whose mean counts, in place of the sharpest layer and the trust in equal places.
    """

    bundle: Bundle
    lead: tuple[int, ...] = ()
    limit: int = 1024
    batch_tokens: int = 2048
    heads: tuple[Head, ...] = ()

    def align(self, pairs: Sequence[Pair]) -> list[Array]:
        """Weigh every target word against every source word, (W, V) for each pair; more is more."""
        found = [by_place(len(pair.target_words), len(pair.source_words)) for pair in pairs]
        model = self.bundle.model
        if not isinstance(model, EncoderDecoder):
            return found
        rows = [self._encode(pair) for pair in pairs]
        asked = [
            number
            for number, (source, target) in enumerate(rows)
            if found[number].size and max(len(source), len(target)) <= self.limit
        ]
        lengths = [len(rows[number][0]) + len(rows[number][1]) for number in asked]
        try:
            for group in group_by_length(lengths, self.batch_tokens):
                numbers = [asked[int(place)] for place in group]
                weights = self._look(model, [rows[number] for number in numbers])
                for number, layers in zip(numbers, weights, strict=True):
                    place, words = found[number], self._of_words(pairs[number], layers)
                    seen = words + _FAINT * place if self.heads else place * (words + _FAINT)
                    found[number] = seen
        except ModelError:  # it forms no weights
            pass
        return found

    def _encode(self, pair: Pair) -> tuple[list[int], list[int]]:
        frame = self.bundle.frame
        source = frame.source([*self.lead, *self.bundle.source_tokenizer.encode(pair.source)])
        return source, frame.target_in(self.bundle.target_tokenizer.encode(pair.target))

    def _look(
        self, model: EncoderDecoder, rows: Sequence[tuple[list[int], list[int]]]
    ) -> list[Array]:
        """Say what each layer looks at before each target piece is written, (N, T, S) per pair.

        With chosen heads their mean is the only layer.
        """
        padding, device = self.bundle.config.padding, next(model.parameters()).device
        source = pad_rows([source for source, _ in rows], padding).to(device)
        target = pad_rows([target for _, target in rows], padding).to(device)
        seen = cross_attention(model, source, target)  # (N, B, H, T, S)
        if self.heads:
            seen = torch.stack([seen[layer, :, head] for layer, head in self.heads], 1)[None]
        weights = seen.mean(2).cpu().numpy().astype(np.float64)
        frame = self.bundle.frame
        first, after = len(frame.source_before) + len(self.lead), len(frame.source_after)
        start = frame.target_added - 1
        # The row of a piece is that of the one before it; the last row writes the end symbol.
        return [
            weights[:, row, start : len(pieces) - 1, first : max(first, len(ids) - after)]
            for row, (ids, pieces) in enumerate(rows)
        ]

    def _of_words(self, pair: Pair, layers: Array) -> Array:
        """Make weights of words, (W, V), of those of pieces, (N, T, S), in the sharpest layer."""
        source = _membership(self.bundle.source_tokenizer.spans(pair.source), pair.source_words)
        target = _membership(self.bundle.target_tokenizer.spans(pair.target), pair.target_words)
        pieces_of_word = np.maximum(target.sum(0), 1.0)[:, None]
        words = target.T @ (layers @ source) / pieces_of_word  # (N, W, V)
        return words[words.max(-1).mean(-1).argmax()]


def by_place(target_words: int, source_words: int) -> Array:
    """Weigh words by how near their places in the two texts are, (W, V), each in (0, 1]."""
    rows = (np.arange(target_words) + 0.5) / max(target_words, 1)
    columns = (np.arange(source_words) + 0.5) / max(source_words, 1)
    return np.exp(-_DISTANCE * np.abs(rows[:, None] - columns[None, :]))


def _membership(pieces: Sequence[tuple[int, int]], words: Spans) -> Array:
    """Say with 1 which word each piece belongs to, (pieces, words).

    It is the first that it touches, and that which follows if it is white space.
    """
    belongs = np.zeros((len(pieces), len(words)))
    word = 0
    for number, (start, _) in enumerate(pieces):
        while word < len(words) and words[word][1] <= start:
            word += 1
        if word < len(words):
            belongs[number, word] = 1.0
    return belongs
