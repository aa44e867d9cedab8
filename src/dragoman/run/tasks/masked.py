"""Learn to fill in gaps: an encoder alone, on plain text (arXiv 1810.04805)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.data import (
    FRAME,
    Batches,
    Example,
    IdStore,
    MaskedBatch,
    encode_document,
    masked_batches,
    read_text,
)
from dragoman.errors import DataError
from dragoman.evaluation import MetricName, Validation, validate_masked
from dragoman.models import Model
from dragoman.nn import EncoderOnly
from dragoman.recipe import Recipe
from dragoman.run.card import measured
from dragoman.run.tasks.corpora import fingerprint, longest_allowed
from dragoman.run.tasks.plain_text import plain, read_plain_text
from dragoman.run.tasks.vocabulary import Given
from dragoman.tokenization import Tokenizer
from dragoman.training import masked_loss


class MaskedPieces:
    """The task of an encoder that fills in gaps; see ``Task``.

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
        named = recipe.validation.metrics
        self.metrics: tuple[MetricName, ...] = () if named is None else named
        self.sequences = self._cut(self.text.train)
        self.held_out = self._cut(self.text.validation)
        self.examples = len(self.sequences)
        self.validated = len(self.held_out) > 0
        self.fingerprint = fingerprint(self.sequences)
        if not self.examples:
            raise DataError("data.train", "holds no piece to learn from", "give more text")

    def notices(self) -> Iterator[str]:
        """Say what was read."""
        yield f"vocabulary: {self.text.tokenizer.size:,} pieces"
        yield from self.text.fit
        yield f"{len(self.text.train):,} documents in {self.examples:,} sequences"
        if self.validated:
            yield f"validation on {len(self.held_out):,} sequences"

    def batches(self) -> Batches[MaskedBatch]:
        """Make the training batches; every epoch has other gaps."""
        return masked_batches(
            self.sequences,
            share=self.recipe.data.masked,
            vocabulary=self.text.tokenizer.size,
            budget=self.budget,
            special=self.text.tokenizer.special,
            seed=self.recipe.training.seed,
        )

    def loss(self, model: EncoderOnly, batch: MaskedBatch) -> Tensor:
        """Sum the loss of a batch, in nats."""
        return masked_loss(model, batch, smoothing=self.recipe.training.label_smoothing)

    def example(self, index: int) -> Example:
        """Give a sequence to learn from, without gaps."""
        pieces = self.sequences[index].tolist()
        return Example("sequence", index + 1, (self.text.tokenizer.decode(pieces),))

    def validate(self, model: EncoderOnly) -> Validation:
        """Score the sequences held out; the gaps are always the same."""
        return self._score(model, self.held_out)

    def test(self, model: EncoderOnly) -> list[str]:
        """Score the test text, if there is one."""
        if self.recipe.data.test is None:
            return []
        documents = read_text(plain(self.recipe.data.test)).documents
        found = self._score(model, self._cut(documents))
        return measured("test", found.loss_nats, *found.by_metric())

    def bundle(self, model: Model) -> Bundle:
        """Put the model together with its tokenizer."""
        return Bundle(self.config, model, (self.text.tokenizer,))

    def card(self) -> list[str]:
        """Say what the data was."""
        return self.text.card()

    def _score(self, model: EncoderOnly, sequences: IdStore) -> Validation:
        share, tokenizer = self.recipe.data.masked, self.text.tokenizer
        return score_gaps(model, sequences, tokenizer, share=share, budget=self.budget)

    def _cut(self, documents: Sequence[str]) -> IdStore:
        """Cut documents into sequences that fit with their frame."""
        longest = min(longest_allowed(self.recipe), self.recipe.data.context + FRAME) - FRAME
        return cut_documents(documents, self.text.tokenizer, longest)


def cut_documents(documents: Sequence[str], tokenizer: Tokenizer, longest: int) -> IdStore:
    """Cut documents into sequences of at most ``longest`` bare pieces."""
    sequences: list[list[int]] = []
    for document in documents:
        ids = encode_document(tokenizer, document)
        sequences += [ids[start : start + longest] for start in range(0, len(ids), longest)]
    return IdStore.from_sequences(sequences)


def score_gaps(
    model: EncoderOnly, sequences: IdStore, tokenizer: Tokenizer, *, share: float, budget: int
) -> Validation:
    """Score a model on gaps in sequences, always the same ones.

    Args:
        model: is run in evaluation mode.
        sequences: bare pieces, at least one sequence.
        tokenizer: of the model.
        share: of the pieces that are asked for.
        budget: most slots in a batch; the result does not depend on it.
    """
    batches = masked_batches(
        sequences,
        share=share,
        vocabulary=tokenizer.size,
        budget=budget,
        special=tokenizer.special,
        seed=0,
        shuffle=False,
    )
    return validate_masked(model, batches.whole_epoch())
