"""Required phrases against exhaustive search."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding import (
    NEVER,
    BannedPhrases,
    BeamSearch,
    Demand,
    Hypothesis,
    RequiredPhrases,
    Symbols,
    required_too_long,
    search,
)
from tests.decoding.exhaustive import END, START, Ids, ranked
from tests.fakes import Table, TableSession, random_table, written_table

SYMBOLS = Symbols(START, END, banned=(START,))
SEEDS = st.integers(0, 2**31)
ALPHAS = st.sampled_from([0.0, 0.6, 1.0, -0.5])
PHRASES = st.lists(
    st.lists(st.integers(2, 4), min_size=1, max_size=3).map(tuple), min_size=1, max_size=3
)
V, LIMIT = 5, 5  # 3 pieces of text in at most 4 places
WIDE = 250  # a beam that drops nothing
some = settings(max_examples=25, deadline=None)


def find(
    table: Table,
    phrases: list[Ids],
    *,
    limit: int = LIMIT,
    prefix: Ids = (),
    ban: BannedPhrases | None = None,
    **options: Any,
) -> list[Hypothesis]:
    """Search for one sentence alone."""
    return search(
        TableSession.start(table),
        BeamSearch(**options),
        SYMBOLS,
        [limit],
        prefixes=[prefix],
        ban=ban,
        required=[RequiredPhrases(phrases)],
    )[0]


def paper(log_probs: list[float], alpha: float = 0.6) -> float:
    return sum(log_probs) / ((5 + len(log_probs)) / 6) ** alpha


def holds(ids: Ids, phrase: Ids) -> bool:
    return any(ids[start : start + len(phrase)] == phrase for start in range(len(ids)))


def holds_all(ids: Ids, phrases: list[Ids]) -> bool:
    return all(holds(ids, phrase) for phrase in phrases)


@some
@given(seed=SEEDS, phrases=PHRASES, alpha=ALPHAS, n_best=st.sampled_from([1, 3, WIDE]))
def test_a_wide_beam_finds_the_best_that_hold_the_phrases(
    seed: int, phrases: list[Ids], alpha: float, n_best: int
) -> None:
    table = random_table(seed, V, evenness=0.5)
    expected = ranked(
        table, V, LIMIT, lambda ps, ids: paper(ps, alpha) if holds_all(ids, phrases) else None
    )
    found = find(table, phrases, beam=WIDE, n_best=n_best, alpha=alpha)
    assert [h.ids for h in found] == [ids for _, ids in expected[:n_best]]
    assert [h.score for h in found] == pytest.approx([score for score, _ in expected[:n_best]])


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, phrases=PHRASES, beam=st.integers(1, 4), limit=st.integers(1, 14))
def test_a_small_beam_finds_only_what_holds_the_phrases(
    seed: int, phrases: list[Ids], beam: int, limit: int
) -> None:
    # Sure models, which are seldom willing to write what they must.
    table = random_table(seed, 7, evenness=0.15)
    willing = [[max(p, 1e-9) for p in table((n,))] for n in range(7)]

    def never_zero(prefix: Ids) -> list[float]:
        return willing[prefix[-1]]

    found = find(never_zero, phrases, beam=beam, n_best=beam, limit=limit, alpha=0.0)
    if required_too_long(RequiredPhrases(phrases), (), limit):
        assert found == []
        return
    assert found
    for hypothesis in found:
        assert holds_all(hypothesis.ids, phrases)
    scores = [hypothesis.score for hypothesis in found]
    assert scores == sorted(scores, reverse=True)
    assert len({hypothesis.ids for hypothesis in found}) == len(found)


@some
@given(seed=SEEDS, phrases=PHRASES)
def test_what_fits_the_limit_exactly_is_found(seed: int, phrases: list[Ids]) -> None:
    fewest = RequiredPhrases(phrases).remaining(0)
    table = random_table(seed, V)
    (best,) = find(table, phrases, beam=1, limit=fewest + 1)
    assert holds_all(best.ids, phrases)
    assert find(table, phrases, beam=1, limit=fewest) == []
    why = required_too_long(RequiredPhrases(phrases), (), fewest)
    assert str(why) == (
        f"what is required takes {fewest} pieces with the prefix and needs one more for the end "
        f"symbol, but the limit is {fewest}; require less or raise max_length"
    )


# By hand: 2 3 4 holds both (2, 3) and (3, 4); 2 3 2 holds "2 3" and "3 2".
@pytest.mark.parametrize(
    ("phrases", "fewest"),
    [
        ([(2, 3), (3, 4)], 3),
        ([(2, 3), (3, 2)], 3),
        ([(2, 3, 4), (3,)], 3),
        ([(2, 2), (2, 2, 2)], 3),
        ([(2,), (3,), (4,)], 3),
        ([(2,), (2,)], 1),
        ([], 0),
    ],
)
def test_phrases_may_overlap(phrases: list[Ids], fewest: int) -> None:
    assert RequiredPhrases(phrases).remaining(0) == fewest


def test_what_a_forced_prefix_holds_has_come() -> None:
    table = written_table(
        {"* 0": {"2": 1.0}, "* 2": {"3": 1.0}, "* 3": {"1": 0.9, "2": 0.1}}, vocabulary=4
    )
    assert find(table, [(2, 3)], prefix=(2, 3), limit=9)[0].ids == (2, 3)
    assert find(table, [(3, 2)], prefix=(2, 3), limit=9)[0].ids == (2, 3, 2, 3)
    assert find(table, [(2, 3)], prefix=(2,), limit=9)[0].ids == (2, 3)


def test_what_can_only_be_improbable_comes_where_it_costs_least() -> None:
    # By hand: "4" costs ln 0.01 at the start and ln 0.2 after 2; greedy goes 2, 3, end.
    table = written_table(
        {
            "* 0": {"2": 0.9, "3": 0.09, "4": 0.01},
            "* 2": {"3": 0.8, "4": 0.2},
            "* 3": {"1": 0.999, "4": 0.001},
            "* 4": {"3": 1.0},
        },
        vocabulary=5,
    )
    best = find(table, [(4,)], beam=2, alpha=0.0, limit=9)[0]
    assert best.ids == (2, 4, 3)
    assert best.log_prob == pytest.approx(math.log(0.9 * 0.2 * 0.999))


def test_a_banned_phrase_that_is_required_leaves_nothing() -> None:
    table = random_table(1, V)
    assert find(table, [(2, 3)], ban=BannedPhrases([(3,)]), beam=4, limit=12) == []
    assert find(table, [(2, 3)], ban=BannedPhrases([(4,)]), beam=4, limit=12)


CONTROLS: list[dict[str, Any]] = [
    {},
    {"min_length": 4},
    {"no_repeat_ngram": 2},
    {"repetition_penalty": 1.7},
    {"length_penalty": "average", "word_reward": 0.2},
    {"patience": 1.0},
    {"groups": 2},
    {"groups": 4, "diversity": 2.0},
]


@pytest.mark.parametrize("controls", CONTROLS, ids=str)
@settings(max_examples=8, deadline=None)
@given(
    sentences=st.lists(
        st.tuples(
            SEEDS, st.integers(1, 12), st.lists(st.integers(2, 5), max_size=3).map(tuple), PHRASES
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_the_best_depends_neither_on_neighbours_nor_on_n_best(
    controls: dict[str, Any], sentences: list[tuple[int, int, Ids, list[Ids]]]
) -> None:
    tables = [random_table(seed, 6, evenness=0.3) for seed, *_ in sentences]
    limits = [limit for _, limit, _, _ in sentences]
    prefixes = [prefix for *_, prefix, _ in sentences]
    demands = [RequiredPhrases(phrases) for *_, phrases in sentences]
    config = BeamSearch(beam=4, n_best=4, **controls)
    session = TableSession.start(*tables)
    together = search(session, config, SYMBOLS, limits, prefixes=prefixes, required=demands)
    for found, (*_, phrases) in zip(together, sentences, strict=True):
        assert all(holds_all(hypothesis.ids, phrases) for hypothesis in found)
    for n_best in (4, 1):
        alone = [
            find(table, phrases, beam=4, n_best=n_best, limit=limit, prefix=prefix, **controls)
            for table, (_, limit, prefix, phrases) in zip(tables, sentences, strict=True)
        ]
        assert [found[:n_best] for found in together] == alone


class Free:
    """A demand for nothing."""

    def after(self, state: int, piece: int) -> int:
        return state

    def remaining(self, state: int) -> int:
        return 0

    def leading(self, state: int) -> list[int]:
        return []


@some
@given(seed=SEEDS, beam=st.integers(2, 5), alpha=ALPHAS)
def test_where_nothing_is_required_it_is_plain_beam_search(
    seed: int, beam: int, alpha: float
) -> None:
    table = random_table(seed, 7, evenness=0.5)
    config = BeamSearch(beam=beam, n_best=beam, alpha=alpha)
    free: list[Demand] = [Free()]
    plain = search(TableSession.start(table), config, SYMBOLS, [9])
    assert search(TableSession.start(table), config, SYMBOLS, [9], required=free) == plain


def test_what_cannot_be_written_is_said() -> None:
    class Impossible(Free):
        def remaining(self, state: int) -> int:
            return NEVER

    assert "cannot write what is required" in str(required_too_long(Impossible(), (), 20))


def test_misuse_is_refused() -> None:
    with pytest.raises(ValueError, match="phrases: one is empty"):
        RequiredPhrases([(2,), ()])
    with pytest.raises(ValueError, match="1 sentences, and something required of 0"):
        search(TableSession.start(random_table(1, V)), BeamSearch(), SYMBOLS, [5], required=[])
