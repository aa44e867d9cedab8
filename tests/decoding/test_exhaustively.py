"""A beam that drops nothing finds exactly what trying everything finds, in a thousand tables."""

from functools import cache

import numpy as np
import pytest

from dragoman.decoding import BeamSearch, Symbols, search
from tests.decoding.many_tables import (
    END,
    START,
    Floats,
    ManyTables,
    nodes,
    running_totals,
    sequences,
)
from tests.fakes import Ids

TABLES, STEPS = 1000, 5
V = 6  # four pieces of text, the end, and the start, which never comes
SYMBOLS = Symbols(START, END, banned=(START,))
WIDE = (V - 2) ** STEPS  # holds every prefix there is


@cache
def thousand_tables() -> tuple[Floats, list[int]]:
    """Draw tables of 2 to 5 tokens, the end included, and how many steps each has, 1 to 5.

    Every second one has no chances but e^-0.5, e^-1, e^-2 and 0, so that it is full of equals: a
    search does not mind that they do not sum to 1, and the sums of their logarithms are exact.
    """
    rng = np.random.default_rng(6)
    tables = np.full((TABLES, nodes(V, STEPS), V), -np.inf)
    limits = [int(limit) for limit in rng.integers(1, STEPS + 1, TABLES)]
    for number, table in enumerate(tables):
        coming = slice(1, 3 + number // 2 % 4)
        size = len(range(V)[coming])
        if number % 2:
            table[:, coming] = rng.choice([-0.5, -1.0, -2.0, -np.inf], (len(table), size))
        else:
            evenness = rng.choice([0.1, 0.5, 1.0, 10.0])
            drawn = rng.dirichlet([evenness] * size, len(table))
            with np.errstate(divide="ignore"):  # of the least even
                table[:, coming] = np.log(drawn)
    return tables, limits


@cache
def every_total() -> list[tuple[Ids, Floats]]:
    """Add up every sequence in every table."""
    tables, _ = thousand_tables()
    return [(ids, running_totals(tables, ids)) for ids in sequences(V, STEPS)]


def best_by_trying(number: int, limit: int, alpha: float) -> list[tuple[float, Ids]]:
    """Rank all that may end in a table.

    Of equals the one that ended first is better; of those that ended in the same step, the one
    that continues the better hypothesis, which goes back to the first piece; then the one with the
    lower id.
    """
    ranked: list[tuple[tuple[object, ...], float, Ids]] = []
    for ids, totals in every_total():
        own = totals[number]
        if len(own) <= limit and own[-1] > -np.inf:
            score = float(own[-1]) / ((5 + len(own)) / 6) ** alpha
            ranked.append(((-score, len(own), *(-own[::-1]), *ids), score, ids))
    return [(score, ids) for _, score, ids in sorted(ranked)]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, -0.5])
def test_a_thousand_tables_give_the_best_five_of_all_there_are(alpha: float) -> None:
    tables, limits = thousand_tables()
    expected = [best_by_trying(number, limit, alpha) for number, limit in enumerate(limits)]
    for n_best in range(1, 6):
        config = BeamSearch(beam=WIDE, alpha=alpha, n_best=n_best)
        answers = search(ManyTables.start(tables), config, SYMBOLS, limits)
        for best, answer in zip(expected, answers, strict=True):
            ended = [h for h in answer if not h.truncated]
            assert [(h.score, h.ids) for h in ended] == best[:n_best]
            assert len(ended) == len(answer) or not best  # cut off only where nothing ends
