"""The tags of one text put into its translation, stretch by stretch of what was translated.

Shapes: W target words, V source words.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.translator.alignment import Array, Pair, by_place
from dragoman.translator.fragment import Item, Marked
from dragoman.translator.placeholders import Stretch, target_of
from dragoman.translator.spans import Arranger
from dragoman.translator.words import Spans, word_spans

_FAINT = 1e-9  # so that words of other stretches count where nothing else does


@dataclass(frozen=True, slots=True)
class _Block:
    """A stretch and its words: which they are in the text, and where they stand in the stretch."""

    stretch: Stretch
    source: slice
    target: slice
    source_words: Spans
    target_words: Spans


class Placing:
    """Waits for the alignment of a text, then writes its translation with tags.

    ``pairs`` are what is to be aligned: the stretches that a model translated.

    Args:
        marked: a fragment taken apart.
        stretches: what became of its text.
    """

    def __init__(self, marked: Marked, stretches: Sequence[Stretch]) -> None:
        self._marked = marked
        self._target = target_of(stretches)
        source_ends = _ends([len(each.source) for each in stretches])
        target_ends = _ends([len(each.target) for each in stretches])
        self._source_words = word_spans(marked.text, marked.places.union(source_ends))
        self._target_words = word_spans(self._target, target_ends)
        sources = _per_stretch(self._source_words, source_ends)
        targets = _per_stretch(self._target_words, target_ends)
        self._blocks = [
            _Block(stretch, source, target, source_words, target_words)
            for stretch, (source, source_words), (target, target_words) in zip(
                stretches, sources, targets, strict=True
            )
        ]

    @property
    def pairs(self) -> list[Pair]:
        """What is to be aligned, in order."""
        return [
            Pair(each.stretch.source, each.stretch.target, each.source_words, each.target_words)
            for each in self._blocks
            if not each.stretch.copied
        ]

    def write(self, weights: Sequence[Array]) -> list[Item]:
        """Give the translation as text and numbers of tags.

        Args:
            weights: those of ``pairs``.
        """
        items: list[Item] = []
        nodes = self._marked.nodes(self._source_words)
        arranger = Arranger(self._gather(weights), self._target_words)
        everything = (0, len(self._target_words)), (0, len(self._source_words))
        written = 0
        for step in arranger.steps(nodes, *everything):
            if step.character > written:
                items.append(self._target[written : step.character])
                written = step.character
            items.append(step.tag)
        return [*items, self._target[written:]]

    def _gather(self, weights: Sequence[Array]) -> Array:
        """Put the weights of all stretches into one table, (W, V)."""
        table = _FAINT * by_place(len(self._target_words), len(self._source_words))
        given = iter(weights)
        for block in self._blocks:
            own = _overlap(block) if block.stretch.copied else next(given)
            table[block.target, block.source] += own
        return table


def _ends(lengths: Sequence[int]) -> list[int]:
    return [int(end) for end in np.cumsum(lengths)]


def _per_stretch(words: Spans, ends: Sequence[int]) -> Iterator[tuple[slice, Spans]]:
    """Say for each stretch which words are its own, and where they stand in it."""
    starts = [start for start, _ in words]
    first = begin = 0
    for end in ends:
        last = bisect_left(starts, end)
        yield slice(first, last), [(a - begin, b - begin) for a, b in words[first:last]]
        first, begin = last, end


def _overlap(block: _Block) -> Array:
    """Align the words of a stretch that was copied: each with itself."""
    return np.array(
        [[float(a < d and c < b) for c, d in block.source_words] for a, b in block.target_words]
    ).reshape(len(block.target_words), len(block.source_words))
