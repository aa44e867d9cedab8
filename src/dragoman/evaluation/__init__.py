"""How good a model is; may look at models and run the search, knows nothing of training."""

from dragoman.evaluation.metrics import (
    METRICS,
    MetricName,
    Score,
    bleu_tokenizers,
    corpus_score,
)
from dragoman.evaluation.scoring import TargetScore, perplexity, score_targets, target_log_probs
from dragoman.evaluation.validation import Validation, Validator

__all__ = [
    "METRICS",
    "MetricName",
    "Score",
    "TargetScore",
    "Validation",
    "Validator",
    "bleu_tokenizers",
    "corpus_score",
    "perplexity",
    "score_targets",
    "target_log_probs",
]
