"""Learn a vocabulary from text: byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909).

The paper shares one vocabulary of about 37,000 pieces between both languages (section 5.1). The
same lines give the same vocabulary, whatever the number of threads.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Literal, cast

import tokenizers
from tokenizers import Regex, models, pre_tokenizers, trainers

from dragoman.configfile import record
from dragoman.errors import ConfigError, DataError
from dragoman.tokenization.tokenizer import (
    BYTE_PIECES,
    SPECIAL_PIECES,
    Json,
    NormalForm,
    SpecialIds,
    Tokenizer,
    assemble,
    refuse_surrogates,
    text_normalizer,
    word_splitter,
)


@record
class TokenizerConfig:
    """The ``[tokenizer]`` table of a recipe.

    Args:
        kind: how the vocabulary is learnt.
        size: pieces at most, special symbols and byte pieces included; little text gives fewer.
        joint: one vocabulary for both sides, as in the paper; otherwise each has ``size`` pieces.
        normal_form: Unicode form that all text is brought to; ``NFKC`` and ``NFKD`` also fold
            characters such as ﬁ, ① and full-width letters.
        byte_fallback: spell characters without a piece in bytes; otherwise they are unknown, and
            missing from decoded text.

    Raises:
        ConfigError: ``size`` leaves no room to learn anything.
    """

    kind: Literal["bpe"] = "bpe"
    size: int = 8_000
    joint: bool = True
    normal_form: NormalForm = "NFC"
    byte_fallback: bool = True

    def __post_init__(self) -> None:
        """Check what no single field can."""
        least = self.reserved + 2  # half of what is left, rounded down, is for characters
        if self.size < least:
            taken = f"{len(SPECIAL_PIECES)} special symbols"
            taken += f" and {len(BYTE_PIECES)} byte pieces" if self.byte_fallback else ""
            raise ConfigError(
                "size", f"{self.size} leaves no room beside {taken}", f"give at least {least}"
            )

        if self.size > 1_000_000:
            raise ConfigError("size", f"{self.size} pieces are more than 1000000", "try 32000")

    @property
    def reserved(self) -> int:
        """Pieces that are there before anything is learnt."""
        return len(SPECIAL_PIECES) + (len(BYTE_PIECES) if self.byte_fallback else 0)


def learn_tokenizers(
    sources: Iterable[str], targets: Iterable[str], config: TokenizerConfig
) -> tuple[Tokenizer, Tokenizer]:
    """Learn the vocabulary of each side; the same object twice when ``config.joint``.

    Args:
        sources: lines of the source side, read as ``learn_bpe`` reads them.
        targets: lines of the target side.
        config: what to learn.

    Raises:
        DataError: there is no text to learn from.
        ValueError: a line is not Unicode text.
    """
    if config.joint:
        both = learn_bpe(_Together((_readable_twice(sources), _readable_twice(targets))), config)
        return both, both
    return learn_bpe(sources, config), learn_bpe(targets, config)


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
    room = config.size - config.reserved
    common, rare = _alphabet(lines, config.normal_form, room // 2)
    learner = tokenizers.Tokenizer(models.BPE())
    learner.normalizer = text_normalizer(config.normal_form)
    # The library's own limit on the alphabet breaks ties by chance and then joins the neighbours
    # of a character it left out, as if "axb" held "ab".
    cut = [pre_tokenizers.Split(_any_of(rare), "removed")] if rare else []
    learner.pre_tokenizer = pre_tokenizers.Sequence([*cut, word_splitter()])
    learner.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=room, min_frequency=2, show_progress=False)
    )
    ids = learner.get_vocab()
    pieces = sorted(ids, key=ids.__getitem__)
    if {piece for piece in pieces if len(piece) == 1} != common:
        raise ValueError("lines: the second reading differs from the first")
    learnt = cast("Json", json.loads(learner.to_str()))
    merges = cast("list[list[str]]", learnt["model"]["merges"])
    reserved = (*SPECIAL_PIECES, *(BYTE_PIECES if config.byte_fallback else ()))
    model = models.BPE(
        vocab={piece: number for number, piece in enumerate((*reserved, *pieces))},
        merges=[(left, right) for left, right in merges],
        unk_token=SPECIAL_PIECES[SpecialIds().unknown],
        byte_fallback=config.byte_fallback,
    )
    return assemble(model, config.normal_form)


class _Together:
    """Some streams of lines one after the other, as often as wanted."""

    def __init__(self, streams: Sequence[Iterable[str]]) -> None:
        self._streams = streams

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._streams)


def _readable_twice(lines: Iterable[str]) -> Iterable[str]:
    return list(lines) if isinstance(lines, Iterator) else lines


def _alphabet(
    lines: Iterable[str], normal_form: NormalForm, limit: int
) -> tuple[set[str], list[str]]:
    """Part the characters into the ``limit`` most frequent and the rest; equals by code point."""
    normalizer = text_normalizer(normal_form)
    counts: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        refuse_surrogates(line, f"line {number}: ")
        counts.update(normalizer.normalize_str(line))
    if not counts:
        raise DataError("training text", "is empty", "name files that hold text")
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    return set(ranked[:limit]), ranked[limit:]


def _any_of(characters: Sequence[str]) -> Regex:
    """Match any of the characters; the library refuses more than 10,000 in one class."""
    groups = (characters[start : start + 5_000] for start in range(0, len(characters), 5_000))
    classes = ("".join(f"\\x{{{ord(character):X}}}" for character in group) for group in groups)
    return Regex("|".join(f"[{inside}]" for inside in classes))
