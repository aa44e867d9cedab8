"""Parallel text and tokenizers to ids, ready for batches: what a translator is trained on."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.data import (
    ADDED_SYMBOLS,
    AnyCorpus,
    Corpus,
    Files,
    IdStore,
    LengthReport,
    Origin,
    Pair,
    PairReport,
    TsvFile,
    apply_length_rule,
    corpus_name,
    read_pairs,
)
from dragoman.errors import DataError
from dragoman.recipe import Recipe
from dragoman.run.tasks.vocabulary import Given, keep_tokenizers, prepare_tokenizers
from dragoman.tokenization import Tokenizer


@dataclass(frozen=True, slots=True)
class Side:
    """One set of pairs, as ids and as text.

    Args:
        name: what people call it.
        sources: bare source ids.
        targets: bare target ids.
        pairs: the text they come from, in the same order.
        lengths: how many pairs were too long, and what became of them.
        report: what was read.
    """

    name: str
    sources: IdStore
    targets: IdStore
    pairs: tuple[Pair, ...]
    lengths: LengthReport
    report: PairReport

    def notices(self) -> Iterator[str]:
        """Say what was left out or cut, if anything was."""
        if self.report.blank:
            yield f"{self.name}: {self.report.blank:,} pairs left out, blank on a side"
        for what, count in (
            ("dropped", self.lengths.dropped),
            ("cut", self.lengths.truncated),
            ("in batches of their own", self.lengths.alone),
        ):
            if count:
                yield f"{self.name}: {count:,} pairs longer than the limit, {what}"


@dataclass(frozen=True, slots=True)
class Pairs:
    """All parallel text of a run.

    Args:
        tokenizers: one when the vocabulary is joint, otherwise of source and target.
        train: learned from.
        validation: held out.
        fit: how well the tokenizers of another model fit the text, in lines.
    """

    tokenizers: tuple[Tokenizer, ...]
    train: Side
    validation: Side | None
    fit: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Digest of the ids trained on: the same text through the same tokenizers."""
        return fingerprint(self.train.sources, self.train.targets)

    def notices(self) -> Iterator[str]:
        """Say what was read and what was left out."""
        sizes = " and ".join(f"{tokenizer.size:,}" for tokenizer in self.tokenizers)
        yield f"vocabulary: {sizes} pieces"
        yield from self.fit
        yield from self.train.notices()
        if self.validation is not None:
            pairs = len(self.validation.pairs)
            yield f"validation on {pairs:,} pairs of {self.validation.name}"
            yield from self.validation.notices()


def fingerprint(*stores: IdStore) -> str:
    """Digest ids and their lengths."""
    digest = hashlib.sha256()
    for store in stores:
        digest.update(store.lengths.tobytes())
        digest.update(store.ids.tobytes())
    return digest.hexdigest()


def read_all_pairs(
    recipe: Recipe, folder: Path, *, reuse: bool = False, given: Given | None = None
) -> Pairs:
    """Read the corpora, learn the tokenizers, and encode.

    Args:
        recipe: all choices.
        folder: gets the tokenizers.
        reuse: take the tokenizers in ``folder`` instead, to go on with its run.
        given: tokenizers of a model to start from.

    Raises:
        DataError: a corpus cannot be read, is empty, or has no pair left to train on.
        ModelError: the tokenizers of the run are damaged.
    """
    corpus = parallel(recipe.data.train)
    report = read_pairs(corpus)
    train, held_out = hold_out(report.pairs, recipe)
    validation_corpus, validation_report = corpus, report
    if recipe.data.validation is not None:
        validation_corpus = parallel(recipe.data.validation)
        validation_report = read_pairs(validation_corpus)
        held_out = validation_report.pairs
    texts = [pair.source for pair in train], [pair.target for pair in train]
    vocabulary = prepare_tokenizers(recipe.tokenizer, folder, texts, reuse=reuse, given=given)
    tokenizers = vocabulary.tokenizers
    validation: Side | None = None
    if held_out:
        name = corpus_name(validation_corpus)
        validation = _encode(name, validation_report, held_out, tokenizers, recipe)
    encoded = _encode(corpus_name(corpus), report, train, tokenizers, recipe)
    keep_tokenizers(folder, tokenizers, reuse=reuse)
    return Pairs(tokenizers, encoded, validation, vocabulary.fit)


def parallel(corpus: AnyCorpus) -> Corpus:
    """Know that a corpus has two sides, as the recipe has checked."""
    assert isinstance(corpus, Files | TsvFile)
    return corpus


def _encode(
    name: str,
    report: PairReport,
    pairs: Sequence[Pair],
    tokenizers: Sequence[Tokenizer],
    recipe: Recipe,
) -> Side:
    """Turn text into ids, and apply the rule for long pairs."""
    sources = IdStore.from_sequences(encode_all(tokenizers[0], [pair.source for pair in pairs]))
    targets = IdStore.from_sequences(encode_all(tokenizers[-1], [pair.target for pair in pairs]))
    limit = longest_allowed(recipe)
    lengths = apply_length_rule(
        sources.lengths + ADDED_SYMBOLS,
        targets.lengths + ADDED_SYMBOLS,
        limit_source=limit,
        limit_target=limit,
        longest_alone=longest_trainable(recipe),
        rule=recipe.data.too_long,
        origin=Origin(name, [pair.number for pair in pairs]),
    )
    return Side(
        name,
        sources.take(lengths.kept, lengths.longest_source),
        targets.take(lengths.kept, lengths.longest_target),
        tuple(pairs[int(index)] for index in lengths.kept),
        lengths,
        report,
    )


def longest_allowed(recipe: Recipe) -> int:
    """Most pieces on a side, the end symbol included: by budget, by choice, or by positions."""
    limit = longest_trainable(recipe)
    budget = recipe.training.largest_budget
    return budget if limit is None else min(limit, budget)


def longest_trainable(recipe: Recipe) -> int | None:
    """The same for a pair that may exceed the budget in a batch alone; None is no limit."""
    limits = [recipe.data.max_length, recipe.model.max_length]
    return min((limit for limit in limits if limit is not None), default=None)


def encode_all(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[list[int]]:
    """Encode texts, some thousands at a time."""
    for start in range(0, len(texts), 8192):
        yield from tokenizer.encode_many(texts[start : start + 8192])


def hold_out(pairs: Sequence[Pair], recipe: Recipe) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Take pairs out at random; no held-out source sentence stays in the training text."""
    count = recipe.data.hold_out
    if not count or recipe.data.validation is not None:
        return tuple(pairs), ()
    rng = np.random.default_rng([recipe.training.seed, 0])
    chosen = np.sort(rng.permutation(len(pairs))[: min(count, len(pairs) - 1)])
    held_out = tuple(pairs[int(index)] for index in chosen)
    sources = {pair.source for pair in held_out}
    train = tuple(pair for pair in pairs if pair.source not in sources)
    if not train:
        name = corpus_name(parallel(recipe.data.train))
        problem = f"holding out {count} pairs leaves none to train on"
        raise DataError(name, problem, "lower data.hold_out, or give data.validation")
    return train, held_out
