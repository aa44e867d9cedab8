"""How sure a BLEU is: bootstrap resampling of sentences (Koehn 2004), as sacreBLEU does it.

A test set is drawn again and again from its own sentences, with replacement; what BLEU does over
the draws says how far another test set of the kind could move it. Two systems are compared on the
same draws. Draws, interval and p-value are those of ``sacrebleu --paired-bs`` with its seed.

Shapes: N sentences, R draws.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

DRAWS = 1_000
SEED = 12_345  # sacreBLEU's
ORDER = 4  # longest n-gram

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def bleu_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> Integers:
    """Count for each sentence what BLEU is made of.

    Args:
        hypotheses: raw text, one per sentence.
        references: raw text, one per sentence.

    Returns:
        For each sentence the matches and the number of n-grams of orders 1 to 4, then the words of
        hypothesis and reference, (N, 10); their sums make the BLEU of the corpus.

    Raises:
        ValueError: the counts differ, or there are none.
    """
    from sacrebleu.metrics.bleu import BLEU  # slow to import

    if len(hypotheses) != len(references) or not hypotheses:
        raise ValueError(f"{len(hypotheses)} hypotheses, {len(references)} references")
    scorer: Any = BLEU(effective_order=True)  # Any: sacreBLEU has no types
    rows: list[list[int]] = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        found = scorer.sentence_score(hypothesis, [reference])
        rows.append([*found.counts, *found.totals, found.sys_len, found.ref_len])
    return np.array(rows, dtype=np.int64)


def bleu_of(sums: Integers) -> float:
    """Compute BLEU, 0 to 100, from summed statistics, (10,), with sacreBLEU's smoothing."""
    from sacrebleu.metrics.bleu import BLEU  # slow to import

    numbers = [int(number) for number in sums]
    counts, totals = numbers[:ORDER], numbers[ORDER : 2 * ORDER]
    scorer: Any = BLEU  # Any: sacreBLEU has no types
    found = scorer.compute_bleu(counts, totals, numbers[-2], numbers[-1], smooth_method="exp")
    return float(found.score)


def resampled_bleu(statistics: Integers, *, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Compute BLEU on test sets drawn from the sentences of one.

    Args:
        statistics: of each sentence, (N, 10); see ``bleu_statistics``.
        draws: how many, R.
        seed: test sets of the same size and seed are the same draws.

    Returns:
        (R,), in the order of the draws.
    """
    sentences = len(statistics)
    chosen = np.random.default_rng(seed).choice(sentences, size=(draws, sentences), replace=True)
    return np.array([bleu_of(statistics[draw].sum(0)) for draw in chosen])


def interval(values: Floats) -> tuple[float, float]:
    """Give the bounds that leave out the lowest and the highest 2.5 % of ``values``, (R,)."""
    ordered = np.sort(values)
    outside = len(ordered) // 40
    return float(ordered[outside]), float(ordered[-1 - outside])


def paired_p_value(difference: float, first: Floats, second: Floats) -> float:
    """Say how often chance alone would make two systems differ by so much.

    Args:
        difference: of their BLEU on the test set itself.
        first: BLEU of one on each draw, (R,).
        second: BLEU of the other on the same draws, (R,).

    Returns:
        In (0, 1]: the share of draws whose difference is further from the mean difference than
        ``difference`` is from 0, after Koehn's scripts as sacreBLEU has it. 1, where sacreBLEU says
        the least there is, when the two are equal on every draw.
    """
    differences = np.abs(second - first)
    if not differences.any():
        return 1.0
    beyond = int(np.sum(differences - differences.mean() > abs(difference)))
    return (beyond + 1) / (len(differences) + 1)
