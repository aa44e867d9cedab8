"""Learn to write: a decoder alone, on plain text."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.data import (
    Batches,
    Example,
    StreamBatch,
    encode_document,
    read_text,
    stream_batches,
    text_stream,
)
from dragoman.errors import DataError
from dragoman.evaluation import MetricName, Validation, validate_language
from dragoman.models import Model
from dragoman.nn import CausalLM
from dragoman.recipe import Recipe
from dragoman.run.card import measured
from dragoman.run.tasks.plain_text import plain, read_plain_text
from dragoman.run.tasks.vocabulary import Given
from dragoman.tokenization import Tokenizer
from dragoman.training import language_loss


class Language:
    """The task of a language model; see ``Task``.

    Args:
        recipe: all choices.
        folder: of the run; gets the tokenizer.
        reuse: take the tokenizer in ``folder``, to go on with its run.
        given: tokenizer of a model to start from.
    """

    def __init__(
        self, recipe: Recipe, folder: Path, *, reuse: bool, given: Given | None = None
    ) -> None:
        self.recipe, self.budget = recipe, recipe.training.largest_budget
        self.text = read_plain_text(recipe, folder, reuse=reuse, given=given)
        self.config = replace(recipe.model, vocabulary=self.text.tokenizer.size)
        self.special = self.text.tokenizer.special
        self.metrics: tuple[MetricName, ...] = recipe.validation.metrics or ()
        self.examples = len(self.text.train)
        self.validated = bool(self.text.validation)
        self.stream = self._stream(self.text.train)
        self.held_out = self._stream(self.text.validation)
        self.fingerprint = hashlib.sha256(self.stream.tobytes()).hexdigest()
        if self.stream.size - 2 * self.examples < 1:
            raise DataError("data.train", "holds no piece to learn from", "give more text")

    @property
    def context(self) -> int:
        """Pieces the model sees at once: as asked, or as many as it has positions for."""
        limit = self.config.max_length
        return self.recipe.data.context if limit is None else min(self.recipe.data.context, limit)

    def notices(self) -> Iterator[str]:
        """Say what was read."""
        yield f"vocabulary: {self.text.tokenizer.size:,} pieces"
        yield from self.text.fit
        yield (
            f"{self.examples:,} documents, {self.stream.size:,} pieces, in windows of "
            f"{self.context:,}"
        )
        if self.validated:
            count = len(self.text.validation)
            yield f"validation on {count:,} documents, {self.held_out.size:,} pieces"

    def batches(self) -> Batches[StreamBatch]:
        """Make the training batches."""
        return stream_batches(
            self.stream,
            context=self.context,
            budget=self.budget,
            special=self.special,
            seed=self.recipe.training.seed,
        )

    def loss(self, model: CausalLM, batch: StreamBatch) -> Tensor:
        """Sum the loss of a batch, in nats."""
        return language_loss(model, batch, smoothing=self.recipe.training.label_smoothing)

    def example(self, index: int) -> Example:
        """Give the window that begins at a piece of all text to learn from."""
        window = self.stream[max(index, 0) : index + self.context + 1].tolist()
        special = (self.special.start, self.special.end)
        text = self.text.tokenizer.decode([piece for piece in window if piece not in special])
        return Example("piece", max(index, 0) + 1, (text,))

    def validate(self, model: CausalLM) -> Validation:
        """Score the documents held out."""
        return self._score(model, self.text.validation)

    def test(self, model: CausalLM) -> list[str]:
        """Score the test text, if there is one."""
        if self.recipe.data.test is None:
            return []
        documents = read_text(plain(self.recipe.data.test)).documents
        found = self._score(model, documents)
        return measured("test", found.loss_nats, *found.by_metric())

    def bundle(self, model: Model) -> Bundle:
        """Put the model together with its tokenizer."""
        return Bundle(self.config, model, (self.text.tokenizer,))

    def card(self) -> list[str]:
        """Say what the data was."""
        return self.text.card()

    def _score(self, model: CausalLM, documents: Sequence[str]) -> Validation:
        budget = min(self.budget, 8192)
        tokenizer = self.text.tokenizer
        return score_documents(model, documents, tokenizer, context=self.context, budget=budget)

    def _stream(self, documents: Sequence[str]) -> NDArray[np.int32]:
        return stream_of(documents, self.text.tokenizer)


def score_documents(
    model: CausalLM,
    documents: Sequence[str],
    tokenizer: Tokenizer,
    *,
    context: int,
    budget: int,
) -> Validation:
    """Score documents in windows that lie side by side.

    Args:
        model: is run in evaluation mode.
        documents: at least one.
        tokenizer: of the model.
        context: pieces of a window; the first of them are scored with little to go by.
        budget: most pieces in a batch.
    """
    batches = stream_batches(
        stream_of(documents, tokenizer),
        context=context,
        budget=budget,
        special=tokenizer.special,
        seed=0,
        shuffle=False,
    )
    characters = sum(map(len, documents))
    return validate_language(model, batches.whole_epoch(), characters=characters)


def stream_of(documents: Sequence[str], tokenizer: Tokenizer) -> NDArray[np.int32]:
    """Put the pieces of documents one after the other, each framed; (I,)."""
    ids = (encode_document(tokenizer, document) for document in documents)
    return text_stream(ids, tokenizer.special)
