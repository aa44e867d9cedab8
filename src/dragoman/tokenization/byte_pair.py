"""Byte-pair encoding, written out (Sennrich et al. 2016, arXiv 1508.07909, algorithm 1).

The readable twin of what the ``tokenizers`` library does for ``learn_bpe``: words are split into
characters and an end symbol, and the most frequent pair of neighbours is joined, again and again.
Each step counts everything afresh, so this is for reading and checking, not for large corpora.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BytePairMerge:
    """One step of learning.

    Args:
        pair: the neighbours that were joined.
        count: how often they stood side by side, words weighted by their counts.
        tied_pairs: pairs as frequent as this one, itself included.
    """

    pair: Pair
    count: int
    tied_pairs: int


def learn_merges(
    word_counts: Mapping[str, int], merges: int, *, end_symbol: str = "</w>"
) -> list[BytePairMerge]:
    """Join the most frequent pair of neighbours, ``merges`` times or until none is left.

    Of pairs as frequent as each other, the lexicographically smallest is joined. Overlapping
    occurrences all count (``aaa`` holds ``a a`` twice) and are joined from the left.

    Args:
        word_counts: how often each word occurs.
        merges: steps at most.
        end_symbol: follows the last character of each word; "" for none.
    """
    words = {word: _characters(word, end_symbol) for word in word_counts}
    log: list[BytePairMerge] = []
    for _ in range(merges):
        counts = count_pairs((words[word], count) for word, count in word_counts.items())
        if not counts:
            break
        pair, tied = best_pair(counts)
        log.append(BytePairMerge(pair=pair, count=counts[pair], tied_pairs=tied))
        words = {word: join_pair(symbols, pair, "".join(pair)) for word, symbols in words.items()}
    return log


def apply_merges(word: str, pairs: Iterable[Pair], *, end_symbol: str = "</w>") -> list[str]:
    """Cut a word, seen in learning or not, as the learnt pairs say.

    Args:
        word: without the end symbol.
        pairs: joined one after the other, in the order in which they were learnt.
        end_symbol: as in learning.

    Returns:
        Pieces that spell the word and the end symbol.
    """
    symbols = _characters(word, end_symbol)
    for pair in pairs:
        symbols = join_pair(symbols, pair, "".join(pair))
    return list(symbols)


def count_pairs(words: Iterable[tuple[Sequence[str], int]]) -> Counter[Pair]:
    """Count neighbours in words, each given as its symbols and how often it occurs."""
    counts: Counter[Pair] = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += count
    return counts


def best_pair(values: Mapping[Pair, float]) -> tuple[Pair, int]:
    """Choose the pair of the highest value, the lexicographically smallest of equals.

    Returns:
        The pair, and how many have its value.

    Raises:
        ValueError: there is no pair.
    """
    if not values:
        raise ValueError("values: there is no pair to choose from")
    best = max(values.values())
    tied = [pair for pair, value in values.items() if value == best]
    return min(tied), len(tied)


def join_pair(symbols: Sequence[str], pair: Pair, joined: str) -> tuple[str, ...]:
    """Write ``joined`` wherever the pair stands, from the left and without overlap."""
    found: list[str] = []
    position = 0
    while position < len(symbols):
        if tuple(symbols[position : position + 2]) == pair:
            found.append(joined)
            position += 2
        else:
            found.append(symbols[position])
            position += 1
    return tuple(found)


def _characters(word: str, end_symbol: str) -> tuple[str, ...]:
    return (*word, end_symbol) if end_symbol else tuple(word)
