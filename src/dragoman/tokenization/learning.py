"""Learn a vocabulary from text: byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909).

The paper shares one vocabulary of about 37,000 pieces between both languages (section 5.1). The
same lines give the same vocabulary, whatever the number of threads. The other kinds are learnt in
``lookup.py``; ``learn_tokenizer`` chooses.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import cast

import tokenizers
from tokenizers import Regex, models, pre_tokenizers, trainers

from dragoman.tokenization.config import TokenizerConfig
from dragoman.tokenization.existing import read_existing
from dragoman.tokenization.lookup import (
    count_characters_of,
    learn_characters,
    learn_wordpieces,
    learn_words,
    rank,
)
from dragoman.tokenization.stretches import literal_choice, text_normalizer, word_splitter
from dragoman.tokenization.tokenizer import SPECIAL_PIECES, Json, SpecialIds, Tokenizer, assemble
from dragoman.tokenization.unigram import learn_unigram


def learn_tokenizers(
    sources: Iterable[str], targets: Iterable[str], config: TokenizerConfig
) -> tuple[Tokenizer, Tokenizer]:
    """Learn the vocabulary of each side; the same object twice when ``config.shared``.

    Args:
        sources: lines of the source side, read as ``learn_tokenizer`` reads them.
        targets: lines of the target side.
        config: what to learn.

    Raises:
        DataError: there is no text to learn from.
        ValueError: a line is not Unicode text.
    """
    if config.shared:
        both = _Together((_readable_twice(sources), _readable_twice(targets)))
        tokenizer = learn_tokenizer(both, config)
        return tokenizer, tokenizer
    return learn_tokenizer(sources, config), learn_tokenizer(targets, config.of_target())


def learn_tokenizer(lines: Iterable[str], config: TokenizerConfig) -> Tokenizer:
    """Learn the vocabulary of one stream of text, such as that of a language model.

    Nothing is learnt, and no line read, when ``config.file`` names a vocabulary.

    Args:
        lines: text; may be read twice, and is kept in memory then if it can be read only once.
        config: what to learn; ``joint`` and ``target`` have no meaning here.

    Raises:
        DataError: there is no text to learn from.
        ModelError: the file cannot be read or used.
        ValueError: a line is not Unicode text.
    """
    if config.file is not None:
        return read_existing(config.file, config)
    match config.kind:
        case "bpe":
            return learn_bpe(lines, config)
        case "wordpiece":
            return learn_wordpieces(lines, config)
        case "unigram":
            return learn_unigram(lines, config)
        case "character":
            return learn_characters(lines, config)
        case "word":
            return learn_words(lines, config)


def learn_bpe(lines: Iterable[str], config: TokenizerConfig) -> Tokenizer:
    """Join the most frequent pair of neighbouring pieces until the vocabulary is full.

    A pair that occurs once is not joined. At most half of the learnt pieces are single
    characters, the most frequent ones; others are left to bytes, or unknown without them.

    Args:
        lines: text, read twice; an iterator that can be read only once is kept in memory.
        config: what to learn.

    Raises:
        DataError: there is no text to learn from.
        ValueError: a line is not Unicode text, or the second reading differs from the first.
    """
    lines = _readable_twice(lines)
    ranked = rank(count_characters_of(lines, config))
    common, rare = ranked[: config.room // 2], ranked[config.room // 2 :]
    learner = tokenizers.Tokenizer(models.BPE())
    learner.normalizer = text_normalizer(config.normal_form)
    # The library's own limit on the alphabet breaks ties by chance and then joins the neighbours
    # of a character it left out, as if "axb" held "ab".
    cut = [pre_tokenizers.Split(_any_of(rare), "removed")] if rare else []
    learner.pre_tokenizer = pre_tokenizers.Sequence([*_leave_out(config), *cut, word_splitter()])
    learner.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=config.room, min_frequency=2, show_progress=False)
    )
    ids = learner.get_vocab()
    pieces = sorted(ids, key=ids.__getitem__)
    if {piece for piece in pieces if len(piece) == 1} != {*common}:
        raise ValueError("lines: the second reading differs from the first")
    learnt = cast("Json", json.loads(learner.to_str()))
    merges = cast("list[list[str]]", learnt["model"]["merges"])
    model = models.BPE(
        vocab={piece: number for number, piece in enumerate((*config.reserved_pieces, *pieces))},
        merges=[(left, right) for left, right in merges],
        unk_token=SPECIAL_PIECES[SpecialIds().unknown],
        byte_fallback=config.byte_fallback,
        ignore_merges=bool(config.pieces),  # those have none
    )
    return assemble(model, config.normal_form, splitter=word_splitter(config.pieces))


class _Together:
    """Some streams of lines one after the other, as often as wanted."""

    def __init__(self, streams: Sequence[Iterable[str]]) -> None:
        self._streams = streams

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._streams)


def _readable_twice(lines: Iterable[str]) -> Iterable[str]:
    return list(lines) if isinstance(lines, Iterator) else lines


def _leave_out(config: TokenizerConfig) -> list[pre_tokenizers.PreTokenizer]:
    """Take out what is kept whole, the longest first; nothing is joined across it."""
    if not config.pieces:
        return []
    return [pre_tokenizers.Split(Regex(literal_choice(config.pieces)), "removed")]


def _any_of(characters: Sequence[str]) -> Regex:
    """Match any of the characters; the library refuses more than 10,000 in one class."""
    groups = (characters[start : start + 5_000] for start in range(0, len(characters), 5_000))
    classes = ("".join(f"\\x{{{ord(character):X}}}" for character in group) for group in groups)
    return Regex("|".join(f"[{inside}]" for inside in classes))
