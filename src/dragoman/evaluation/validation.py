"""Score a held-out set: loss of the references, and metrics of real translations."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.data import Frame
from dragoman.decoding import BeamSearch, NoRoom, decode
from dragoman.evaluation.metrics import MetricName, Score, corpus_score
from dragoman.evaluation.scoring import perplexity, score_targets
from dragoman.models import SequenceToSequence
from dragoman.tokenization import Tokenizer


@dataclass(frozen=True, slots=True)
class Validation:
    """What a held-out set says of a model.

    Args:
        loss_nats: per target piece, end symbols included, without label smoothing.
        scores: metrics of the translations, as asked.
    """

    loss_nats: float
    scores: tuple[Score, ...]

    @property
    def perplexity(self) -> float:
        """e^loss."""
        return perplexity(self.loss_nats)

    def value(self, metrics: Sequence[MetricName]) -> float:
        """Give the number by which models are compared: the first metric, or the loss."""
        if not metrics:
            return self.loss_nats
        return next(score.value for score in self.scores if score.metric == metrics[0])

    def by_metric(self) -> tuple[dict[str, float], dict[str, str]]:
        """Give the values and the signatures by metric."""
        return values_and_signatures(self.scores)


def values_and_signatures(scores: Sequence[Score]) -> tuple[dict[str, float], dict[str, str]]:
    """Split scores into values and signatures, each by metric."""
    values = {score.metric: score.value for score in scores}
    return dict(values), {score.metric: score.signature for score in scores}


@dataclass(frozen=True, slots=True)
class Validator:
    """A held-out set ready to be scored again and again.

    Args:
        sources: bare source ids.
        targets: bare target ids.
        references: target text, raw.
        tokenizer: of the target side.
        search: how translations are made.
        metrics: computed on them.
        batch_tokens: most slots in a batch.
        frame: what stands around sources and before targets; as in the paper unless given.
    """

    sources: Sequence[Sequence[int]]
    targets: Sequence[Sequence[int]]
    references: Sequence[str]
    tokenizer: Tokenizer
    search: BeamSearch
    metrics: Sequence[MetricName]
    batch_tokens: int = 4096
    frame: Frame | None = None

    def __call__(self, model: SequenceToSequence) -> Validation:
        """Score a model as it is."""
        scored = score_targets(
            model,
            self.sources,
            self.targets,
            self.frame or self.tokenizer.special,
            batch_tokens=self.batch_tokens,
        )
        pieces = sum(len(score.log_probs) for score in scored)
        loss = -sum(score.log_prob for score in scored) / pieces
        return Validation(loss, self._metrics(model) if self.metrics else ())

    def _metrics(self, model: SequenceToSequence) -> tuple[Score, ...]:
        special = self.frame or self.tokenizer.special
        found = decode(model, self.sources, self.search, special, batch_tokens=self.batch_tokens)
        best = [() if isinstance(f, NoRoom) or not f else f[0].ids for f in found]
        texts = self.tokenizer.decode_many(best)
        return tuple(corpus_score(metric, texts, self.references) for metric in self.metrics)
