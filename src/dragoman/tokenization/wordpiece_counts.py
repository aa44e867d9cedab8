"""WordPiece merges for real corpora: the same as ``learn_wordpiece``, counted incrementally.

A merge changes only the words that hold its pair, so only their pairs are counted again. A score
changes with the count of either symbol, that is for very many pairs at once; all scores are
therefore computed afresh at each step, as one vector.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.tokenization.byte_pair import count_pairs
from dragoman.tokenization.wordpiece import CONTINUATION, Word, WordPieceMerge, join_marked

Number = TypeVar("Number", np.float64, np.int64)
_Ids = tuple[int, int]  # a pair, by the numbers of its symbols


def learn_wordpiece_fast(
    word_counts: Mapping[Word, int],
    *,
    mark: str = CONTINUATION,
    least_counts: Iterable[int] = (1,),
) -> Iterator[WordPieceMerge]:
    """Give the merges of ``learn_wordpiece``, in time for tens of thousands of distinct words.

    Args:
        word_counts: how often each word occurs; words are cut into symbols.
        mark: what continuations begin with.
        least_counts: how often a pair must occur to be joined, as in ``learn_wordpiece``.
    """
    state = _State(word_counts)
    for least_count in least_counts:
        while (best := (scores := state.scores(max(least_count, 1))).max(initial=0.0)) > 0:
            tied = np.flatnonzero(scores == best).tolist()
            pair = state.first(tied)
            names = (state.symbols[pair[0]], state.symbols[pair[1]])
            joined = join_marked(names, mark)
            yield WordPieceMerge(pair=names, joined=joined, score=float(best), tied_pairs=len(tied))
            state.join(pair, joined)


def halving(word_counts: Mapping[Word, int]) -> Iterator[int]:
    """Give limits for ``least_counts``: the count of the most frequent pair, half of it, ..., 2.

    Among pairs about as frequent as each other the score decides. Without such limits common words
    stay in characters, while the vocabulary fills up with rare names.
    """
    limit = max(count_pairs(word_counts.items()).values(), default=0)
    while limit > 2:
        yield limit
        limit //= 2
    yield 2


class _State:
    """Words as they are cut now, with the counts of their symbols and pairs.

    Pairs have numbers, "slots", in the vectors ``counts``, ``left`` and ``right``; the slot of a
    pair that no longer occurs goes to the next new one.
    """

    def __init__(self, word_counts: Mapping[Word, int]) -> None:
        self.symbols = sorted({symbol for word in word_counts for symbol in word})
        self.numbers = {symbol: number for number, symbol in enumerate(self.symbols)}
        self.words = [[self.numbers[symbol] for symbol in word] for word in word_counts]
        self.weights = list(word_counts.values())
        self.symbol_counts = np.zeros(max(len(self.symbols), 1))
        self.pairs: list[_Ids] = []
        self.slots: dict[_Ids, int] = {}
        self.free: list[int] = []
        self.places: list[set[int]] = []  # words that hold the pair, or once did
        self.counts = np.zeros(1024)
        self.left = np.zeros(1024, dtype=np.int64)
        self.right = np.zeros(1024, dtype=np.int64)
        changes: Counter[_Ids] = Counter()
        for index, (word, weight) in enumerate(zip(self.words, self.weights, strict=True)):
            for number in word:
                self.symbol_counts[number] += weight
            for pair in pairwise(word):
                changes[pair] += weight
                self.places[self._slot(pair)].add(index)
        self._apply(changes)

    def scores(self, least_count: int) -> NDArray[np.float64]:
        """Score every slot as ``pair_score`` does; 0 where too few pairs are left."""
        used = len(self.pairs)
        counts = self.counts[:used]
        by_chance = self.symbol_counts[self.left[:used]] * self.symbol_counts[self.right[:used]]
        scores = counts / np.maximum(by_chance, 1.0)  # only a pair that is gone has 0
        scores[counts < least_count] = 0.0
        return scores

    def first(self, slots: list[int]) -> _Ids:
        """Find the pair that is lexicographically smallest."""
        names = self.symbols
        found = (self.pairs[slot] for slot in slots)
        return min(found, key=lambda pair: (names[pair[0]], names[pair[1]]))

    def join(self, pair: _Ids, joined: str) -> None:
        """Join a pair in every word that holds it."""
        new = self._number(joined)
        changes: Counter[_Ids] = Counter()
        touched = self.places[self.slots[pair]]
        for index in sorted(touched):
            before, weight = self.words[index], self.weights[index]
            after = _join(before, pair, new)
            times = (len(before) - len(after)) * weight
            if not times:
                continue
            self.words[index] = after
            for number, change in ((pair[0], -times), (pair[1], -times), (new, times)):
                self.symbol_counts[number] += change
            for neighbours in pairwise(before):
                changes[neighbours] -= weight
            for neighbours in pairwise(after):
                changes[neighbours] += weight
                if new in neighbours:
                    self.places[self._slot(neighbours)].add(index)
        self._apply(changes)

    def _apply(self, changes: Mapping[_Ids, int]) -> None:
        """Change the counts of pairs, and free the slots of those that are gone."""
        for pair, change in changes.items():
            slot = self._slot(pair)
            self.counts[slot] += change
            if not self.counts[slot]:
                del self.slots[pair]
                self.places[slot] = set()
                self.free.append(slot)

    def _number(self, symbol: str) -> int:
        """Find the number of a symbol, which may have been made before from other parts."""
        if symbol not in self.numbers:
            self.numbers[symbol] = len(self.symbols)
            self.symbols.append(symbol)
            if len(self.symbols) > len(self.symbol_counts):
                self.symbol_counts = _longer(self.symbol_counts)
        return self.numbers[symbol]

    def _slot(self, pair: _Ids) -> int:
        """Find the slot of a pair, or give it one."""
        if pair in self.slots:
            return self.slots[pair]
        if self.free:
            slot = self.free.pop()
            self.pairs[slot] = pair
        else:
            slot = len(self.pairs)
            self.pairs.append(pair)
            self.places.append(set())
        if slot == len(self.counts):
            self.counts = _longer(self.counts)
            self.left, self.right = _longer(self.left), _longer(self.right)
        self.slots[pair] = slot
        self.left[slot], self.right[slot] = pair
        return slot


def _join(word: list[int], pair: _Ids, new: int) -> list[int]:
    left, right = pair
    joined: list[int] = []
    skip = False
    for position, number in enumerate(word):
        if skip:
            skip = False
        elif number == left and word[position + 1 : position + 2] == [right]:
            joined.append(new)
            skip = True
        else:
            joined.append(number)
    return joined


def _longer(vector: NDArray[Number]) -> NDArray[Number]:
    """Double a vector, with zeros."""
    return np.concatenate([vector, np.zeros_like(vector)])
