"""What a recipe says of its parallel text: which corpora, which languages, which lengths."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import cast

from dragoman.data import (
    ADDED_SYMBOLS,
    AnyCorpus,
    Corpus,
    HoldOut,
    IdStore,
    Pair,
    ParallelCorpus,
    Several,
    TrainingText,
    corpus_name,
    open_corpus,
    parts_of,
)
from dragoman.errors import ConfigError, DataError
from dragoman.models import ModelConfig
from dragoman.recipe import CORPORA, Recipe
from dragoman.tokenization import Tokenizer, with_languages


def parallel(corpus: AnyCorpus) -> Corpus:
    """Know that there is one corpus with two sides.

    Raises:
        ConfigError: there are several, which only translation learns from.
    """
    if isinstance(corpus, Several):
        hint = "put the text into one file"
        raise ConfigError("data", "several corpora are for translation only", hint)
    assert isinstance(corpus, ParallelCorpus)  # the recipe has checked
    return corpus


def pairs_in(corpus: AnyCorpus) -> Corpus | Several:
    """Know that a corpus has two sides, as the recipe has checked."""
    assert isinstance(corpus, ParallelCorpus | Several)
    return corpus


def training_texts(recipe: Recipe) -> list[TrainingText]:
    """Give each corpus to learn from as it is learned from, filtered."""
    data = recipe.data
    compared: dict[str, _Again] = {}
    for name, corpus in (("validation", data.validation), ("test", data.test)):
        if corpus is not None:
            compared[name] = _Again(parts_of(pairs_in(corpus)))
    corpora = parts_of(pairs_in(data.train))
    return [TrainingText(corpus, data.filters, compared) for corpus in corpora]


def language_tag(tokenizer: Tokenizer, corpus: Corpus) -> int | None:
    """Give the id that says which language to translate to; None when the model has one only.

    Raises:
        ConfigError: the corpus does not say its language, or one that the model does not know
            (place ``target_language``).
    """
    known = tokenizer.languages
    if not known:
        return None
    language = corpus.target_language
    if language not in known:
        problem = "is not given" if language is None else f"{language!r} is no language of training"
        hint = f"choose from {', '.join(known)}"
        raise ConfigError("target_language", f"{problem} ({corpus_name(corpus)})", hint)
    return known[language]


def longest_allowed(recipe: Recipe) -> int:
    """Most pieces on a side, the end symbol included: by budget, by choice, or by positions.

    What a model wants around a side beyond one symbol takes room too.
    """
    limit = longest_trainable(recipe)
    budget = recipe.training.largest_budget - _more_symbols(recipe)
    return budget if limit is None else min(limit, budget)


def longest_trainable(recipe: Recipe) -> int | None:
    """The same for a pair that may exceed the budget in a batch alone; None is no limit."""
    positions = recipe.model.max_length
    if positions is not None:
        positions -= _more_symbols(recipe)
    limits = [recipe.data.max_length, positions]
    return min((limit for limit in limits if limit is not None), default=None)


def _more_symbols(recipe: Recipe) -> int:
    if not isinstance(recipe.model, ModelConfig):
        return 0
    return max(0, *(added - ADDED_SYMBOLS for added in recipe.model.added_symbols))


def hold_out(pairs: Sequence[Pair], recipe: Recipe) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Take pairs out at random; no held-out source sentence stays in the training text."""
    count = recipe.data.hold_out
    if not count or recipe.data.validation is not None:
        return tuple(pairs), ()
    draw = HoldOut(count, recipe.training.seed)
    for pair in pairs:
        draw.offer(pair)
    held_out = draw.pairs()
    sources = {pair.source for pair in held_out}
    train = tuple(pair for pair in pairs if pair.source not in sources)
    if not train:
        name = corpus_name(parallel(recipe.data.train))
        problem = f"holding out {count} pairs leaves none to train on"
        raise DataError(name, problem, "lower data.hold_out, or give data.validation")
    return train, held_out


class _Again:
    """The pairs of several corpora, read anew each time they are asked for."""

    def __init__(self, corpora: Sequence[Corpus]) -> None:
        self._corpora = corpora

    def __iter__(self) -> Iterator[Pair]:
        for corpus in self._corpora:
            yield from open_corpus(corpus)


def check_languages(recipe: Recipe, tokenizer: Tokenizer) -> list[int | None]:
    """See that every corpus has a language that the model knows, before hours of preparing.

    Returns:
        The tag of each corpus to learn from.

    Raises:
        ConfigError: one has none, or another, with its place in the recipe.
    """
    tags: dict[str, list[int | None]] = {}
    for name in CORPORA:
        corpus = cast("AnyCorpus | None", getattr(recipe.data, name))
        if corpus is None:
            continue
        tags[name] = []
        for number, part in enumerate(parts_of(pairs_in(corpus)), start=1):
            place = f"data.{name}.parts.{number}" if isinstance(corpus, Several) else f"data.{name}"
            try:
                tags[name].append(language_tag(tokenizer, part))
            except ConfigError as error:
                raise error.inside(place) from None
    return tags["train"]


def tagged(recipe: Recipe, tokenizers: tuple[Tokenizer, ...]) -> tuple[Tokenizer, ...]:
    """Give the source vocabulary a piece for each language, if there is more than one."""
    languages = recipe.data.target_languages
    if len(languages) < 2 and not tokenizers[0].languages:
        return tokenizers
    return (with_languages(tokenizers[0], languages), *tokenizers[1:])


def fingerprint(*stores: IdStore) -> str:
    """Digest ids and their lengths."""
    digest = hashlib.sha256()
    for store in stores:
        digest.update(store.lengths.tobytes())
        digest.update(store.ids.tobytes())
    return digest.hexdigest()
