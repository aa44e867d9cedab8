"""How good a model is; may look at models and run the search, knows nothing of training."""

from dragoman.evaluation.bootstrap import (
    DRAWS,
    bleu_statistics,
    interval,
    paired_p_value,
    resampled_bleu,
)
from dragoman.evaluation.brackets import TokensScore, score_tokens
from dragoman.evaluation.chrf_table import chrf_table
from dragoman.evaluation.error_rate import ErrorRate, edit_distance, error_rate
from dragoman.evaluation.language import validate_classes, validate_language, validate_masked
from dragoman.evaluation.metrics import (
    METRICS,
    MetricName,
    Score,
    TokenBleu,
    bleu_tokenizers,
    corpus_score,
    line_score,
    lower_is_better,
    token_bleu,
)
from dragoman.evaluation.paper_bleu import (
    NOT_COMPARABLE,
    PAPER_METRICS,
    PaperBleu,
    PaperMetric,
    split_compounds,
)
from dragoman.evaluation.scoring import TargetScore, perplexity, score_targets, target_log_probs
from dragoman.evaluation.validation import Validation, Validator

__all__ = [
    "DRAWS",
    "METRICS",
    "NOT_COMPARABLE",
    "PAPER_METRICS",
    "ErrorRate",
    "MetricName",
    "PaperBleu",
    "PaperMetric",
    "Score",
    "TargetScore",
    "TokenBleu",
    "TokensScore",
    "Validation",
    "Validator",
    "bleu_statistics",
    "bleu_tokenizers",
    "chrf_table",
    "corpus_score",
    "edit_distance",
    "error_rate",
    "interval",
    "line_score",
    "lower_is_better",
    "paired_p_value",
    "perplexity",
    "resampled_bleu",
    "score_targets",
    "score_tokens",
    "split_compounds",
    "target_log_probs",
    "token_bleu",
    "validate_classes",
    "validate_language",
    "validate_masked",
]
