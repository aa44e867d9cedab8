"""How probable the pairs of a corpus of any size are, and what they come to together.

Loss is in nats per target piece, the end symbol included; perplexity is e^loss (section 6.2, of
pieces rather than words).
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dragoman.data import Pair, is_blank
from dragoman.evaluation import TargetScore, perplexity, score_targets
from dragoman.translator.target_language import language_tag
from dragoman.translator.translator import Translator
from dragoman.translator.windows import windows


class Scored(Protocol):
    """What a model says of one text."""

    @property
    def log_probs(self) -> tuple[float, ...]:
        """Natural logarithms, one a piece, the end symbol last."""
        ...


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """A pair of a corpus and what the model says of it.

    Args:
        pair: with its number in the corpus.
        score: None when the model was not asked.
        problem: why not: ``blank``, or that a side has more pieces than the model has positions.
    """

    pair: Pair
    score: TargetScore | None
    problem: str = ""


@dataclass(slots=True)
class CorpusScore:
    """What the scores of many texts come to.

    Args:
        scored: texts the model was asked about.
        pieces: of them, end symbols included.
        log_prob: sum of the log-probabilities, in nats.
        left_out: texts it was not asked about: ``blank`` or ``too long``.
    """

    scored: int = 0
    pieces: int = 0
    log_prob: float = 0.0
    left_out: Counter[str] = field(default_factory=Counter[str])

    @property
    def loss_nats(self) -> float:
        """Mean surprise per piece; NaN when nothing was scored."""
        return -self.log_prob / self.pieces if self.pieces else math.nan

    @property
    def perplexity(self) -> float:
        """e^loss: among how many equally likely pieces the model hesitates."""
        return perplexity(self.loss_nats)

    def add(self, score: Scored) -> None:
        """Count a text."""
        self.scored += 1
        self.pieces += len(score.log_probs)
        self.log_prob += math.fsum(score.log_probs)


def mean_log_prob(score: Scored) -> float:
    """Average the log-probabilities of the pieces, so that long texts compare with short ones."""
    return math.fsum(score.log_probs) / len(score.log_probs)


def best_share(means: Sequence[float], share: float) -> list[bool]:
    """Say which texts are among the best.

    Args:
        means: one for each text; minus infinity for one that is never among them.
        share: of those with a mean, in (0, 1]; half a text counts as none.

    Returns:
        As many truth values; of equal means the earlier is better.
    """
    values = np.asarray(means, np.float64)
    order = np.argsort(-values, kind="stable")[: int(share * np.isfinite(values).sum() + 1e-9)]
    chosen = np.zeros(len(values), np.bool_)
    chosen[order] = True
    return chosen.tolist()


def score_pairs(
    translator: Translator,
    pairs: Iterable[Pair],
    *,
    batch_tokens: int = 4096,
    target_language: str | None = None,
) -> Iterator[ScoredPair]:
    """Score the pairs of a corpus in order, some thousand at a time; memory stays flat.

    A pair with a blank side is not scored, and neither is one that is longer than the model's
    positions.

    Args:
        translator: a loaded model.
        pairs: such as ``open_corpus`` gives.
        batch_tokens: most slots in a batch.
        target_language: as in ``Translator.translate``.

    Raises:
        ConfigError: ``target_language`` is not one of the model's, or missing.
    """
    tag = language_tag(translator.bundle.source_tokenizer, target_language)
    for window in windows(pairs, 2_000, size=lambda pair: len(pair.source) + len(pair.target)):
        yield from _score_window(translator, window, tag, batch_tokens)


def _score_window(
    translator: Translator, window: Sequence[Pair], tag: Sequence[int], batch_tokens: int
) -> Iterator[ScoredPair]:
    bundle, model, frame = translator.bundle, translator.model, translator.frame
    encoded = bundle.source_tokenizer.encode_many([pair.source for pair in window])
    sources = [[*tag, *ids] for ids in encoded]
    targets = bundle.target_tokenizer.encode_many([pair.target for pair in window])
    problems = [
        "blank"
        if is_blank(pair.source) or is_blank(pair.target)
        else _too_long("source", len(source) + frame.source_added, model.max_source_length)
        or _too_long("target", len(target) + frame.target_added, model.max_target_length)
        for pair, source, target in zip(window, sources, targets, strict=True)
    ]
    asked = [place for place, problem in enumerate(problems) if not problem]
    found = score_targets(
        model,
        [sources[place] for place in asked],
        [targets[place] for place in asked],
        frame,
        batch_tokens=batch_tokens,
    )
    scores = dict(zip(asked, found, strict=True))
    for place, (pair, problem) in enumerate(zip(window, problems, strict=True)):
        yield ScoredPair(pair, scores.get(place), problem)


def _too_long(side: str, pieces: int, limit: int | None) -> str:
    if limit is None or pieces <= limit:
        return ""
    return (
        f"{side}: {pieces} pieces with the end symbol, the model has {limit} positions; shorten it"
    )
