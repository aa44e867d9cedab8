"""What each head of a translator is worth on a test set."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from dragoman.evaluation import corpus_score
from dragoman.inspection import HeadEffect, all_heads, head_effects
from dragoman.translator.translator import Translator

HeadMetric = Literal["loss", "bleu"]


def measure_heads(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    metric: HeadMetric = "loss",
    beam: int = 1,
    target_language: str | None = None,
) -> tuple[float, int, Iterator[HeadEffect]]:
    """Measure a translator whole, and then without each of its heads (arXiv 1905.10650).

    Args:
        translator: searches with the engine ``torch``; is left as it was.
        sources: of the test set, raw text.
        targets: its translations.
        metric: ``loss`` in nats per piece of the target, or ``bleu`` of translations.
        beam: of the search, for ``bleu``.
        target_language: as in ``Translator.translate``.

    Returns:
        What the whole model gives, how many heads there are, and their effects, each measured when
        it is asked for.

    Raises:
        ModelError: the model has no heads that could be left out, or a text is too long for it.
        ConfigError: ``target_language`` is as in ``Translator.translate``.
        ValueError: the counts differ, or there are none.
    """
    if not sources or len(sources) != len(targets):
        raise ValueError(f"{len(sources)} sources and {len(targets)} targets")
    model = translator.bundle.model
    count = len(all_heads(model))

    def loss() -> float:
        scores = translator.score(sources, targets, target_language=target_language)
        pieces = sum(len(score.log_probs) for score in scores)
        return -math.fsum(score.log_prob for score in scores) / pieces

    def bleu() -> float:
        found = translator.translate(sources, beam=beam, target_language=target_language)
        return corpus_score("bleu", [each.text for each in found], targets).value

    measure: Callable[[], float] = loss if metric == "loss" else bleu
    whole = measure()
    effects = head_effects(model, measure, whole, lower_is_better=metric == "loss")
    return whole, count, effects
