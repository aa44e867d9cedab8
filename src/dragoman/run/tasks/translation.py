"""Learn to translate: an encoder and a decoder of any kind, on parallel text."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.data import Batch, Batches, Example, pair_batches
from dragoman.errors import ConfigError
from dragoman.evaluation import MetricName, Validation, Validator
from dragoman.models import AnyConfig, Model, SequenceToSequence
from dragoman.recipe import Recipe
from dragoman.run.card import data_lines, measured
from dragoman.run.evaluate import evaluate
from dragoman.run.tasks.pairs import parallel, read_all_pairs
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
    """

    def __init__(
        self, recipe: Recipe, folder: Path, *, reuse: bool, given: Given | None = None
    ) -> None:
        self.recipe, self.budget = recipe, recipe.training.largest_budget
        self.pairs = read_all_pairs(recipe, folder, reuse=reuse, given=given)
        self.config: AnyConfig = _complete(recipe, [t.size for t in self.pairs.tokenizers])
        named = recipe.validation.metrics
        self.metrics: tuple[MetricName, ...] = ("bleu", "chrf") if named is None else named
        self.examples = len(self.pairs.train.sources)
        self.fingerprint = self.pairs.fingerprint
        self.validated = self.pairs.validation is not None

    def notices(self) -> Iterator[str]:
        """Say what was read and what was left out."""
        yield from self.pairs.notices()

    def batches(self) -> Batches[Batch]:
        """Make the training batches."""
        return pair_batches(
            self.pairs.train.sources,
            self.pairs.train.targets,
            budget=self.budget,
            special=self.pairs.tokenizers[-1].special,
            seed=self.recipe.training.seed,
        )

    def loss(self, model: SequenceToSequence, batch: Batch) -> Tensor:
        """Sum the loss of a batch, in nats."""
        return translation_loss(model, batch, smoothing=self.recipe.training.label_smoothing)

    def example(self, index: int) -> Example:
        """Give a pair to learn from."""
        side = self.pairs.train
        pair = side.pairs[index]
        return Example(side.name, pair.number, (pair.source, pair.target))

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
        )
        return validator(model)

    def test(self, model: SequenceToSequence) -> list[str]:
        """Translate the test set and compare."""
        if self.recipe.data.test is None:
            return []
        found = evaluate(
            Translator(self.bundle(model)),
            parallel(self.recipe.data.test),
            metrics=self.metrics,
            search=self.recipe.decoding,
        )
        return measured("test", found.loss_nats, *found.by_metric())

    def bundle(self, model: Model) -> Bundle:
        """Put the model together with its tokenizers."""
        return Bundle(self.config, model, self.pairs.tokenizers)

    def card(self) -> list[str]:
        """Say what the data was."""
        lines: list[str] = []
        for title, side in (("training", self.pairs.train), ("validation", self.pairs.validation)):
            if side is not None:
                counts = f"{len(side.sources):,} pairs of {side.report.lines:,} lines"
                counts += (
                    f" ({side.report.blank:,} blank on a side, {side.lengths.dropped:,} too long)"
                )
                lines += data_lines(title, counts, side.report.sha256)
        return lines


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
