"""BLEU, chrF and TER through sacreBLEU, with the signature that says how (Post 2018)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

MetricName = Literal["bleu", "chrf", "ter"]
METRICS: tuple[MetricName, ...] = ("bleu", "chrf", "ter")


@dataclass(frozen=True, slots=True)
class Score:
    """The value of one metric over a corpus, and how it was computed."""

    metric: MetricName
    value: float  # 0 to 100 for BLEU and chrF; TER is an error rate, lower is better
    signature: str

    def __str__(self) -> str:
        return f"{self.metric} {self.value:.2f} [{self.signature}]"


def corpus_score(
    metric: MetricName, hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = ""
) -> Score:
    """Compare translations with references, both raw text.

    Args:
        metric: which.
        hypotheses: one per sentence.
        references: one per sentence.
        tokenize: BLEU's tokenizer (``13a``, ``zh``, ``char``, ...); sacreBLEU's default if empty.

    Raises:
        ValueError: the counts differ, or there are none.
    """
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses, {len(references)} references")
    if not hypotheses:
        raise ValueError("there is nothing to compare")
    scorer = _scorer(metric, tokenize)
    result = scorer.corpus_score(list(hypotheses), [list(references)])
    return Score(metric, float(result.score), str(scorer.get_signature()))


def bleu_tokenizers() -> tuple[str, ...]:
    """List the tokenizers that sacreBLEU's BLEU knows."""
    from sacrebleu.metrics.bleu import BLEU

    return tuple(sorted(BLEU.TOKENIZERS))


def _scorer(metric: MetricName, tokenize: str) -> Any:  # Any: sacreBLEU has no types
    # Slow to import, so only when a score is asked for.
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    match metric:
        case "bleu":
            return BLEU(tokenize=tokenize) if tokenize else BLEU()
        case "chrf":
            return CHRF()
        case "ter":
            return TER()
