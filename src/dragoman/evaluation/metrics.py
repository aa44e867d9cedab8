"""Metrics of translations, with signatures; BLEU, chrF and TER are sacreBLEU's (Post 2018)."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dragoman.evaluation.brackets import score_tokens
from dragoman.evaluation.error_rate import error_rate

MetricName = Literal["bleu", "chrf", "ter", "exact", "wer", "brackets", "accuracy", "bits"]
# Those of translations:
METRICS: tuple[MetricName, ...] = ("bleu", "chrf", "ter", "exact", "wer", "brackets")
_LOWER_IS_BETTER: frozenset[MetricName] = frozenset({"ter", "wer", "bits"})


@dataclass(frozen=True, slots=True)
class Score:
    """The value of one metric over a corpus, and how it was computed."""

    metric: str  # one of ``MetricName``, or of ``PaperMetric``
    value: float  # 0 to 100, higher is better; TER and WER are error rates, bits are per character
    signature: str

    def __str__(self) -> str:
        return f"{self.metric} {self.value:.2f} [{self.signature}]"


def lower_is_better(metrics: Sequence[MetricName] | None) -> bool:
    """Whether the first metric is an error; without any the loss is meant."""
    return not metrics or metrics[0] in _LOWER_IS_BETTER


def corpus_score(
    metric: MetricName, hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = ""
) -> Score:
    """Compare translations with references, both raw text.

    Args:
        metric: which; ``brackets`` is the F1 of trees in tokens, 0 to 100.
        hypotheses: one per sentence.
        references: one per sentence.
        tokenize: BLEU's tokenizer (``13a``, ``zh``, ``char``, ...); sacreBLEU's default if empty.

    Raises:
        ValueError: the counts differ, or there are none.
        DataError: ``brackets``, and a reference is no tree.
    """
    _check_counts(len(hypotheses), len(references))
    if metric in ("exact", "wer"):
        return line_score(metric, hypotheses, [[reference] for reference in references])
    if metric == "brackets":
        found = score_tokens(hypotheses, references).brackets
        return Score(metric, 100 * found.f1, "f1:labelled|rules:COLLINS|repair:yes|dragoman")
    scorer = _scorer(metric, tokenize)
    result = scorer.corpus_score(list(hypotheses), [list(references)])
    return Score(metric, float(result.score), str(scorer.get_signature()))


def line_score(
    metric: MetricName, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> Score:
    """Compare lines, each with the closest of several references, white space between tokens.

    Args:
        metric: ``exact`` is the percentage of lines that equal a reference; ``wer`` is edits per
            100 tokens of the closest references.
        hypotheses: one per line.
        references: one or more per line, all of them right.

    Raises:
        ValueError: the counts differ, or there are none, or another metric is asked for.
    """
    if metric not in ("exact", "wer"):
        raise ValueError(f"{metric} does not compare line by line")
    found = error_rate(
        [text.split() for text in hypotheses],
        [[text.split() for text in choices] for choices in references],
    )
    most = max(len(choices) for choices in references)
    signature = f"nrefs:{'var' if most > 1 else 1}|tok:blank|dragoman"
    value = found.exact_match if metric == "exact" else found.token_error_rate
    return Score(metric, 100 * value, signature)


@dataclass(frozen=True, slots=True)
class TokenBleu:
    """BLEU of tokens as given, with what it is made of (Papineni et al. 2002).

    Args:
        value: 0 to 100: brevity penalty times the geometric mean of the precisions.
        precisions: by order from 1, the share in [0, 1] of n-grams that a reference has too.
        brevity_penalty: in [0, 1]; e^(1 - reference / hypothesis length) when too short, else 1.
        hypothesis_length: tokens of all hypotheses.
        reference_length: tokens of all references.
    """

    value: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int


def token_bleu(
    hypotheses: Sequence[Sequence[Hashable]],
    references: Sequence[Sequence[Hashable]],
    *,
    order: int = 4,
) -> TokenBleu:
    """Compute corpus BLEU on tokens as they are: no tokenizer, no smoothing.

    Not comparable with ``corpus_score``, whose tokenizer makes published scores comparable.

    Args:
        hypotheses: tokens of each sentence; words, pieces or ids, whatever they hold.
        references: tokens of each sentence, as many.
        order: longest n-gram N; 4 is what the paper reports.

    Returns:
        A value of 0 when any precision is 0.

    Raises:
        ValueError: the counts differ, or there are none.
    """
    from sacrebleu.metrics.bleu import BLEU

    _check_counts(len(hypotheses), len(references))
    # sacreBLEU splits at blanks, which a token may hold, so it sees a number for each token.
    numbers: dict[Hashable, str] = {}

    def line(tokens: Sequence[Hashable]) -> str:
        return " ".join(numbers.setdefault(token, str(len(numbers))) for token in tokens)

    scorer = BLEU(tokenize="none", smooth_method="none", max_ngram_order=order, force=True)
    found = scorer.corpus_score([line(h) for h in hypotheses], [[line(r) for r in references]])
    return TokenBleu(
        value=float(found.score),
        precisions=tuple(percent / 100 for percent in found.precisions),
        brevity_penalty=float(found.bp),
        hypothesis_length=int(found.sys_len),
        reference_length=int(found.ref_len),
    )


def _check_counts(hypotheses: int, references: int) -> None:
    if hypotheses != references:
        raise ValueError(f"{hypotheses} hypotheses, {references} references")
    if not hypotheses:
        raise ValueError("there is nothing to compare")


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
        case _:
            raise ValueError(f"{metric} is no metric of sacreBLEU")
