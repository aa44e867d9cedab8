"""Learn to tell images apart: an encoder over patches (arXiv 2010.11929)."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.data import (
    AnyCorpus,
    Batches,
    Example,
    ImageBatch,
    ImageFile,
    ImageReport,
    image_batches,
    list_classes,
    read_images,
)
from dragoman.errors import DataError
from dragoman.evaluation import MetricName, Validation, validate_classes
from dragoman.models import Model, ModelConfig
from dragoman.nn import EncoderOnly
from dragoman.recipe import Recipe
from dragoman.run.card import data_lines, measured
from dragoman.run.tasks.vocabulary import Given, given_classes
from dragoman.training import class_loss


class ImageClasses:
    """The task of an encoder that classifies images; see ``Task``.

    Args:
        recipe: all choices.
        given: classes of a model to start from.
    """

    def __init__(self, recipe: Recipe, *, given: Given | None = None) -> None:
        self.recipe, self.budget = recipe, recipe.training.largest_budget
        self.train = self._read(recipe.data.train)
        self.held_out = None
        if recipe.data.validation is not None:
            self.held_out = self._read(recipe.data.validation)
        elif recipe.data.hold_out:
            self.train, self.held_out = self._hold_out(self.train)
        found = list_classes(self.train.labels, self.train.name)
        self.names = given_classes(given, found, self.train.name)
        if self.held_out is not None:
            label_numbers(self.held_out, self.names)  # before any training
        self.config = replace(recipe.model, classes=self.names)
        named = recipe.validation.metrics
        self.metrics: tuple[MetricName, ...] = ("accuracy",) if named is None else named
        self.examples = len(self.train.images)
        self.validated = self.held_out is not None
        self.fingerprint = hashlib.sha256(
            self.train.images.tobytes() + "\0".join(self.train.labels).encode()
        ).hexdigest()

    def notices(self) -> Iterator[str]:
        """Say what was read."""
        yield f"{self.examples:,} images; classes: {', '.join(self.names)}"
        if self.held_out is not None:
            yield f"validation on {len(self.held_out.images):,} images"

    def batches(self) -> Batches[ImageBatch]:
        """Make the training batches."""
        return image_batches(
            self.train.images,
            label_numbers(self.train, self.names),
            rows=self._rows,
            seed=self.recipe.training.seed,
        )

    def loss(self, model: EncoderOnly, batch: ImageBatch) -> Tensor:
        """Sum the loss of a batch, in nats."""
        return class_loss(model, batch, smoothing=self.recipe.training.label_smoothing)

    def example(self, index: int) -> Example:
        """Give an image to learn from, by its class; it has no text."""
        return Example(self.train.name, index + 1, (self.train.labels[index],))

    def validate(self, model: EncoderOnly) -> Validation:
        """Score the images held out."""
        assert self.held_out is not None
        return self._score(model, self.held_out)

    def test(self, model: EncoderOnly) -> list[str]:
        """Score the test images, if there are any."""
        if self.recipe.data.test is None:
            return []
        found = self._score(model, self._read(self.recipe.data.test))
        return measured("test", found.loss_nats, *found.by_metric())

    def bundle(self, model: Model) -> Bundle:
        """Put the model together; there is no tokenizer."""
        return Bundle(self.config, model, ())

    def card(self) -> list[str]:
        """Say what the data was."""
        sides = [("training", self.train), ("validation", self.held_out)]
        return [
            line
            for title, side in sides
            if side is not None
            for line in data_lines(title, f"{len(side.images):,} images", {"images": side.sha256})
        ]

    def _score(self, model: EncoderOnly, side: ImageReport) -> Validation:
        return score_images(model, side, self.names, rows=self._rows)

    @property
    def _rows(self) -> int:
        """Images in a batch, whose patches and class positions are what is counted."""
        assert isinstance(self.recipe.model, ModelConfig)
        assert self.recipe.model.images is not None
        positions = self.recipe.model.images.patches + 1
        return max(1, self.budget // positions)

    def _read(self, corpus: AnyCorpus) -> ImageReport:
        assert isinstance(corpus, ImageFile)  # as the recipe has checked
        assert isinstance(self.recipe.model, ModelConfig)
        return read_sized(corpus, self.recipe.model)

    def _hold_out(self, report: ImageReport) -> tuple[ImageReport, ImageReport]:
        count, every = self.recipe.data.hold_out, len(report.images)
        if count >= every:
            problem = f"holding out {count} of {every} images leaves none to train on"
            raise DataError(report.name, problem, "lower data.hold_out, or give data.validation")
        order = np.random.default_rng([self.recipe.training.seed, 0]).permutation(every)
        parts = (order[count:], order[:count])
        train, held_out = (
            ImageReport(
                images=report.images[part],
                labels=tuple(report.labels[int(index)] for index in part),
                sha256=report.sha256,
                name=report.name,
            )
            for part in parts
        )
        return train, held_out


def read_sized(corpus: ImageFile, config: ModelConfig) -> ImageReport:
    """Read images of the size that a model reads.

    Raises:
        DataError: they have another, or what ``read_images`` raises.
    """
    report, asked = read_images(corpus), config.images
    assert asked is not None
    expected = (asked.height, asked.width, asked.channels)
    if report.images.shape[1:] != expected:
        found, wanted = (" x ".join(map(str, s)) for s in (report.images.shape[1:], expected))
        problem = f"images of {found}, but model.images says {wanted}"
        raise DataError(corpus.images, problem, "set its height, width and channels")
    return report


def label_numbers(report: ImageReport, names: Sequence[str]) -> NDArray[np.int64]:
    """Turn labels into numbers of classes, (N,).

    Raises:
        DataError: a label is none of ``names``.
    """
    for number, label in enumerate(report.labels):
        if label not in names:
            problem = f"labels[{number}]: {label!r} is not a class of the training images"
            raise DataError(report.name, problem, f"they have {', '.join(names[:10])}")
    return np.array([names.index(label) for label in report.labels], dtype=np.int64)


def score_images(
    model: EncoderOnly, report: ImageReport, names: Sequence[str], *, rows: int
) -> Validation:
    """Score a model on images, ``rows`` at a time."""
    classes = label_numbers(report, names)
    batches = image_batches(report.images, classes, rows=rows, seed=0, shuffle=False)
    return validate_classes(model, batches.whole_epoch(), what="images")
