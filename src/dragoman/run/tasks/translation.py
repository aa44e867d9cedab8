"""Learn to translate: an encoder and a decoder of any kind, on parallel text."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from dragoman.bundle import Bundle, frame_of
from dragoman.data import (
    ADDED_SYMBOLS,
    Batch,
    Batches,
    Example,
    MixedBatches,
    Redraw,
    Several,
    corpus_name,
    pair_batches,
    parts_of,
)
from dragoman.errors import ConfigError
from dragoman.evaluation import MetricName, Validation, Validator
from dragoman.models import AnyConfig, Model, SequenceToSequence
from dragoman.recipe import Recipe
from dragoman.run.card import data_lines, measured
from dragoman.run.evaluate import evaluate
from dragoman.run.tasks.corpora import longest_allowed, pairs_in
from dragoman.run.tasks.pairs import read_all_pairs
from dragoman.run.tasks.prepared import Report
from dragoman.run.tasks.vocabulary import Given
from dragoman.training import translation_loss
from dragoman.translator import Translator


class Translation:
    """The task of a translator; see ``Task``.

    Args:
        recipe: all choices.
        folder: of the run; gets the tokenizers.
        reuse: take the tokenizers in ``folder``, to go on with its run.
        given: tokenizers of a model to start from.
        report: is told in words how far preparing the text is, when it takes long.
    """

    def __init__(
        self,
        recipe: Recipe,
        folder: Path,
        *,
        reuse: bool,
        given: Given | None = None,
        report: Report = lambda _: None,
    ) -> None:
        self.recipe, self.budget = recipe, recipe.training.largest_budget
        self.pairs = read_all_pairs(recipe, folder, reuse=reuse, given=given, report=report)
        self.config: AnyConfig = _complete(recipe, [t.size for t in self.pairs.tokenizers])
        self.frame = frame_of(self.config, self.pairs.tokenizers[-1].special)
        named = recipe.validation.metrics
        self.metrics: tuple[MetricName, ...] = ("bleu", "chrf") if named is None else named
        self.examples = sum(map(len, self.pairs.train))
        self.fingerprint = self.pairs.fingerprint
        self.validated = self.pairs.validation is not None

    def notices(self) -> Iterator[str]:
        """Say what was read and what was left out."""
        yield from self.pairs.notices()

    def batches(self) -> Batches[Batch] | MixedBatches[Batch]:
        """Make the training batches."""
        recipe, parts, first = self.recipe, list[Batches[Batch]](), 0
        redraw = self._redraw()
        for number, part in enumerate(self.pairs.train):
            made = pair_batches(
                part.store.sources,
                part.store.targets,
                budget=self.budget,
                special=self.frame,
                seed=recipe.training.seed + number,
                redraw=redraw,
                first=first,
                folder=part.folder,
            )
            parts.append(made)
            first += len(part)
        if not isinstance(recipe.data.train, Several):
            return parts[0]
        training = recipe.training
        return MixedBatches(
            parts, recipe.data.train, accumulate=training.accumulate, seed=training.seed
        )

    def loss(self, model: SequenceToSequence, batch: Batch) -> Tensor:
        """Sum the loss of a batch, in nats."""
        return translation_loss(model, batch, smoothing=self.recipe.training.label_smoothing)

    def example(self, index: int) -> Example:
        """Give a pair to learn from."""
        for part in self.pairs.train:
            if index < len(part):
                pair = part.pair(index)
                return Example(part.name, pair.number, (pair.source, pair.target))
            index -= len(part)
        raise IndexError(f"example {index} of {self.examples}")

    def validate(self, model: SequenceToSequence) -> Validation:
        """Score the references, and real translations."""
        side = self.pairs.validation
        assert side is not None
        validator = Validator(
            sources=side.sources.rows(),
            targets=side.targets.rows(),
            references=[pair.target for pair in side.pairs],
            tokenizer=self.pairs.tokenizers[-1],
            search=self.recipe.decoding,
            metrics=self.metrics,
            batch_tokens=min(self.budget, 8192),
            frame=self.frame,
        )
        return validator(model)

    def test(self, model: SequenceToSequence) -> list[str]:
        """Translate the test set and compare."""
        if self.recipe.data.test is None:
            return []
        lines: list[str] = []
        corpora = parts_of(pairs_in(self.recipe.data.test))
        for corpus in corpora:
            found = evaluate(
                Translator(self.bundle(model)),
                corpus,
                metrics=self.metrics,
                search=self.recipe.decoding,
            )
            title = "test" if len(corpora) == 1 else f"test, {corpus_name(corpus)}"
            lines += measured(title, found.loss_nats, *found.by_metric())
        return lines

    def bundle(self, model: Model) -> Bundle:
        """Put the model together with its tokenizers."""
        return Bundle(self.config, model, self.pairs.tokenizers)

    def card(self) -> list[str]:
        """Say what the data was."""
        lines: list[str] = []
        for part in self.pairs.train:
            lines += data_lines("training", part.card(), part.sha256)
        side = self.pairs.validation
        if side is not None:
            read = sum(report.lines for report in side.reports)
            blank = sum(report.blank for report in side.reports)
            counts = f"{len(side.sources):,} pairs of {read:,} lines"
            counts += f" ({blank:,} blank on a side, {side.lengths.dropped:,} too long)"
            hashes = {path: sha for report in side.reports for path, sha in report.sha256.items()}
            lines += data_lines("validation", counts, hashes)
        return lines

    def _redraw(self) -> Redraw | None:
        """Make pairs anew in each batch, if the recipe says so."""
        case, config = self.recipe.data.case_augmentation, self.recipe.tokenizer
        if config.sampling is None and case is None:
            return None
        return Redraw(
            self.pairs.tokenizers,
            sampling=config.sampling,
            case=case,
            whole=config.pieces,
            longest=longest_allowed(self.recipe) - ADDED_SYMBOLS,
        )


def _complete(recipe: Recipe, sizes: list[int]) -> AnyConfig:
    """Fill in what only the tokenizers know.

    Raises:
        ConfigError: the recipe names other vocabulary sizes.
    """
    found = (sizes[0], sizes[1] if len(sizes) > 1 else None)
    given = (recipe.model.vocabulary, recipe.model.target_vocabulary)
    if given != (None, None) and given != found:
        raise ConfigError(
            "model.vocabulary",
            f"{given[0]} is not what the tokenizer has, {found[0]}",
            "leave it out",
        )
    return replace(recipe.model, vocabulary=found[0], target_vocabulary=found[1])
