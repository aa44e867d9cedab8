"""WordPiece, written out (Schuster & Nakajima 2012; Devlin et al. 2019, arXiv 1810.04805).

Byte-pair encoding joins the most frequent pair. WordPiece joins the pair that makes the corpus more
likely under a model of independent symbols, the one of the highest

    score(left, right) = count(left right) / (count(left) count(right)),

all counts taken from the words as they are cut now. So a pair is joined that seldom stands apart,
even when others are more frequent. A text is then cut without the order of the merges: at each
place the longest piece that fits.

A word begins with a bare symbol and goes on with marked ones: ``play ##ing``. ``learn_wordpiece``
counts everything afresh at each step; ``wordpiece_counts.py`` gives the same merges for real
corpora.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dragoman.tokenization.byte_pair import Pair, best_pair, count_pairs, join_pair

CONTINUATION = "##"
Word = tuple[str, ...]  # a word cut into symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPieceMerge:
    """One step of learning.

    Args:
        pair: the neighbours that were joined.
        joined: the piece they became; two different pairs may become the same one.
        score: of the pair, in (0, 1].
        tied_pairs: pairs of the same score, itself included.
    """

    pair: Pair
    joined: str
    score: float
    tied_pairs: int


def split_word(word: str, *, mark: str = CONTINUATION) -> Word:
    """Cut a word into characters, all but the first marked as continuations."""
    return (*word[:1], *(mark + character for character in word[1:]))


def pair_score(pair_count: int, left_count: int, right_count: int) -> float:
    """Score a pair in double precision: how much likelier it is than by chance, but for a factor.

    Raises:
        ValueError: a symbol does not occur, so there is nothing to compare with.
    """
    if left_count < 1 or right_count < 1:
        raise ValueError(f"counts {left_count} and {right_count} of the symbols must be positive")
    return pair_count / (float(left_count) * float(right_count))


def learn_wordpiece(
    word_counts: Mapping[Word, int],
    *,
    mark: str = CONTINUATION,
    least_counts: Iterable[int] = (1,),
) -> Iterator[WordPieceMerge]:
    """Join the pair of the highest score, step by step, until no pair is left.

    Ties go to the lexicographically smallest pair. Take as many steps as wanted:
    ``islice(learn_wordpiece(...), 1000)``.

    Args:
        word_counts: how often each word occurs; words are cut by ``split_word``.
        mark: what continuations begin with; "" when nothing marks them.
        least_counts: a pair that occurs less often than the first of these is not joined; when no
            other is left, the next one holds. The score alone takes the rarest symbols first: two
            that occur once, side by side, have the highest, 1.
    """
    words = list(word_counts.items())
    for least_count in least_counts:
        while scores := _scores(words, least_count):
            pair, tied = best_pair(scores)
            joined = join_marked(pair, mark)
            yield WordPieceMerge(pair=pair, joined=joined, score=scores[pair], tied_pairs=tied)
            words = [(join_pair(word, pair, joined), count) for word, count in words]


def _scores(words: Sequence[tuple[Word, int]], least_count: int) -> dict[Pair, float]:
    """Score the pairs that occur often enough."""
    symbols: Counter[str] = Counter()
    for word, count in words:
        for symbol in word:
            symbols[symbol] += count
    return {
        (left, right): pair_score(count, symbols[left], symbols[right])
        for (left, right), count in count_pairs(words).items()
        if count >= max(least_count, 1)
    }


def join_marked(pair: Pair, mark: str) -> str:
    """Join two symbols; the mark of the right one goes: ``un`` and ``##do`` make ``undo``."""
    return pair[0] + pair[1].removeprefix(mark)


def apply_wordpiece_merges(
    word: str, pairs: Iterable[Pair], *, mark: str = CONTINUATION
) -> list[str]:
    """Cut a word as it was cut while learning; for other text see ``encode_word``."""
    symbols = split_word(word, mark=mark)
    for pair in pairs:
        symbols = join_pair(symbols, pair, join_marked(pair, mark))
    return list(symbols)


def encode_word(
    word: str,
    vocabulary: Collection[str],
    *,
    mark: str = CONTINUATION,
    unknown: str = "[UNK]",
) -> list[str]:
    """Cut a word greedily: from the left, each time the longest piece that fits.

    Returns:
        The pieces; only ``[unknown]`` when some place fits none.
    """
    pieces: list[str] = []
    start = 0
    while start < len(word):
        before = mark if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if before + word[start:end] in vocabulary), None)
        if end is None:
            return [unknown]
        pieces.append(before + word[start:end])
        start = end
    return pieces
