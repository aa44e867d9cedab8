"""Compare a model's translations of a test set with its references."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.configfile import suggest
from dragoman.data import Corpus, read_aligned
from dragoman.decoding import BeamSearch
from dragoman.errors import ConfigError
from dragoman.evaluation import (
    METRICS,
    MetricName,
    Score,
    bleu_tokenizers,
    corpus_score,
    perplexity,
)
from dragoman.evaluation.validation import values_and_signatures
from dragoman.translator import Translator


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a model did on a test set.

    Args:
        scores: metrics with their signatures.
        loss_nats: of the references, per target piece, end symbols included.
        hypotheses: translations, one per line of the test set.
    """

    scores: tuple[Score, ...]
    loss_nats: float
    hypotheses: tuple[str, ...]

    def by_metric(self) -> tuple[dict[str, float], dict[str, str]]:
        """Give the values and the signatures by metric."""
        return values_and_signatures(self.scores)

    def lines(self) -> list[str]:
        """Say it for people."""
        loss = f"loss {self.loss_nats:.4f} nats  perplexity {perplexity(self.loss_nats):.3f}"
        return [*map(str, self.scores), loss]

    def summary(self) -> dict[str, Any]:  # Any: as JSON holds it
        """Say it for programs."""
        found = perplexity(self.loss_nats)
        metrics = {
            score.metric: {"value": score.value, "signature": score.signature}
            for score in self.scores
        }
        return {
            "sentences": len(self.hypotheses),
            "metrics": metrics,
            "loss_nats": self.loss_nats,
            "perplexity": found if math.isfinite(found) else None,
        }


def evaluate(
    translator: Translator,
    corpus: Corpus,
    *,
    metrics: Sequence[str] = ("bleu", "chrf"),
    tokenize: str = "",
    search: BeamSearch | None = None,
    batch_tokens: int = 4096,
) -> Evaluation:
    """Translate a test set and score it; every line counts, blank ones too.

    Args:
        translator: a loaded model.
        corpus: source and reference, raw text.
        metrics: of ``bleu``, ``chrf``, ``ter``.
        tokenize: BLEU's tokenizer, sacreBLEU's default if empty.
        search: beam 4, alpha 0.6 unless given.
        batch_tokens: most slots in a batch.

    Raises:
        DataError: the files cannot be read or do not fit each other.
        ConfigError: a metric is not known.
    """
    names: list[MetricName] = [check_metric(name) for name in metrics]
    if tokenize and tokenize not in bleu_tokenizers():
        hint = suggest(tokenize, bleu_tokenizers())
        raise ConfigError("tokenize", f"{tokenize!r} is not a tokenizer of sacreBLEU", hint)
    try:  # some need libraries of their own
        corpus_score("bleu", ["a"], ["a"], tokenize=tokenize)
    except (ImportError, RuntimeError) as error:
        problem = f"{tokenize!r} does not work here: {str(error).strip().splitlines()[0]}"
        raise ConfigError("tokenize", problem) from None
    search = BeamSearch() if search is None else search
    pairs = read_aligned(corpus)
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    found = translator.translate(
        sources,
        beam=search.beam,
        alpha=search.alpha,
        max_length=search.max_length,
        batch_tokens=batch_tokens,
    )
    hypotheses = tuple(translation.text for translation in found)
    scored = translator.score(sources, references, batch_tokens=batch_tokens)
    loss = -sum(s.log_prob for s in scored) / sum(len(s.log_probs) for s in scored)
    scores = tuple(
        corpus_score(name, hypotheses, references, tokenize=tokenize if name == "bleu" else "")
        for name in names
    )
    return Evaluation(scores, loss, hypotheses)


def check_metric(name: str) -> MetricName:
    """See that a metric exists.

    Raises:
        ConfigError: it does not.
    """
    for metric in METRICS:
        if metric == name.strip():
            return metric
    raise ConfigError("metrics", f"{name!r} is not a metric", suggest(name, METRICS))
