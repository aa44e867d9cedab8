"""Parallel text and tokenizers to ids, ready for batches: what a translator is trained on."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from dragoman.data import (
    Corpus,
    IdStore,
    LengthLimits,
    Origin,
    Pair,
    PairReport,
    Preparation,
    Survey,
    TrainingText,
    corpus_files,
    corpus_name,
    open_corpus,
    parts_of,
    read_pairs,
)
from dragoman.errors import ConfigError, DataError, MissingExtraError
from dragoman.recipe import Recipe
from dragoman.run.tasks.corpora import (
    check_languages,
    language_tag,
    longest_allowed,
    longest_trainable,
    pairs_in,
    tagged,
    training_texts,
)
from dragoman.run.tasks.pair_sets import Pairs, TrainingSet, ValidationSet
from dragoman.run.tasks.prepared import PreparedFolder, Report, much_is_prepared
from dragoman.run.tasks.vocabulary import Given, keep_tokenizers, prepare_tokenizers
from dragoman.tokenization import Tokenizer

LEARNED_FROM = 1_000_000  # pairs at most that vocabularies are learnt from, spread over the text
_MANY = 100_000  # pairs from which learning takes long enough for a word


def read_all_pairs(
    recipe: Recipe,
    folder: Path,
    *,
    reuse: bool = False,
    given: Given | None = None,
    report: Report = lambda _: None,
) -> Pairs:
    """Read the corpora, learn the tokenizers, and encode; what is on disk already is taken.

    Args:
        recipe: all choices.
        folder: of the run; gets the tokenizers, and the ids unless the recipe says where.
        reuse: take the tokenizers in ``folder`` instead, to go on with its run.
        given: tokenizers of a model to start from.
        report: is told in words how far it is, when it takes long.

    Raises:
        ConfigError: languages or filters do not fit the corpora.
        DataError: a corpus cannot be read, is empty, or has no pair left to train on.
        ModelError: the tokenizers of the run are damaged.
    """
    there = folder.exists()
    try:
        return _read(recipe, folder, reuse=reuse, given=given, report=report)
    except (ConfigError, DataError, MissingExtraError):
        # Text that cannot be used leaves nothing behind, but what took long.
        if not there and not much_is_prepared(folder):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _read(
    recipe: Recipe, folder: Path, *, reuse: bool, given: Given | None, report: Report
) -> Pairs:
    prepared = PreparedFolder(recipe, folder, report)
    texts = training_texts(recipe)
    config = recipe.tokenizer
    learned = given is not None or config.file is None or config.target is not None
    survey = _survey(recipe, prepared, texts, report, wanted=learned and not reuse)
    held_out = survey.held_out
    if len(survey.sources) >= _MANY and given is None:
        report(f"learning the vocabulary from {len(survey.sources):,} pairs")
    vocabulary = prepare_tokenizers(
        config, folder, (survey.sources, survey.targets), reuse=reuse, given=given
    )
    del survey  # a million pairs as text
    tokenizers = tagged(recipe, vocabulary.tokenizers)
    tags = check_languages(recipe, tokenizers[0])
    limits = LengthLimits(
        limit=longest_allowed(recipe),
        longest_alone=longest_trainable(recipe),
        rule=recipe.data.too_long,
    )
    # A mistake in these shows before hours of preparing.
    validation = _validation(recipe, held_out, texts[0], tokenizers, limits)
    _try_test(recipe)
    train: list[TrainingSet] = []
    for text, tag in zip(texts, tags, strict=True):
        preparation = Preparation(tokenizers=tokenizers, tag=tag, limits=limits)
        store, where, there = prepared.store(text, preparation)
        hashes = prepared.sha256(text)
        train.append(TrainingSet(text.name, store, tokenizers, hashes, where, reused=there))
    keep_tokenizers(folder, tokenizers, reuse=reuse)
    if not reuse:
        prepared.clean()
    return Pairs(tokenizers, tuple(train), validation, vocabulary.fit)


def _survey(
    recipe: Recipe,
    prepared: PreparedFolder,
    texts: list[TrainingText],
    report: Report,
    *,
    wanted: bool,
) -> Survey:
    """Read what vocabularies are learnt from, and draw what is held out, unless that is known.

    Args:
        recipe: all choices.
        prepared: may know what was held out.
        texts: to read.
        report: is told how far reading is.
        wanted: whether there are vocabularies to learn, or to judge.
    """
    count = recipe.data.hold_out if recipe.data.validation is None else 0
    survey = Survey(
        texts,
        sample=LEARNED_FROM // len(texts) if wanted else 0,
        hold_out=count,
        seed=recipe.training.seed,
    )
    known = prepared.held_out(texts[0]) if count else ()
    if wanted or known is None:
        survey.read(lambda name, lines: report(f"reading {name}: {lines:,} lines so far"))
        prepared.keep_held_out(texts[0], survey.held_out)
    else:
        survey.take(known)
    return survey


def _validation(
    recipe: Recipe,
    held_out: tuple[Pair, ...],
    text: TrainingText,
    tokenizers: tuple[Tokenizer, ...],
    limits: LengthLimits,
) -> ValidationSet | None:
    if recipe.data.validation is None:
        if not held_out:
            return None
        report = PairReport(pairs=held_out, lines=len(held_out), blank=0, sha256={})
        return _encoded(text.name, [(text.corpus, report)], tokenizers, limits)
    corpora = parts_of(pairs_in(recipe.data.validation))
    read = [(corpus, read_pairs(corpus)) for corpus in corpora]
    name = ", ".join(corpus_name(corpus) for corpus in corpora)
    return _encoded(name, read, tokenizers, limits)


def _try_test(recipe: Recipe) -> None:
    """See that the test set is there, without reading more of it than its beginning.

    Raises:
        DataError: it cannot be read.
    """
    if recipe.data.test is None:
        return
    for part in parts_of(pairs_in(recipe.data.test)):
        if not any(path.is_fifo() for path in corpus_files(part)):  # which is read only once
            next(open_corpus(part), None)


def _encoded(
    name: str,
    read: Sequence[tuple[Corpus, PairReport]],
    tokenizers: tuple[Tokenizer, ...],
    limits: LengthLimits,
) -> ValidationSet:
    """Turn text into ids, and apply the rule for long pairs."""
    sources: list[list[int]] = []
    targets: list[list[int]] = []
    for corpus, report in read:
        tag = language_tag(tokenizers[0], corpus)
        lead = [] if tag is None else [tag]
        sources += [
            [*lead, *ids] for ids in tokenizers[0].encode_many([p.source for p in report.pairs])
        ]
        targets += tokenizers[-1].encode_many([pair.target for pair in report.pairs])
    stores = IdStore.from_sequences(sources), IdStore.from_sequences(targets)
    pairs = [pair for _, report in read for pair in report.pairs]
    lengths = limits.apply(
        (stores[0].lengths, stores[1].lengths), Origin(name, [pair.number for pair in pairs])
    )
    return ValidationSet(
        name,
        stores[0].take(lengths.kept, lengths.longest_source),
        stores[1].take(lengths.kept, lengths.longest_target),
        tuple(pairs[int(index)] for index in lengths.kept),
        lengths,
        tuple(report for _, report in read),
    )
