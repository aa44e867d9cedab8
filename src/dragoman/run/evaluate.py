"""Compare a model's translations of a test set with its references."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from dragoman.configfile import suggest
from dragoman.data import Corpus, read_aligned
from dragoman.decoding import BeamSearch
from dragoman.errors import ConfigError
from dragoman.evaluation import (
    METRICS,
    NOT_COMPARABLE,
    PAPER_METRICS,
    MetricName,
    PaperBleu,
    Score,
    bleu_tokenizers,
    corpus_score,
    line_score,
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
        hypotheses: translations, one per line of the test set, or per source with alternatives.
    """

    scores: tuple[Score, ...]
    loss_nats: float
    hypotheses: tuple[str, ...]

    def by_metric(self) -> tuple[dict[str, float], dict[str, str]]:
        """Give the values and the signatures by metric."""
        return values_and_signatures(self.scores)

    def lines(self) -> list[str]:
        """Say it for people."""
        return describe_scores(self.scores, self.loss_nats)

    def summary(self) -> dict[str, Any]:  # Any: as JSON holds it
        """Say it for programs."""
        found = summarize_scores(self.scores, self.loss_nats)
        return {"sentences": len(self.hypotheses), **found}


def describe_scores(scores: Sequence[Score], loss_nats: float) -> list[str]:
    """Say metrics and loss in lines for people."""
    loss = f"loss {loss_nats:.4f} nats  perplexity {perplexity(loss_nats):.3f}"
    notes = [f"note: {s.metric} {NOT_COMPARABLE}" for s in scores if s.metric in PAPER_METRICS]
    return [*map(str, scores), loss, *notes]


def summarize_scores(scores: Sequence[Score], loss_nats: float) -> dict[str, Any]:
    """Say metrics and loss for programs. Any: as JSON holds it."""
    found = perplexity(loss_nats)
    metrics = {s.metric: {"value": s.value, "signature": s.signature} for s in scores}
    return {
        "metrics": metrics,
        "loss_nats": loss_nats,
        "perplexity": found if math.isfinite(found) else None,
    }


def evaluate(
    translator: Translator,
    corpus: Corpus,
    *,
    metrics: Sequence[str] = ("bleu", "chrf"),
    tokenize: str = "",
    search: BeamSearch | None = None,
    banned_words: Sequence[str] = (),
    batch_tokens: int = 4096,
    target_language: str | None = None,
) -> Evaluation:
    """Translate a test set and score it; every line counts, blank ones too.

    Args:
        translator: a loaded model.
        corpus: source and reference, raw text.
        metrics: of ``bleu``, ``chrf``, ``ter``, ``exact``, ``wer``, ``brackets``, and the paper's
            BLEU, ``paper-bleu-de`` or ``paper-bleu-fr`` (see ``PaperBleu``).
        tokenize: BLEU's tokenizer, sacreBLEU's default if empty.
        search: beam 4, alpha 0.6 unless given.
        banned_words: text that no translation holds, as in ``Translator.translate``.
        batch_tokens: most slots in a batch.
        target_language: what to translate into, for a model of several languages; that of the
            corpus unless given.

    Raises:
        DataError: the files cannot be read or do not fit each other.
        ConfigError: a metric is not known, or ``target_language`` is not one of the model's.
        MissingExtraError: the paper's BLEU is asked for without the extra ``moses``.
    """
    scorers = [_scorer(name.strip(), tokenize) for name in metrics]
    if tokenize and tokenize not in bleu_tokenizers():
        hint = suggest(tokenize, bleu_tokenizers())
        raise ConfigError("tokenize", f"{tokenize!r} is not a tokenizer of sacreBLEU", hint)
    try:  # some need libraries of their own
        corpus_score("bleu", ["a"], ["a"], tokenize=tokenize)
    except (ImportError, RuntimeError) as error:
        problem = f"{tokenize!r} does not work here: {str(error).strip().splitlines()[0]}"
        raise ConfigError("tokenize", problem) from None
    pairs = read_aligned(corpus)
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    asked = _Asked(translator, batch_tokens, _language(translator, corpus, target_language))
    hypotheses = asked.translate(sources, search, banned_words)
    loss = asked.loss(sources, references)
    scores = tuple(score(hypotheses, references) for score in scorers)
    return Evaluation(scores, loss, hypotheses)


