"""Learn to classify: an encoder alone, on text with a class each, or a tag for each word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.data import (
    FRAME,
    Batches,
    ClassBatch,
    Corpus,
    Example,
    IdStore,
    Origin,
    Pair,
    class_batches,
    corpus_name,
    encode_document,
    list_classes,
    read_labelled,
    tag_pieces,
)
from dragoman.errors import DataError
from dragoman.evaluation import MetricName, Validation, validate_classes
from dragoman.models import Model, ModelConfig
from dragoman.nn import EncoderOnly
from dragoman.recipe import Recipe
from dragoman.run.card import data_lines, measured
from dragoman.run.tasks.corpora import (
    fingerprint,
    hold_out,
    longest_allowed,
    parallel,
)
from dragoman.run.tasks.vocabulary import (
    Given,
    given_classes,
    keep_tokenizers,
    prepare_tokenizers,
)
from dragoman.tokenization import Tokenizer
from dragoman.training import class_loss


@dataclass(frozen=True, slots=True)
class Labelled:
    """One set of labelled text as ids.

    Args:
        name: what people call it.
        sequences: bare piece ids.
        classes: one for each sequence, or one for each piece, -1 where a piece has none.
        cut: how many texts were longer than the model takes.
        sha256: digests of the files.
    """

    name: str
    sequences: IdStore
    classes: list[list[int]]
    cut: int
    sha256: dict[str, str]


class Classes:
    """The task of an encoder that classifies text; see ``Task``.

    Args:
        recipe: all choices.
        folder: of the run; gets the tokenizer.
        reuse: take the tokenizer in ``folder``, to go on with its run.
        given: tokenizer and classes of a model to start from.
    """

    def __init__(
        self, recipe: Recipe, folder: Path, *, reuse: bool, given: Given | None = None
    ) -> None:
        assert isinstance(recipe.model, ModelConfig)
        self.recipe, self.budget = recipe, recipe.training.largest_budget
        corpus = parallel(recipe.data.train)
        report = read_labelled(corpus)
        train, held_out = hold_out(report.pairs, recipe)
        validation_corpus, validation_report = corpus, report
        if recipe.data.validation is not None:
            validation_corpus = parallel(recipe.data.validation)
            validation_report = read_labelled(validation_corpus)
            held_out = validation_report.pairs
        self.pairs = train
        texts = [[pair.source for pair in train]]
        vocabulary = prepare_tokenizers(recipe.tokenizer, folder, texts, reuse=reuse, given=given)
        (self.tokenizer,), self.fit = vocabulary.tokenizers, vocabulary.fit
        found = _names(train, corpus_name(corpus), tags=recipe.model.head == "tags")
        self.labeller = Labeller(
            self.tokenizer,
            given_classes(given, found, corpus_name(corpus)),
            tags=recipe.model.head == "tags",
            longest=longest_allowed(recipe) - FRAME,
        )
        sha256 = validation_report.sha256
        self.train = self.labeller.encode(corpus, train, report.sha256)
        self.held_out = self.labeller.encode(validation_corpus, held_out, sha256)
        self.tested: Labelled | None = None
        if recipe.data.test is not None:  # read now, so that a mistake in it shows before training
            test = parallel(recipe.data.test)
            test_report = read_labelled(test)
            self.tested = self.labeller.encode(test, test_report.pairs, test_report.sha256)
        keep_tokenizers(folder, [self.tokenizer], reuse=reuse)
        self.config = replace(
            recipe.model, vocabulary=self.tokenizer.size, classes=self.labeller.names
        )
        named = recipe.validation.metrics
        self.metrics: tuple[MetricName, ...] = ("accuracy",) if named is None else named
        self.examples = len(self.train.sequences)
        self.validated = len(self.held_out.sequences) > 0
        self.fingerprint = fingerprint(
            self.train.sequences,
            IdStore.from_sequences([[c + 1 for c in row] for row in self.train.classes]),
        )

    def notices(self) -> Iterator[str]:
        """Say what was read."""
        names = ", ".join(self.labeller.names)
        yield f"vocabulary: {self.tokenizer.size:,} pieces; classes: {names}"
        yield from self.fit
        for side in (self.train, self.held_out):
            if side.cut:
                yield f"{side.name}: {side.cut:,} texts longer than the limit, cut"
        if self.validated:
            yield f"validation on {len(self.held_out.sequences):,} texts of {self.held_out.name}"

    def batches(self) -> Batches[ClassBatch]:
        """Make the training batches."""
        return self.labeller.batches(
            self.train, budget=self.budget, seed=self.recipe.training.seed, shuffle=True
        )

    def loss(self, model: EncoderOnly, batch: ClassBatch) -> Tensor:
        """Sum the loss of a batch, in nats."""
        return class_loss(model, batch, smoothing=self.recipe.training.label_smoothing)

    def example(self, index: int) -> Example:
        """Give a text to learn from, and its class or tags."""
        pair = self.pairs[index]
        return Example(self.train.name, pair.number, (pair.source, pair.target))

    def validate(self, model: EncoderOnly) -> Validation:
        """Score the texts held out."""
        return self._score(model, self.held_out)

    def test(self, model: EncoderOnly) -> list[str]:
        """Score the test texts, if there are any."""
        if self.tested is None:
            return []
        found = self._score(model, self.tested)
        return measured("test", found.loss_nats, *found.by_metric())

    def bundle(self, model: Model) -> Bundle:
        """Put the model together with its tokenizer."""
        return Bundle(self.config, model, (self.tokenizer,))

    def card(self) -> list[str]:
        """Say what the data was."""
        lines: list[str] = []
        for title, side in (("training", self.train), ("validation", self.held_out)):
            if len(side.sequences):
                counts = f"{len(side.sequences):,} texts ({side.cut:,} cut)"
                lines += data_lines(title, counts, side.sha256)
        return lines

    def _score(self, model: EncoderOnly, side: Labelled) -> Validation:
        return self.labeller.score(model, side, budget=self.budget)


@dataclass(frozen=True, slots=True)
class Labeller:
    """How text and labels become numbers.

    Args:
        tokenizer: of the text.
        names: of the classes.
        tags: whether each word has a label.
        longest: bare pieces after which a text is cut.
    """

    tokenizer: Tokenizer
    names: tuple[str, ...]
    tags: bool
    longest: int

    def encode(self, corpus: Corpus, pairs: Sequence[Pair], sha256: dict[str, str]) -> Labelled:
        """Turn text into ids and labels into numbers; texts that are too long are cut.

        Raises:
            DataError: a label is not a class, or there are not as many tags as words.
        """
        name = corpus_name(corpus)
        origin = Origin(name, [pair.number for pair in pairs])
        sequences: list[list[int]] = []
        classes: list[list[int]] = []
        cut = 0
        for number, pair in enumerate(pairs):
            ids, asked = self._label(pair, origin, number)
            cut += len(ids) > self.longest
            sequences.append(ids[: self.longest])
            classes.append(asked[: self.longest] if self.tags else asked)
        return Labelled(name, IdStore.from_sequences(sequences), classes, cut, sha256)

    def batches(
        self, side: Labelled, *, budget: int, seed: int = 0, shuffle: bool = False
    ) -> Batches[ClassBatch]:
        """Make batches of at most ``budget`` slots."""
        return class_batches(
            side.sequences,
            side.classes,
            tags=self.tags,
            budget=budget,
            special=self.tokenizer.special,
            seed=seed,
            shuffle=shuffle,
        )

    def score(self, model: EncoderOnly, side: Labelled, *, budget: int) -> Validation:
        """Score a model on labelled text."""
        batches = self.batches(side, budget=budget)
        what = "words" if self.tags else "texts"
        return validate_classes(model, batches.whole_epoch(), what=what)

    def _label(self, pair: Pair, origin: Origin, number: int) -> tuple[list[int], list[int]]:
        labels = pair.target.split() if self.tags else [pair.target.strip()]
        unknown = [label for label in labels if label not in self.names]
        if unknown:
            problem = f"{unknown[0]!r} is not a class of the training text"
            hint = f"it has {', '.join(self.names[:10])}"
            raise DataError(origin.name, problem, hint, line=origin.lines[number])
        found = [self.names.index(label) for label in labels]
        if not self.tags:
            return encode_document(self.tokenizer, pair.source), found
        try:
            return tag_pieces(self.tokenizer, pair.source, found)
        except ValueError as error:
            hint = "give one tag for each word, white space between"
            raise DataError(origin.name, str(error), hint, line=origin.lines[number]) from None


def _names(pairs: Sequence[Pair], where: str, *, tags: bool) -> tuple[str, ...]:
    labels = [pair.target.strip() for pair in pairs]
    if tags:
        labels = [tag for label in labels for tag in label.split()]
    return list_classes(labels, where)
