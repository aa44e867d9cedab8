"""Controls of beam search against exhaustive search and slow twins."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding import (
    BannedPhrases,
    BeamSearch,
    FinalScore,
    Hypothesis,
    Symbols,
    length_penalty,
    search,
)
from dragoman.decoding.constraints import repeating
from dragoman.errors import ConfigError
from tests.decoding.exhaustive import END, START, Ids, beam_by_hand, ranked
from tests.fakes import Table, TableSession, log_prob, random_table, written_table

SYMBOLS = Symbols(START, END, banned=(START,))
SEEDS = st.integers(0, 2**31)
ALPHAS = st.sampled_from([0.0, 0.6, 1.0, -0.5])
V, LIMIT = 5, 4  # 3 pieces of text in at most 3 places: 40 sequences
WIDE = 81  # a beam that drops nothing
some = settings(max_examples=20, deadline=None)


def find(
    table: Table,
    *,
    limit: int = LIMIT,
    prefix: Ids = (),
    ban: BannedPhrases | None = None,
    **options: Any,
) -> list[Hypothesis]:
    """Search for one sentence alone."""
    session = TableSession.start(table)
    config = BeamSearch(**options)
    return search(session, config, SYMBOLS, [limit], prefixes=[prefix], ban=ban)[0]


def agrees(found: list[Hypothesis], expected: list[tuple[float, Ids]]) -> None:
    assert [hypothesis.ids for hypothesis in found] == [ids for _, ids in expected]
    assert [h.score for h in found] == pytest.approx([score for score, _ in expected])


def paper(log_probs: list[float], alpha: float = 0.6) -> float:
    return sum(log_probs) / ((5 + len(log_probs)) / 6) ** alpha


def repeats(ids: Ids, n: int) -> bool:
    """Whether some n pieces in a row stand in a sequence twice."""
    grams = [ids[start : start + n] for start in range(len(ids) - n + 1)]
    return len(set(grams)) < len(grams)


def holds(ids: Ids, phrase: Ids) -> bool:
    return any(ids[start : start + len(phrase)] == phrase for start in range(len(ids)))


# Minimum length


@some
@given(seed=SEEDS, least=st.integers(0, LIMIT), alpha=ALPHAS)
def test_no_translation_is_shorter_than_the_minimum(seed: int, least: int, alpha: float) -> None:
    table = random_table(seed, V, evenness=0.5)
    expected = ranked(
        table, V, LIMIT, lambda ps, ids: paper(ps, alpha) if len(ids) + 1 >= least else None
    )
    agrees(find(table, beam=WIDE, n_best=WIDE, alpha=alpha, min_length=least), expected)
    agrees(find(table, beam=WIDE, alpha=alpha, min_length=least), expected[:1])


def test_minimum_beyond_the_limit_gives_truncated_ones() -> None:
    found = find(random_table(1, V), min_length=9)
    assert all(h.truncated and len(h.ids) == LIMIT for h in found)
    assert found


# Repeated n-grams


@some
@given(seed=SEEDS, n=st.integers(1, 3), alpha=ALPHAS)
def test_no_n_pieces_in_a_row_come_twice(seed: int, n: int, alpha: float) -> None:
    table = random_table(seed, 4, evenness=0.5)
    limit = 6
    expected = ranked(
        table, 4, limit, lambda ps, ids: None if repeats(ids, n) else paper(ps, alpha)
    )
    options: dict[str, Any] = {"beam": WIDE, "alpha": alpha, "no_repeat_ngram": n, "limit": limit}
    agrees(find(table, n_best=WIDE, **options), expected[:WIDE])
    agrees(find(table, **options), expected[:1])


@some
@given(seed=SEEDS, n=st.integers(1, 4), beam=st.integers(1, 4))
def test_a_model_that_only_repeats_is_kept_from_it(seed: int, n: int, beam: int) -> None:
    # Field note: an n-gram block that does not block (OpenNMT/CTranslate2 1498).
    def stuck(prefix: Ids) -> list[float]:
        rest = random_table(seed, 6)((prefix[-1],))
        return [0.01 * p for p in rest[:2]] + [p + 1 for p in rest[2:]]

    found = find(stuck, beam=beam, n_best=beam, no_repeat_ngram=n, limit=30)
    assert found
    assert not any(repeats(hypothesis.ids, n) for hypothesis in found)


def test_what_a_forced_prefix_holds_has_come_already() -> None:
    # After the prefix 2 3 2, piece 3 would make "2 3" come twice; 4 is what is left.
    table = written_table(
        {
            "0": {"2": 1.0},
            "* 2": {"3": 0.9, "4": 0.1},
            "* 3": {"2": 0.5, "1": 0.5},
            "* 4": {"1": 1.0},
        },
        vocabulary=5,
    )
    assert find(table, prefix=(2, 3, 2), limit=6)[0].ids == (2, 3, 2, 3)
    assert find(table, prefix=(2, 3, 2), limit=6, no_repeat_ngram=2)[0].ids == (2, 3, 2, 4)


def test_a_repetition_inside_a_forced_prefix_is_obeyed() -> None:
    found = find(random_table(1, V), prefix=(2, 2, 2), no_repeat_ngram=2, limit=6)
    assert found[0].ids[:3] == (2, 2, 2)


def test_repeating_finds_every_piece_that_ended_the_same_beginning() -> None:
    # By hand: "2 3" was followed by 4 and by 5; the second row ends as nothing before it.
    rows, pieces = repeating(torch.tensor([[2, 3, 4, 2, 3, 5, 2, 3], [2, 3, 4, 5, 6, 7, 8, 9]]), 3)
    assert sorted(zip(rows.tolist(), pieces.tolist(), strict=True)) == [(0, 4), (0, 5)]
    assert repeating(torch.tensor([[2, 3]]), 3)[0].numel() == 0
    assert repeating(torch.tensor([[2, 3]]), 1)[1].tolist() == [2, 3]


# Banned phrases


@some
@given(
    seed=SEEDS,
    phrases=st.lists(
        st.lists(st.integers(2, 4), min_size=1, max_size=3).map(tuple), min_size=1, max_size=3
    ),
    alpha=ALPHAS,
)
def test_banned_phrases_never_come(seed: int, phrases: list[Ids], alpha: float) -> None:
    table = random_table(seed, V, evenness=0.5)
    expected = ranked(
        table,
        V,
        LIMIT,
        lambda ps, ids: None if any(holds(ids, p) for p in phrases) else paper(ps, alpha),
    )
    ban = BannedPhrases(phrases)
    options: dict[str, Any] = {"beam": WIDE, "alpha": alpha, "ban": ban}
    agrees(find(table, n_best=WIDE, **options), expected[:WIDE])
    agrees(find(table, **options), expected[:1])


def test_a_forced_prefix_may_hold_and_begin_a_banned_phrase() -> None:
    table = written_table({"* 0": {"2": 1.0}, "* 2": {"3": 1.0}, "* 3": {"1": 1.0}}, 4)
    assert find(table, ban=BannedPhrases([(2, 3)])) == []
    assert find(table, prefix=(2, 3), ban=BannedPhrases([(2, 3)]))[0].ids == (2, 3)
    assert find(table, prefix=(2,), ban=BannedPhrases([(2, 3)]))[0].ids == (2, 3)


def test_an_empty_phrase_is_refused() -> None:
    with pytest.raises(ValueError, match="phrases: one is empty"):
        BannedPhrases([(2,), ()])


# Repetition penalty


@some
@given(seed=SEEDS, theta=st.sampled_from([0.5, 1.2, 3.0]), alpha=ALPHAS)
def test_repeated_pieces_count_theta_times(seed: int, theta: float, alpha: float) -> None:
    table = random_table(seed, V, evenness=0.5)

    def score(log_probs: list[float], ids: Ids) -> float:
        again = [n < len(ids) and piece in ids[:n] for n, piece in enumerate((*ids, END))]
        return paper([theta * p if a else p for p, a in zip(log_probs, again, strict=True)], alpha)

    expected = ranked(table, V, LIMIT, score)
    options: dict[str, Any] = {"beam": WIDE, "alpha": alpha, "repetition_penalty": theta}
    found = find(table, n_best=WIDE, **options)
    agrees(found, expected)
    agrees(find(table, **options), expected[:1])
    for hypothesis in found:  # what is reported is what the model says
        assert hypothesis.log_prob == pytest.approx(log_prob(table, (*hypothesis.ids, END), START))


def test_penalty_above_one_makes_a_repetition_rarer_and_below_one_likelier() -> None:
    # By hand: after 2, 2 again has ln 0.5 = -0.693; times 1.5 that is -1.040 < ln 0.4 = -0.916.
    table = written_table(
        {"0": {"2": 1.0}, "* 2": {"2": 0.5, "3": 0.4, "1": 0.1}, "* 3": {"1": 1.0}}, 4
    )
    assert find(table, beam=1, limit=2)[0].ids == (2, 2)
    assert find(table, beam=1, limit=3, repetition_penalty=1.5)[0].ids == (2, 3)
    assert find(table, beam=1, limit=2, repetition_penalty=0.9)[0].ids == (2, 2)


# Final score


def test_forms_of_the_length_penalty() -> None:
    # By hand: 9^0.5 = 3; ((5 + 7) / 6)^2 = 4; a length of 1 changes nothing.
    assert length_penalty(9, 0.5, "average") == pytest.approx(3.0)
    assert length_penalty(7, 2.0, "paper") == pytest.approx(4.0)
    assert length_penalty(70, 2.0, "none") == 1.0
    assert length_penalty(1, 0.6, "average") == 1.0
    assert FinalScore(1.0, "average", 0.25).of(-6.0, 3) == pytest.approx(-2.0 + 0.75)


@some
@given(
    seed=SEEDS,
    form=st.sampled_from(["paper", "average", "none"]),
    alpha=ALPHAS,
    reward=st.sampled_from([0.0, 0.3, 2.0, -0.4]),
)
def test_every_form_and_reward_finds_what_exhaustive_search_finds(
    seed: int, form: str, alpha: float, reward: float
) -> None:
    table = random_table(seed, V)

    def score(log_probs: list[float], ids: Ids) -> float:
        length = len(ids) + 1
        base = {"paper": (5 + length) / 6, "average": length, "none": 1}[form]
        return sum(log_probs) / base**alpha + reward * length

    expected = ranked(table, V, LIMIT, score)
    options: dict[str, Any] = {"alpha": alpha, "length_penalty": form, "word_reward": reward}
    for n_best in (1, 5, WIDE):
        found = find(table, beam=WIDE, n_best=n_best, **options)
        agrees(found, expected[:n_best])


@given(
    total=st.floats(-50, 0),
    alpha=st.floats(-3, 3),
    form=st.sampled_from(["paper", "average", "none"]),
    reward=st.floats(-3, 3),
    shortest=st.integers(1, 20),
    more=st.integers(0, 30),
)
def test_bound_is_the_best_score_of_any_length(
    total: float, alpha: float, form: Any, reward: float, shortest: int, more: int
) -> None:
    final = FinalScore(alpha, form, reward)
    scores = [final.of(total, length) for length in range(shortest, shortest + more + 1)]
    assert final.bound(total, shortest, shortest + more) == pytest.approx(max(scores))


# Patience


@some
@given(seed=SEEDS, beam=st.integers(1, 4), patience=st.sampled_from([0.25, 0.5, 1.0, 2.0]))
def test_patience_stops_when_so_many_have_ended(seed: int, beam: int, patience: float) -> None:
    table = random_table(seed, 6, evenness=0.5)
    expected = beam_by_hand(table, 6, 8, width=beam, enough=patience * beam)
    options: dict[str, Any] = {"beam": beam, "alpha": 0.0, "limit": 8}
    if patience * beam >= 1:
        agrees(find(table, patience=patience, **options), expected[:1])
    # Without patience the search is exact: as if it had gone on to the limit.
    agrees(find(table, **options), beam_by_hand(table, 6, 8, width=beam)[:1])


def test_patience_can_stop_before_the_best_has_ended() -> None:
    # (end) has 0.5, but 2 x 9 and the end wins at alpha 1: -0.916 / 2.5 > -0.693.
    def longer(prefix: Ids) -> list[float]:
        if len(prefix) == 1:
            return [0.1, 0.5, 0.4]
        return [0.0, 0.0, 1.0] if len(prefix) <= 9 else [0.0, 1.0, 0.0]

    options: dict[str, Any] = {"beam": 2, "alpha": 1.0, "limit": 12}
    assert find(longer, **options)[0].ids == (2,) * 9
    assert find(longer, patience=0.5, **options)[0].ids == ()
    assert find(longer, patience=1.0, **options)[0].ids == (2,) * 9


# Diverse beam search


@some
@given(
    seed=SEEDS,
    groups=st.integers(1, 3),
    width=st.integers(1, 3),
    diversity=st.sampled_from([0.0, 0.3, 1.0, 5.0]),
    vocabulary=st.integers(3, 7),
)
def test_groups_find_what_beams_in_lockstep_find(
    seed: int, groups: int, width: int, diversity: float, vocabulary: int
) -> None:
    table, limit = random_table(seed, vocabulary, evenness=0.5), 6
    expected = beam_by_hand(
        table, vocabulary, limit, width=width, groups=groups, diversity=diversity
    )
    beam = groups * width
    options: dict[str, Any] = {"beam": beam, "alpha": 0.0, "limit": limit}
    options |= {"groups": groups, "diversity": diversity}
    agrees(find(table, **options), expected[:1])
    agrees(find(table, n_best=beam, **options), expected[:beam])


def test_a_second_group_takes_another_piece() -> None:
    # By hand: group 1 takes 2 (ln 0.6 = -0.51); to group 2 it then is worth -1.01, less than
    # ln 0.4 = -0.92 of 3. The scores stay those of the model.
    table = written_table({"0": {"2": 0.6, "3": 0.4}, "* 2": {"1": 1.0}, "* 3": {"1": 1.0}}, 4)
    found = find(table, beam=2, n_best=2, groups=2, diversity=0.5, alpha=0.0)
    agrees(found, [(math.log(0.6), (2,)), (math.log(0.4), (3,))])
    same = find(table, beam=2, n_best=2, groups=2, diversity=0.3, alpha=0.0)
    agrees(same, [(math.log(0.6), (2,))])  # each is listed once


# Everything at once

CONTROLS: list[dict[str, Any]] = [
    {"min_length": 4},
    {"no_repeat_ngram": 2},
    {"repetition_penalty": 1.7},
    {"length_penalty": "average", "word_reward": 0.2},
    {"length_penalty": "none", "word_reward": -0.2},
    {"patience": 1.0},
    {"groups": 2},
    {"groups": 4, "diversity": 2.0, "patience": 2.0},
    {
        "min_length": 3,
        "no_repeat_ngram": 2,
        "repetition_penalty": 1.3,
        "word_reward": 0.1,
        "patience": 1.5,
        "groups": 2,
    },
]


@pytest.mark.parametrize("controls", CONTROLS, ids=str)
@settings(max_examples=8, deadline=None)
@given(
    sentences=st.lists(
        st.tuples(SEEDS, st.integers(1, 9), st.lists(st.integers(2, 5), max_size=3).map(tuple)),
        min_size=1,
        max_size=4,
    ),
    alpha=ALPHAS,
    banned=st.booleans(),
)
def test_the_best_depends_neither_on_neighbours_nor_on_n_best(
    controls: dict[str, Any],
    sentences: list[tuple[int, int, Ids]],
    alpha: float,
    banned: bool,
) -> None:
    tables = [random_table(seed, 6, evenness=0.3) for seed, _, _ in sentences]
    limits = [limit for _, limit, _ in sentences]
    prefixes = [prefix for _, _, prefix in sentences]
    ban = BannedPhrases([(2, 3), (4,)]) if banned else None
    config = BeamSearch(beam=4, alpha=alpha, n_best=4, **controls)
    session = TableSession.start(*tables)
    together = search(session, config, SYMBOLS, limits, prefixes=prefixes, ban=ban)
    for n_best in (4, 1):
        alone = [
            find(
                table,
                beam=4,
                alpha=alpha,
                n_best=n_best,
                limit=limit,
                prefix=prefix,
                ban=ban,
                **controls,
            )
            for table, limit, prefix in zip(tables, limits, prefixes, strict=True)
        ]
        assert [found[:n_best] for found in together] == alone


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"length_penalty": "wu"}, "length_penalty: 'wu' is not a form; choose from paper, avera"),
        ({"word_reward": math.nan}, "word_reward: nan is not between -100 and 100"),
        ({"coverage": -0.1}, "coverage: -0.1 is not between 0 and 100"),
        ({"patience": 0.0}, "patience: 0.0 is not a number above 0; leave it out"),
        ({"patience": 0.5, "n_best": 3}, "n_best: 3 is more than patience 0.5 times beam 4"),
        ({"groups": 3}, "groups: 3 does not divide beam 4; choose from 1, 2, 4"),
        ({"groups": 0}, "groups: 0 is less than 1"),
        ({"diversity": -1.0}, "diversity: -1.0 is not between 0 and 1000"),
        ({"min_length": -1}, "min_length: -1 is less than 0"),
        ({"min_length": 9, "max_length": 8}, "min_length: 9 is more than max_length 8; set max_l"),
        ({"no_repeat_ngram": -1}, "no_repeat_ngram: -1 is less than 0"),
        ({"repetition_penalty": 0.0}, "repetition_penalty: 0.0 is not above 0 and at most 100"),
    ],
)
def test_controls_that_make_no_search_are_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        BeamSearch(**table)
    assert message in str(caught.value)


def test_coverage_is_refused_where_nobody_knows_it() -> None:
    with pytest.raises(ConfigError, match="coverage: this model forms no attention weights"):
        find(random_table(1, V), coverage=0.2)