def evaluate_alternatives(
    translator: Translator,
    corpus: Corpus,
    *,
    metrics: Sequence[str] = ("exact", "wer"),
    search: BeamSearch | None = None,
    banned_words: Sequence[str] = (),
    batch_tokens: int = 4096,
    target_language: str | None = None,
) -> Evaluation:
    """Translate a test set in which a source may have several references, all of them right.

    Lines of the same source text are one item, which is translated once and compared with the
    closest of its references, such as the pronunciations of a word.

    Args:
        translator: a loaded model.
        corpus: source and reference, raw text; the lines of a source may stand anywhere.
        metrics: of ``exact`` and ``wer``.
        search: beam 4, alpha 0.6 unless given.
        banned_words: text that no translation holds, as in ``Translator.translate``.
        batch_tokens: most slots in a batch.
        target_language: what to translate into, for a model of several languages; that of the
            corpus unless given.

    Returns:
        One hypothesis per distinct source, in the order of first lines; the loss is that of all
        lines.

    Raises:
        DataError: the files cannot be read or do not fit each other.
        ConfigError: a metric is not known, or does not compare with several references, or
            ``target_language`` is not one of the model's.
    """
    names: list[MetricName] = [check_metric(name) for name in metrics]
    for name in names:
        if name not in ("exact", "wer"):
            problem = f"{name} does not compare line by line with several references"
            raise ConfigError("metrics", problem, "choose from exact, wer")
    references: dict[str, list[str]] = {}
    pairs = read_aligned(corpus)
    for pair in pairs:
        references.setdefault(pair.source, []).append(pair.target)
    asked = _Asked(translator, batch_tokens, _language(translator, corpus, target_language))
    hypotheses = asked.translate(list(references), search, banned_words)
    loss = asked.loss([pair.source for pair in pairs], [pair.target for pair in pairs])
    scores = tuple(line_score(name, hypotheses, list(references.values())) for name in names)
    return Evaluation(scores, loss, hypotheses)


def _scorer(name: str, tokenize: str) -> Callable[[Sequence[str], Sequence[str]], Score]:
    """Find what computes a metric, before anything is translated."""
    for paper in PAPER_METRICS:
        if paper == name:
            return PaperBleu(paper).score
    metric = check_metric(name, also=PAPER_METRICS)
    return partial(corpus_score, metric, tokenize=tokenize if metric == "bleu" else "")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A translator, and what is asked of it."""

    translator: Translator
    batch_tokens: int
    target_language: str | None

    def translate(
        self, sources: Sequence[str], search: BeamSearch | None, banned_words: Sequence[str]
    ) -> tuple[str, ...]:
        search = BeamSearch() if search is None else search
        found = self.translator.translate(
            sources,
            **asdict(search),
            banned_words=banned_words,
            batch_tokens=self.batch_tokens,
            target_language=self.target_language,
        )
        return tuple(translation.text for translation in found)

    def loss(self, sources: Sequence[str], targets: Sequence[str]) -> float:
        """Average the surprise at given targets, in nats per piece, end symbols included."""
        scored = self.translator.score(
            sources,
            targets,
            batch_tokens=self.batch_tokens,
            target_language=self.target_language,
        )
        return -sum(s.log_prob for s in scored) / sum(len(s.log_probs) for s in scored)


def _language(translator: Translator, corpus: Corpus, given: str | None) -> str | None:
    """Take the language asked for, or that of the corpus if the model tells languages apart."""
    if given is None and translator.languages:
        return corpus.target_language
    return given


def check_metric(name: str, *, also: Sequence[str] = ()) -> MetricName:
    """See that a metric exists.

    Args:
        name: of it.
        also: others that the caller knows, for the hint.

    Raises:
        ConfigError: it does not.
    """
    for metric in METRICS:
        if metric == name.strip():
            return metric
    raise ConfigError("metrics", f"{name!r} is not a metric", suggest(name, (*METRICS, *also)))
