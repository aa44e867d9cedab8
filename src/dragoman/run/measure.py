"""How good models of one side are on a test set: on text, on gaps in it, on labels."""

from dataclasses import dataclass
from typing import Any

from dragoman.classifier import Classifier
from dragoman.data import (
    FRAME,
    AnyCorpus,
    Corpus,
    ImageFile,
    ParallelCorpus,
    Text,
    read_labelled,
    read_text,
)
from dragoman.errors import ModelError
from dragoman.evaluation import Validation
from dragoman.language_model import LanguageModel
from dragoman.nn import ClassHead, PieceHead, TagHead
from dragoman.run.evaluate import describe_scores, summarize_scores
from dragoman.run.tasks.classes import Labeller
from dragoman.run.tasks.images import read_sized, score_images
from dragoman.run.tasks.language import score_documents
from dragoman.run.tasks.masked import cut_documents, score_gaps

MASKED = 0.15  # share of the pieces asked for, as in BERT (arXiv 1810.04805, 3.1)


@dataclass(frozen=True, slots=True)
class Measurement:
    """How a model of one side did on a test set.

    Args:
        what: was scored: documents, texts or images.
        count: how many.
        validation: the loss in nats per piece, label or image, and the metrics.
        cut: how many texts were longer than the model takes, and scored without their end.
    """

    what: str
    count: int
    validation: Validation
    cut: int = 0

    def lines(self) -> list[str]:
        """Say it for people."""
        lines = describe_scores(self.validation.scores, self.validation.loss_nats)
        return [*lines, *[f"{self.cut:,} texts longer than the model takes, cut"] * (self.cut > 0)]

    def summary(self) -> dict[str, Any]:  # Any: as JSON holds it
        """Say it for programs."""
        found = summarize_scores(self.validation.scores, self.validation.loss_nats)
        return {self.what: self.count, "cut": self.cut, **found}


def measure(
    model: LanguageModel | Classifier,
    corpus: AnyCorpus,
    *,
    context: int = 256,
    batch_tokens: int = 4096,
) -> Measurement:
    """Score a model on what it was made for.

    A language model says text; an encoder fills gaps in it, or classifies labelled texts, words or
    images, as its head does.

    Args:
        model: a loaded model.
        corpus: plain text, texts with labels, or images with labels.
        context: pieces of plain text that are seen at once, at most the positions of the model;
            measure with what was trained with.
        batch_tokens: most slots in a batch; the result does not depend on it.

    Raises:
        ModelError: the model is made for another kind of corpus.
        DataError: the corpus cannot be read, or has a label that is none of the classes.
    """
    if isinstance(model, LanguageModel):
        if isinstance(corpus, Text):
            return _measure_language(model, corpus, context, batch_tokens)
        raise _unfit("a language model", corpus, "plain text")
    match model.model.head, corpus:
        case PieceHead(), Text():
            return _measure_gaps(model, corpus, context, batch_tokens)
        case ClassHead(), ImageFile() if model.config.images is not None:
            return _measure_images(model, corpus, batch_tokens)
        case ((ClassHead() | TagHead()), ParallelCorpus()) if model.config.images is None:
            return _measure_labels(model, corpus, batch_tokens)
        case PieceHead(), _:
            raise _unfit("a model that fills gaps", corpus, "plain text")
        case None, _:
            raise ModelError("this model has no head, and nothing to be measured by")
        case _, _:
            wanted = "texts" if model.config.images is None else "images"
            raise _unfit(f"a model that classifies {wanted}", corpus, f"{wanted} with labels")


def _unfit(model: str, corpus: AnyCorpus, wanted: str) -> ModelError:
    match corpus:
        case Text():
            given = "plain text"
        case ImageFile():
            given = "images"
        case _:
            given = "source and target"
    return ModelError(f"{model} is not measured on {given}; give {wanted}")


def _measure_language(
    model: LanguageModel, corpus: Text, context: int, batch_tokens: int
) -> Measurement:
    documents = read_text(corpus).documents
    found = score_documents(
        model.model,
        documents,
        model.tokenizer,
        context=min(context, model.model.max_length or context),
        budget=batch_tokens,
    )
    return Measurement("documents", len(documents), found)


def _measure_gaps(model: Classifier, corpus: Text, context: int, batch_tokens: int) -> Measurement:
    documents, tokenizer = read_text(corpus).documents, model.bundle.source_tokenizer
    longest = min(context, model.text_limit - FRAME)
    if longest < 1:
        raise ModelError(f"positions for {model.text_limit} pieces leave none for text")
    sequences = cut_documents(documents, tokenizer, longest)
    found = score_gaps(model.model, sequences, tokenizer, share=MASKED, budget=batch_tokens)
    return Measurement("documents", len(documents), found)


def _measure_labels(model: Classifier, corpus: Corpus, batch_tokens: int) -> Measurement:
    labeller = Labeller(
        model.bundle.source_tokenizer,
        model.classes,
        tags=isinstance(model.model.head, TagHead),
        longest=model.text_limit - FRAME,
    )
    report = read_labelled(corpus)
    side = labeller.encode(corpus, report.pairs, report.sha256)
    found = labeller.score(model.model, side, budget=batch_tokens)
    return Measurement("texts", len(side.sequences), found, side.cut)


def _measure_images(model: Classifier, corpus: ImageFile, batch_tokens: int) -> Measurement:
    report, asked = read_sized(corpus, model.config), model.config.images
    assert asked is not None
    rows = max(1, batch_tokens // (asked.patches + 1))
    found = score_images(model.model, report, model.classes, rows=rows)
    return Measurement("images", len(report.images), found)
