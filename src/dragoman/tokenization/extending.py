"""Add pieces to a vocabulary that a model was trained with, for text that it splits badly.

Byte-pair encoding goes on where it stopped: the new text is cut by the old merges, and the most
frequent pair of neighbours is joined again and again (Purason et al. 2025, arXiv 2512.03989). The
new merges come after all old ones and each makes a new piece, so old ids stay valid, and text that
holds no new piece keeps its ids. Vocabularies of characters and words get the most frequent missing
ones.
"""

import heapq
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, groupby, pairwise
from typing import cast

import tokenizers

from dragoman.errors import ConfigError
from dragoman.tokenization.byte_pair import Pair, count_pairs, join_pair
from dragoman.tokenization.lookup import rank
from dragoman.tokenization.tokenizer import (
    BYTE_PIECES,
    SPECIAL_PIECES,
    Json,
    Tokenizer,
    is_over_bytes,
    refuse_surrogates,
)

LEAST_COUNT = 2  # what occurs once is not worth a piece, as in learning


def extend_tokenizers(
    olds: Sequence[Tokenizer], texts: Sequence[Iterable[str]], pieces: int
) -> tuple[Tokenizer, ...]:
    """Extend each vocabulary by its own text, or the only one by all of it.

    Args:
        olds: one vocabulary, or one for each of ``texts``.
        texts: lines, by side.
        pieces: new pieces at most, in each vocabulary.

    Raises:
        ConfigError: as ``extend_tokenizer``.
    """
    if len(olds) == 1:
        return (extend_tokenizer(olds[0], chain.from_iterable(texts), pieces),)
    return tuple(extend_tokenizer(old, text, pieces) for old, text in zip(olds, texts, strict=True))


