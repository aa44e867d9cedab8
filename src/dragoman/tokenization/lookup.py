"""Vocabularies whose pieces are looked up: characters, words, and WordPiece.

A splitter cuts text into pieces, and the model only looks each up; what is not found is spelled in
bytes. With byte-pair encoding (``learning.py``) the model itself does the cutting.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby

from tokenizers import models, pre_tokenizers
from tokenizers.pre_tokenizers import PreTokenizer

from dragoman.errors import DataError
from dragoman.tokenization.config import TokenizerConfig
from dragoman.tokenization.longest_match import longest_match
from dragoman.tokenization.stretches import NormalForm, splitter, text_normalizer, word_splitter
from dragoman.tokenization.tokenizer import (
    SPECIAL_PIECES,
    SpecialIds,
    Tokenizer,
    assemble,
    refuse_surrogates,
)
from dragoman.tokenization.wordpiece import Word
from dragoman.tokenization.wordpiece_counts import halving, learn_wordpiece_fast

# A word brings its space along. It ends after 256 characters, and before "<": nobody types </s>.
_WORD = r" ?[^\s<]{1,256}|<|\s"


def learn_characters(lines: Iterable[str], config: TokenizerConfig) -> Tokenizer:
    """Keep the most frequent characters; equals by code point. Each is one piece, spaces too.

    Raises:
        DataError: there is no text to learn from.
        ValueError: a line is not Unicode text.
    """
    cut = splitter(r"[\s\S]", whole=config.pieces)
    counts = count_characters_of(lines, config, lead="")
    return _look_up(rank(counts)[: config.room], config, cut, lead="")


def learn_words(lines: Iterable[str], config: TokenizerConfig) -> Tokenizer:
    """Keep the most frequent words; equals by code point.

    A word is all that stands between spaces, punctuation included, with the one space before it.

    Raises:
        DataError: there is no text to learn from.
        ValueError: a line is not Unicode text.
    """
    cut = splitter(_WORD, whole=config.pieces)
    counts = count_stretches(lines, config, cut)
    return _look_up(rank(counts)[: config.room], config, cut)


def learn_wordpieces(lines: Iterable[str], config: TokenizerConfig) -> Tokenizer:
    """Learn pieces by their likelihood (``wordpiece.py``); text is cut longest piece first.

    Beginnings of words are marked by their space, " play" and "ing", where others write "play" and
    "##ing". At most half of the learnt pieces are single characters, and a quarter characters with
    the space before them, the most frequent ones. Pairs are joined by their score among those
    about as frequent as each other (``halving``), and never one that occurs once.

    Raises:
        DataError: there is no text to learn from.
        ValueError: a line is not Unicode text.
    """
    words_apart = word_splitter(config.pieces)
    counts = count_stretches(lines, config, words_apart)
    characters = rank(weigh(counts.items()))
    characters = characters[: config.room // 2]
    words, firsts = _cut(counts, {*characters}, config.room // 4)
    pieces = dict.fromkeys([*sorted(characters), *sorted(firsts)])  # a set that keeps the order
    for merge in learn_wordpiece_fast(words, mark="", least_counts=halving(words)):
        if len(pieces) == config.room:
            break
        pieces[merge.joined] = None
    longest = splitter(longest_match([*pieces, *config.pieces]))
    return _look_up(pieces, config, pre_tokenizers.Sequence([words_apart, longest]))


def normalised_lines(
    lines: Iterable[str], normal_form: NormalForm, *, lead: str = " "
) -> Iterator[str]:
    """Bring lines to the form in which a tokenizer sees them.

    Raises:
        ValueError: a line is not Unicode text; the message counts from 1.
    """
    normalizer = text_normalizer(normal_form, lead=lead)
    for number, line in enumerate(lines, 1):
        refuse_surrogates(line, f"line {number}: ")
        yield normalizer.normalize_str(line)


def rank(counts: Mapping[str, int]) -> list[str]:
    """Sort from frequent to rare; equals by code point.

    Raises:
        DataError: there is nothing.
    """
    if not counts:
        raise DataError("training text", "is empty", "name files that hold text")
    return sorted(counts, key=lambda piece: (-counts[piece], piece))


def _count(stretches: Iterable[Iterable[str]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for stretch in stretches:
        counts.update(stretch)
    return counts


def count_characters_of(
    lines: Iterable[str], config: TokenizerConfig, *, lead: str = " "
) -> Counter[str]:
    """Count the characters of lines, all but those in what ``config.pieces`` keeps whole.

    Raises:
        ValueError: a line is not Unicode text.
    """
    longest_first = sorted(config.pieces, key=len, reverse=True)
    whole = re.compile("|".join(map(re.escape, longest_first)))
    counts: Counter[str] = Counter()
    for line in normalised_lines(lines, config.normal_form, lead=lead):
        counts.update(whole.sub("", line) if longest_first else line)
    return counts


def count_stretches(
    lines: Iterable[str], config: TokenizerConfig, cut: PreTokenizer
) -> Counter[str]:
    """Count what a splitter makes of the lines, all but what ``config.pieces`` keeps whole.

    Raises:
        ValueError: a line is not Unicode text.
    """
    cut_lines = map(cut.pre_tokenize_str, normalised_lines(lines, config.normal_form))
    counts = _count([stretch for stretch, _ in line] for line in cut_lines)
    for piece in config.pieces:
        counts.pop(piece, None)
    return counts


def weigh(stretches: Iterable[tuple[Iterable[str], int]]) -> Counter[str]:
    """Count the parts of stretches that occur so many times."""
    counts: Counter[str] = Counter()
    for stretch, count in stretches:
        for part in stretch:
            counts[part] += count
    return counts


def _cut(
    counts: Mapping[str, int], characters: Collection[str], limit: int
) -> tuple[Counter[Word], list[str]]:
    """Cut words at characters that are not kept, and into symbols.

    Returns:
        The words, and the ``limit`` most frequent symbols of a space and a character.
    """
    stretches: Counter[str] = Counter()
    for word, count in counts.items():
        for known, part in groupby(word, characters.__contains__):
            if known:
                stretches["".join(part)] += count
    starts = weigh(
        ([word[:2]], count) for word, count in stretches.items() if word[0] == " " != word
    )
    firsts = rank(starts)[:limit] if starts else []
    kept = set(firsts)
    words: Counter[Word] = Counter()
    for word, count in stretches.items():
        words[(word[:2], *word[2:]) if word[:2] in kept else tuple(word)] += count
    return words, firsts


def _look_up(
    pieces: Iterable[str], config: TokenizerConfig, cut: PreTokenizer, *, lead: str = " "
) -> Tokenizer:
    """Make a tokenizer whose splitter does all the cutting."""
    vocabulary = {piece: number for number, piece in enumerate((*config.reserved_pieces, *pieces))}
    unknown = SPECIAL_PIECES[SpecialIds().unknown]
    if not config.byte_fallback:
        model = models.WordLevel(vocab=vocabulary, unk_token=unknown)
    else:
        # Byte-pair encoding without merges: a whole stretch when it has an id, otherwise bytes.
        model = models.BPE(
            vocab=vocabulary,
            merges=[],
            unk_token=unknown,
            byte_fallback=True,
            ignore_merges=True,
        )
    return assemble(model, config.normal_form, splitter=cut, lead=lead)
