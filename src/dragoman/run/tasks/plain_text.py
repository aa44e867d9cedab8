"""Plain text of a run as ids: for language models and encoders that fill in gaps."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np

from dragoman.data import AnyCorpus, Text, TextReport, read_text
from dragoman.errors import DataError
from dragoman.recipe import Recipe
from dragoman.run.card import data_lines
from dragoman.run.tasks.vocabulary import Given, keep_tokenizers, prepare_tokenizers
from dragoman.tokenization import Tokenizer


@dataclass(frozen=True, slots=True)
class PlainText:
    """Documents to learn from, and those held out.

    Args:
        tokenizer: learned from the training documents, or that of a model to start from.
        train: documents.
        validation: documents; may be none.
        report: of the training file.
        validation_report: of the file that the validation documents come from.
        fit: how well the tokenizer of another model fits the text, in lines.
    """

    tokenizer: Tokenizer
    train: tuple[str, ...]
    validation: tuple[str, ...]
    report: TextReport
    validation_report: TextReport
    fit: tuple[str, ...] = ()

    def card(self) -> list[str]:
        """Say what the data was."""
        lines: list[str] = []
        for title, documents, report, file in (
            ("training", self.train, self.report, "training text"),
            ("validation", self.validation, self.validation_report, "validation text"),
        ):
            if documents:
                counts = f"{len(documents):,} documents of {report.lines:,} lines"
                lines += data_lines(title, counts, {file: report.sha256})
        return lines


def read_plain_text(
    recipe: Recipe, folder: Path, *, reuse: bool, given: Given | None = None
) -> PlainText:
    """Read the documents and learn the tokenizer.

    Args:
        recipe: all choices.
        folder: gets the tokenizer.
        reuse: take the tokenizer in ``folder``, to go on with its run.
        given: tokenizer of a model to start from.

    Raises:
        ConfigError: a corpus is no plain text.
        DataError: a file cannot be read, or holding out leaves nothing.
    """
    corpus = plain(recipe.data.train)
    report = validation_report = read_text(corpus)
    train, validation = report.documents, ()
    if recipe.data.validation is not None:
        validation_report = read_text(plain(recipe.data.validation))
        validation = validation_report.documents
    elif recipe.data.hold_out:
        train, validation = _hold_out(corpus, report.documents, recipe)
    # Lines keep their breaks, which are pieces of a document of several lines.
    lines = [line for document in train for line in StringIO(document, newline="\n")]
    vocabulary = prepare_tokenizers(recipe.tokenizer, folder, [lines], reuse=reuse, given=given)
    keep_tokenizers(folder, vocabulary.tokenizers, reuse=reuse)
    (tokenizer,) = vocabulary.tokenizers
    return PlainText(tokenizer, train, validation, report, validation_report, vocabulary.fit)


def plain(corpus: AnyCorpus) -> Text:
    """Know that a corpus is plain text, as the recipe has checked."""
    assert isinstance(corpus, Text)
    return corpus


def _hold_out(
    corpus: Text, documents: Sequence[str], recipe: Recipe
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    count = recipe.data.hold_out
    if count >= len(documents):
        problem = f"holding out {count} of {len(documents)} documents leaves none to train on"
        raise DataError(corpus.text, problem, "lower data.hold_out, or give data.validation")
    rng = np.random.default_rng([recipe.training.seed, 0])
    chosen = set(rng.permutation(len(documents))[:count].tolist())
    train = tuple(text for index, text in enumerate(documents) if index not in chosen)
    held_out = tuple(text for index, text in enumerate(documents) if index in chosen)
    return train, held_out
