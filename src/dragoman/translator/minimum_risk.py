"""Minimum-Bayes-risk decoding: of many translations the one that is most like the others.

    utility(y_i) = 1 / (N - 1) * sum over j != i of chrF(y_i, y_j)

with chrF(hypothesis, reference) from 0 to 100 as sacreBLEU's ``sentence_chrf`` has it. The N
translations stand for what the model holds possible: drawn from it without filters, the mean
estimates the expected utility (Eikema and Aziz 2020, arXiv 2005.10283; with other
utilities Freitag et al. 2022, arXiv 2111.09388). One that was drawn several times counts as often.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from dragoman.evaluation import chrf_table
from dragoman.translator.translation import Candidate, Translation


def expected_utilities(texts: Sequence[str]) -> list[float]:
    """Give the mean chrF of each text against all the others, equal ones included, 0 to 100.

    Raises:
        ValueError: there are fewer than two.
    """
    if len(texts) < 2:
        raise ValueError(f"{len(texts)} texts have no others to be compared with")
    times = Counter(texts)
    table = chrf_table([*times])
    found: dict[str, float] = {}
    for place, text in enumerate(times):
        others = times - Counter([text])
        row = zip(times, table[place].tolist(), strict=True)
        # A sum that does not depend on the order, so that what is equal is equal to the bit.
        total = math.fsum(value for other, value in row for _ in range(others[other]))
        found[text] = total / (len(texts) - 1)
    return [found[text] for text in texts]


def least_risk(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Put translations in order of their utility, each text once.

    Of equal utilities the more probable translation comes first, then the earlier; of equal texts
    the more probable one stays.

    Args:
        candidates: of one segment; one alone has the utility 100.

    Returns:
        The same with their utility as score, best first.
    """
    if len(candidates) < 2:
        return [replace(candidate, score=100.0) for candidate in candidates]
    utilities = expected_utilities([candidate.text for candidate in candidates])
    pairs = zip(candidates, utilities, strict=True)
    rated = [replace(candidate, score=utility) for candidate, utility in pairs]
    rated.sort(key=lambda each: (-each.score, -math.fsum(each.token_log_probs)))
    distinct: dict[str, Candidate] = {}
    for candidate in rated:
        distinct.setdefault(candidate.text, candidate)
    return [*distinct.values()]


def rerank(translation: Translation, n_best: int) -> Translation:
    """Give the translations of a segment with the highest utility; what was copied stays."""
    if translation.copied:
        return translation
    return replace(translation, hypotheses=tuple(least_risk(translation.hypotheses)[:n_best]))
