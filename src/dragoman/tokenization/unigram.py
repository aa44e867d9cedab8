"""Learn a unigram vocabulary (Kudo 2018, arXiv 1804.10959, section 3.2).

A text is as likely as its pieces, each by itself. Start with many pieces, all frequent parts of
words; then, again and again, estimate their probabilities (expectation-maximisation over all
segmentations) and drop those whose loss costs the text least, until as many are left as wanted.

The ``tokenizers`` library can do this too, but its result differs from run to run, even on one
thread; and it is not told which characters are to stay. So only its model is used here.
"""

import heapq
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import numpy as np
from tokenizers import models

from dragoman.tokenization.config import TokenizerConfig
from dragoman.tokenization.lookup import count_stretches, rank, weigh
from dragoman.tokenization.stretches import word_splitter
from dragoman.tokenization.tokenizer import SpecialIds, Tokenizer, assemble
from dragoman.tokenization.unigram_lattice import LONGEST_PIECE, Floats, Integers, Lattices

CHARACTERS_READ = 2_000_000  # of different words; the most frequent ones. Bounds time and memory
_SEED = 5  # pieces to start with, for each that is wanted
_KEPT = 0.75  # share of the pieces that stays in a round, as in SentencePiece
_LEAST = 0.5  # pieces used less often than this go, as in SentencePiece


def learn_unigram(lines: Iterable[str], config: TokenizerConfig) -> Tokenizer:
    """Learn the pieces that make the text most likely; beginnings of words bring their space.

    At most half of the learnt pieces are single characters, the most frequent ones; others are left
    to bytes, or unknown without them. The same lines give the same vocabulary. Of more than
    ``CHARACTERS_READ`` characters of different words, the rarest words teach nothing.

    Raises:
        DataError: there is no text to learn from.
        ValueError: a line is not Unicode text.
    """
    splitter = word_splitter(config.pieces)
    stretches = count_stretches(lines, config, splitter)
    characters = rank(weigh(stretches.items()))[: config.room // 2]
    words = _known_parts(stretches, frozenset(characters))
    scores = learn_unigram_scores(words, characters, config.room)
    ordered = sorted(scores, key=lambda piece: (-scores[piece], piece))
    reserved = [(piece, 0.0) for piece in config.reserved_pieces]
    model = models.Unigram(
        [*reserved, *((piece, scores[piece]) for piece in ordered)],
        SpecialIds().unknown,
        config.byte_fallback,
    )
    return assemble(model, config.normal_form, splitter=splitter)


def learn_unigram_scores(
    words: Mapping[str, int], characters: Sequence[str], size: int
) -> dict[str, float]:
    """Choose pieces and estimate their log probabilities.

    Args:
        words: how often each occurs; not empty, and made of ``characters`` only.
        characters: pieces that always stay.
        size: pieces at most, ``characters`` included.

    Returns:
        Natural logarithms, negative, rounded to 6 decimals.
    """
    seeds = seed_pieces(words, max(_SEED * size, 10_000))
    pieces: list[str] = [*characters, *seeds]
    fixed = len(characters)
    numbers = {piece: number for number, piece in enumerate(pieces)}
    lattices = Lattices.of([*words], numbers)
    weights = np.array([*words.values()], np.float64)
    spellings = _spellings(pieces, numbers)
    spelled = np.arange(len(pieces))  # which of the spellings is that of each piece
    single = weigh(words.items())
    counts = np.array([*(single[each] for each in characters), *seeds.values()], np.float64)
    while True:
        counts = lattices.expected_counts(_log_probabilities(counts, fixed), weights)
        scores = _log_probabilities(counts, fixed)
        counts = lattices.expected_counts(scores, weights)
        if len(pieces) <= size:
            break
        # What the text loses, to first order, when a piece is spelled by others.
        losses = counts * (scores - spellings.best_scores(scores)[spelled])
        losses[counts < _LEAST] = -np.inf
        losses[:fixed] = np.inf
        kept = _greatest(losses, max(size, int(_KEPT * len(pieces))))
        changed = np.full(len(pieces), -1)
        changed[kept] = np.arange(len(kept))
        pieces = [pieces[int(number)] for number in kept]
        counts, spelled = counts[kept], spelled[kept]
        lattices, spellings = lattices.renumbered(changed), spellings.renumbered(changed)
    return _used(pieces, counts, fixed)


def seed_pieces(words: Mapping[str, int], most: int) -> dict[str, int]:
    """Count the parts of words, of two or more characters, that occur twice or more.

    Returns:
        The ``most`` that cover most characters, by falling cover, with their counts.
    """
    best: list[tuple[int, str, int]] = []  # (-cover, part, count)
    for length in range(2, LONGEST_PIECE + 1):
        counts: Counter[str] = Counter()
        for word, count in words.items():
            for start in range(len(word) - length + 1):
                counts[word[start : start + length]] += count
        found = ((-count * length, part, count) for part, count in counts.items() if count > 1)
        best = heapq.nsmallest(most, [*best, *found])
    return {part: count for _, part, count in best}


def _spellings(pieces: Sequence[str], numbers: Mapping[str, int]) -> Lattices:
    """Give each piece as a word, without the edge that is the piece itself."""
    whole = Lattices.of(pieces, numbers)
    return whole.chosen(whole.pieces != whole.words)


def _greatest(losses: Floats, number: int) -> Integers:
    """Find the places of the greatest values, in order."""
    return np.sort(np.argsort(-losses, kind="stable")[:number])


def _used(pieces: Sequence[str], counts: Floats, fixed: int) -> dict[str, float]:
    """Give the pieces that are used, or stay anyway, their log probabilities."""
    used = np.flatnonzero((counts >= _LEAST) | (np.arange(len(pieces)) < fixed))
    scores = _log_probabilities(counts[used], fixed)
    return {
        pieces[int(number)]: min(round(float(score), 6), -1e-6)
        for number, score in zip(used, scores, strict=True)
    }


def _log_probabilities(counts: Floats, fixed: int) -> Floats:
    """Divide counts by their sum; none is zero, and those that stay are not too rare either."""
    floored = np.maximum(counts, 1e-10)
    floored[:fixed] = np.maximum(floored[:fixed], _LEAST)
    return np.log(floored / floored.sum())


def _known_parts(stretches: Mapping[str, int], characters: frozenset[str]) -> dict[str, int]:
    """Cut words at characters that are not kept; leave out the rarest words when there are many."""
    parts: Counter[str] = Counter()
    for stretch, count in stretches.items():
        for known, part in groupby(stretch, characters.__contains__):
            if known:
                parts["".join(part)] += count
    # Equals in an order that has nothing to do with the alphabet, but is always the same.
    order = sorted(parts, key=lambda part: (-parts[part], zlib.crc32(part.encode()), part))
    kept: dict[str, int] = {}
    read = 0
    for part in order:
        read += len(part)
        if read > CHARACTERS_READ and kept:
            break
        kept[part] = parts[part]
    return kept