def extend_tokenizer(old: Tokenizer, lines: Iterable[str], pieces: int) -> Tokenizer:
    """Append pieces to a vocabulary; those it has keep their ids.

    At most half of the new pieces, rounded up, are single characters that the old vocabulary spells
    in bytes or does not know, the most frequent ones.

    Args:
        old: is not changed.
        lines: new text, read once.
        pieces: new ones at most; what occurs once is left out, so there may be fewer.

    Raises:
        ConfigError: this kind of vocabulary cannot be extended (place ``extend``).
        ValueError: a line is not Unicode text.
    """
    if not old.lossless:
        raise ConfigError("extend", "an imported vocabulary cannot grow", "leave it at 0")
    backend = tokenizers.Tokenizer.from_str(old.to_json())
    settings = cast("Json", json.loads(old.to_json()))
    model = settings["model"]
    # With pieces kept whole, merges are ignored for these only.
    merging = model["type"] == "BPE" and not (model.get("ignore_merges") and not model["merges"])
    if model["type"] == "Unigram" or (not merging and settings["pre_tokenizer"]["type"] != "Split"):
        kind = "unigram" if model["type"] == "Unigram" else "wordpiece"
        problem = f"a vocabulary of the kind {kind} cannot grow: old text would be cut otherwise"
        raise ConfigError("extend", problem, "leave it at 0")
    if is_over_bytes(settings["pre_tokenizer"]):
        raise ConfigError("extend", "a vocabulary over bytes cannot grow here", "leave it at 0")
    stretches = _count_stretches(backend, lines)
    if not merging:
        return _append(old, _most_frequent(stretches, backend.get_vocab(), pieces))
    characters = count_characters(stretches)
    with_characters = _append(
        old, _most_frequent(characters, backend.get_vocab(), (pieces + 1) // 2)
    )
    found = with_characters.size - old.size
    words = _cut(with_characters, stretches)
    known = {*with_characters.pieces(range(with_characters.size))}
    merges = continue_merges(words, known, pieces - found)
    joined = dict.fromkeys(left + right for left, right in merges)
    return _append(with_characters, [*joined], merges)


def spelled_before(old: Tokenizer, new: Tokenizer) -> list[list[int]]:
    """Say how the old vocabulary spells each piece that only the new one has.

    A language tag, which is not spelled, takes after all tags that were there, if any were.

    Returns:
        Old ids for each new piece, in the order of the new ids; none is empty.
    """
    model = tokenizers.Tokenizer.from_str(old.to_json()).model
    tags, new_tags = [*old.languages.values()], {*new.languages.values()}
    added = range(old.size, new.size)
    return [
        tags if tags and number in new_tags else [token.id for token in model.tokenize(piece)]
        for number, piece in zip(added, new.pieces(added), strict=True)
    ]


def continue_merges(
    word_counts: Mapping[tuple[str, ...], int], known: Collection[str], pieces: int
) -> list[Pair]:
    """Join the most frequent pair of neighbours until there are so many new pieces.

    Of pairs as frequent as each other, the lexicographically smallest is joined, as in
    ``learn_merges``. A pair that spells a piece of the old vocabulary is never joined: text without
    new pieces would change. One that spells a new piece in another way is, and costs no piece.

    Args:
        word_counts: how often each word occurs; words are cut into old pieces.
        known: pieces of the old vocabulary.
        pieces: new ones at most.
    """
    state = _Words(word_counts, known)
    merges: list[Pair] = []
    new: set[str] = set()
    while (pair := state.best()) is not None:
        joined = pair[0] + pair[1]
        if joined not in new and len(new) == pieces:
            break
        new.add(joined)
        merges.append(pair)
        state.join(pair)
    return merges


class _Words:
    """Words as they are cut now, with the counts of their pairs, counted incrementally."""

    def __init__(self, word_counts: Mapping[tuple[str, ...], int], known: Collection[str]) -> None:
        self.words, self.weights = list(word_counts), list(word_counts.values())
        self.known = known
        self.places: dict[Pair, set[int]] = {}  # words that hold the pair, or once did
        for index, word in enumerate(self.words):
            for pair in pairwise(word):
                self.places.setdefault(pair, set()).add(index)
        self.counts = count_pairs(word_counts.items())
        self.heap: list[tuple[int, Pair]] = []  # (-count, pair); some counts are out of date
        self._offer(self.counts)

    def best(self) -> Pair | None:
        """Find the most frequent pair that may be joined; None when all are rare."""
        while self.heap:
            count, pair = self.heap[0]
            if -count == self.counts[pair]:
                return pair
            heapq.heappop(self.heap)
        return None

    def join(self, pair: Pair) -> None:
        """Join a pair in every word that holds it."""
        joined = pair[0] + pair[1]
        changes: Counter[Pair] = Counter()
        for index in self.places.pop(pair):
            before, weight = self.words[index], self.weights[index]
            after = self.words[index] = join_pair(before, pair, joined)
            for neighbours in pairwise(before):
                changes[neighbours] -= weight
            for neighbours in pairwise(after):
                changes[neighbours] += weight
                if joined in neighbours:
                    self.places.setdefault(neighbours, set()).add(index)
        changed = [each for each, change in changes.items() if change]
        for each in changed:
            self.counts[each] += changes[each]
        self._offer(changed)

    def _offer(self, pairs: Iterable[Pair]) -> None:
        for pair in pairs:
            count = self.counts[pair]
            if count >= LEAST_COUNT and pair[0] + pair[1] not in self.known:
                heapq.heappush(self.heap, (-count, pair))


def count_characters(stretches: Mapping[str, int]) -> Counter[str]:
    """Count the characters of stretches that occur so many times."""
    counts: Counter[str] = Counter()
    for stretch, times in stretches.items():
        for character in stretch:
            counts[character] += times
    return counts


def _most_frequent(counts: Mapping[str, int], known: Collection[str], limit: int) -> list[str]:
    """Choose what is missing from a vocabulary and not rare."""
    missing = {
        piece: count
        for piece, count in counts.items()
        if count >= LEAST_COUNT and piece not in known
    }
    return rank(missing)[:limit] if missing else []


def _count_stretches(backend: tokenizers.Tokenizer, lines: Iterable[str]) -> Counter[str]:
    """Count the stretches of text that a piece may not cross."""
    normalizer, splitter = backend.normalizer, backend.pre_tokenizer
    assert normalizer is not None  # ``Tokenizer`` refuses files without one
    assert splitter is not None
    counts: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        refuse_surrogates(line, f"line {number}: ")
        cut = splitter.pre_tokenize_str(normalizer.normalize_str(line))
        counts.update(stretch for stretch, _ in cut)
    return counts


def _cut(tokenizer: Tokenizer, stretches: Mapping[str, int]) -> Counter[tuple[str, ...]]:
    """Cut stretches into pieces, and at what stays in bytes or unknown, which is never joined."""
    model = tokenizers.Tokenizer.from_str(tokenizer.to_json()).model
    apart = {*SPECIAL_PIECES, *BYTE_PIECES}
    words: Counter[tuple[str, ...]] = Counter()
    for stretch, count in stretches.items():
        cut = [token.value for token in model.tokenize(stretch)]
        for is_apart, run in groupby(cut, apart.__contains__):
            if not is_apart:
                words[tuple(run)] += count
    return words


def _append(old: Tokenizer, pieces: Sequence[str], merges: Sequence[Pair] = ()) -> Tokenizer:
    """Make a tokenizer that has these pieces, and merges, after all others."""
    settings = cast("Json", json.loads(old.to_json()))
    for number, piece in enumerate(pieces, old.size):
        settings["model"]["vocab"][piece] = number
    if merges:
        settings["model"]["merges"] += [list(pair) for pair in merges]
    return Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(settings)))
