"""What tags do to words: a tree of spans and points, made of a fragment and put into other words.

Shapes: W target words, V source words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dragoman.translator.words import Spans

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Node:
    """A tag that stands alone, or two with what is between them.

    Args:
        tags: numbers of the tags: one, or those that open and close.
        first: source word that comes next after the (opening) tag.
        last: one past the last source word inside; ``first`` when nothing is.
        glued: the tag that stands alone follows a word directly and white space follows it.
        inside: what is between the two, in order.
    """

    tags: tuple[int, ...]
    first: int
    last: int
    glued: bool = False
    inside: "tuple[Node, ...]" = ()


@dataclass(frozen=True, slots=True)
class Step:
    """Write all text up to a character that is not written yet, then a tag."""

    character: int
    tag: int


@dataclass(slots=True)
class _Placed:
    """A node and the target words it goes around; a point goes before ``first``."""

    node: Node
    votes: list[int] = field(default_factory=list[int])
    first: int = 0
    last: int = 0

    @property
    def is_around_words(self) -> bool:
        return self.last > self.first


class Arranger:
    """Finds places in a target for tags of a source.

    Args:
        weights: how strongly words belong together, (W, V).
        words: where the W target words stand.
    """

    def __init__(self, weights: Array, words: Spans) -> None:
        self._weights, self._words = weights, words
        self._best = weights.argmax(1) if weights.size else np.zeros(len(words), dtype=np.int64)

    def steps(
        self, nodes: Sequence[Node], words: tuple[int, int], source: tuple[int, int]
    ) -> Iterator[Step]:
        """Say when to write which tag.

        Args:
            nodes: side by side, in the order of the source.
            words: first target word they may stand before, and one past the last.
            source: likewise of the source.
        """
        placed = self._place_spans(nodes, words)
        for each in placed:
            if not each.is_around_words:
                each.first = each.last = self._point(each.node, words, source, placed)
        order = sorted(
            range(len(placed)),
            key=lambda number: (
                placed[number].first,
                not self._is_left(placed[number], words),
                placed[number].is_around_words,
                number,
            ),
        )
        for number in order:
            yield from self._write(placed[number], words)

    def _write(self, placed: _Placed, words: tuple[int, int]) -> Iterator[Step]:
        node = placed.node
        if not placed.is_around_words:
            left = self._is_left(placed, words)
            character = self._end(placed.first) if left else self._words[placed.first][0]
            yield Step(character, node.tags[0])
            nowhere = (placed.first, placed.first)
            yield from self.steps(node.inside, nowhere, (node.first, node.last))
            yield from (Step(character, tag) for tag in node.tags[1:])
            return
        around = (placed.first, placed.last)
        yield Step(self._words[placed.first][0], node.tags[0])
        yield from self.steps(node.inside, around, (node.first, node.last))
        yield Step(self._words[placed.last - 1][1], node.tags[1])

    def _end(self, word: int) -> int:
        """Where the word before ``word`` ends."""
        return self._words[word - 1][1] if word else 0

    def _is_left(self, placed: _Placed, words: tuple[int, int]) -> bool:
        """Whether a tag stands right after the word before it, white space following."""
        if placed.is_around_words:
            return False
        return placed.first == words[1] or placed.node.glued

    def _place_spans(self, nodes: Sequence[Node], words: tuple[int, int]) -> list[_Placed]:
        """Give each span the words from the first to the last that is aligned to it."""
        placed = [_Placed(node, self._votes(node, words)) for node in nodes]
        spans = sorted(
            (each for each in placed if each.votes), key=lambda each: float(np.mean(each.votes))
        )
        start = words[0]
        for place, each in enumerate(spans):
            end = words[1]
            if place + 1 < len(spans):
                end = _cut_between(each.votes, spans[place + 1].votes, start, end)
            kept = [vote for vote in each.votes if start <= vote < end]
            each.first, each.last = (kept[0], kept[-1] + 1) if kept else (start, start)
            start = end if kept else start
        return placed

    def _votes(self, node: Node, words: tuple[int, int]) -> list[int]:
        """Name the target words aligned to what a node is around, at least one if there are any."""
        if node.first == node.last or words[0] == words[1]:
            return []
        best = self._best[words[0] : words[1]]
        votes = np.flatnonzero((best >= node.first) & (best < node.last))
        if not votes.size:
            mass = self._weights[words[0] : words[1], node.first : node.last].sum(1)
            votes = mass.argmax(keepdims=True)
        return [int(vote) + words[0] for vote in votes]

    def _point(
        self,
        node: Node,
        words: tuple[int, int],
        source: tuple[int, int],
        placed: Sequence[_Placed],
    ) -> int:
        """Find the target word before which something without words of its own stands."""
        if node.first <= source[0]:
            return words[0]
        if node.first >= source[1] or words[0] == words[1]:
            return words[1]
        column = self._weights[words[0] : words[1], node.first]
        aligned = self._best[words[0] : words[1]] == node.first
        word = words[0] + int((column + 2 * aligned).argmax())
        for each in placed:
            if each.is_around_words and each.first < word < each.last:
                return each.first
        return word


def _cut_between(left: Sequence[int], right: Sequence[int], start: int, end: int) -> int:
    """Find the place that leaves the fewest words of two spans on the wrong side."""
    if left[-1] < right[0]:
        return max(start, left[-1] + 1)
    places = sorted({start, end, *(word + 1 for word in left), *right})
    wrong = {
        place: sum(word >= place for word in left) + sum(word < place for word in right)
        for place in places
        if start <= place <= end
    }
    return min(wrong, key=lambda place: wrong[place])
