"""What a search says of itself, held against hand calculation and the model's own table."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding import BannedPhrases, BeamSearch, Hypothesis, Terms, Trace, Tracer, search
from tests.decoding.exhaustive import END, START, Ids
from tests.decoding.fake_covering import CoveringTable, looking_at
from tests.decoding.test_controls import SYMBOLS
from tests.fakes import Table, TableSession, log_prob, random_table, written_table

SEEDS = st.integers(0, 2**31)
SMALL = written_table(
    {
        "0": {"2": 0.6, "3": 0.3, "1": 0.1},
        "0 2": {"1": 0.5, "2": 0.25, "3": 0.25},
        "0 3": {"1": 0.9, "2": 0.1},
        "* 2": {"1": 1.0},
        "* 3": {"1": 1.0},
    },
    vocabulary=4,
)


def traced(
    table: Table, *, limit: int = 4, prefix: Ids = (), ban: Any = None, **options: Any
) -> tuple[list[Hypothesis], Trace]:
    config = BeamSearch(**options)
    tracer = Tracer(config)
    session = TableSession.start(table)
    answers = search(session, config, SYMBOLS, [limit], prefixes=[prefix], ban=ban, observer=tracer)
    return answers[0], tracer.traces[0]


def test_every_number_of_a_small_search_is_that_of_hand_calculation() -> None:
    # ln 0.6 = -0.510826, ln 0.3 = -1.203973, ln 0.1 = -2.302585, ln 0.9 = -0.105361,
    # ln 0.5 = -0.693147, ln 0.25 = -1.386294. Penalty with alpha 1: 6/6, 7/6, ..., 9/6 = 1.5.
    _, trace = traced(SMALL, beam=2, alpha=1.0)
    first, second = trace.steps
    assert [(o.place, o.origin, o.piece) for o in first.opened] == [(1, 0, 2), (2, 0, 3)]
    assert [o.total for o in first.opened] == pytest.approx([-0.510826, -1.203973], abs=1e-6)
    (end,) = first.ended
    assert (end.origin, end.ids, end.rank) == (0, (), 0)
    assert (end.score, end.terms.penalty) == pytest.approx((-2.302585, 1.0), abs=1e-6)
    # 2 2 and 2 3 have ln 0.15 both, and the lower id comes first.
    assert [(o.place, o.origin, o.piece) for o in second.opened] == [(1, 1, 2), (2, 1, 3)]
    assert [o.log_prob for o in second.opened] == pytest.approx([-1.386294] * 2, abs=1e-6)
    assert [o.total for o in second.opened] == pytest.approx([-1.897120] * 2, abs=1e-6)
    assert [(e.origin, e.ids, e.rank) for e in second.ended] == [(1, (2,), 1), (2, (3,), 0)]
    assert [e.log_prob for e in second.ended] == pytest.approx([-0.693147, -0.105361], abs=1e-6)
    # -1.203973 / (7/6) and -1.309333 / (7/6)
    assert [e.score for e in second.ended] == pytest.approx([-1.031977, -1.122286], abs=1e-6)
    terms = second.ended[0].terms
    assert terms == Terms(terms.log_prob, penalty=7 / 6)
    assert terms.log_prob == pytest.approx(-1.203973, abs=1e-6)
    # At the limit 2 2 ... would have -1.897120 / 1.5, less than the best that has ended.
    assert (trace.stop.reason, trace.stop.step, trace.stop.ended) == ("nothing-can-win", 2, 3)
    assert trace.stop.bound == pytest.approx(-1.264747, abs=1e-6)
    assert trace.stop.to_beat == pytest.approx(-1.031977, abs=1e-6)
    assert [o.piece for o in trace.line(2, 2)] == [2, 3]


def test_every_reason_to_stop_is_told() -> None:
    def stop(**options: Any) -> tuple[object, ...]:
        why = traced(SMALL, beam=2, **options)[1].stop
        return (why.reason, why.step, why.ended)

    assert stop(limit=1) == ("limit", 1, 1)
    # With patience only the two best of a step can end: of the first, 2 and 3 are better.
    assert stop(patience=0.5) == ("patience", 2, 2)
    assert stop(patience=1.0) == ("patience", 2, 2)
    assert stop(n_best=2, alpha=1.0) == ("nothing-can-win", 2, 3)
    sure = written_table({"0": {"2": 1.0}, "* 2": {"1": 1.0}}, vocabulary=3)
    assert traced(sure, beam=1)[1].stop.reason == "nothing-open"
    assert traced(sure, beam=1)[1].stop.bound is None


def test_what_is_cut_off_at_the_limit_has_its_score_and_terms() -> None:
    endless = written_table({"0": {"2": 0.6, "3": 0.4}, "* 2": {"2": 1.0}, "* 3": {"3": 1.0}}, 4)
    _, trace = traced(endless, beam=2, n_best=2, limit=3, alpha=0.6, word_reward=0.5)
    cut = trace.steps[-1].ended
    assert [(e.ids, e.truncated, e.rank) for e in cut] == [((2,) * 3, True, 1), ((3,) * 3, True, 2)]
    # By hand: ln 0.6 / (8/6)^0.6 + 3 * 0.5, and (8/6)^0.6 = 1.188401.
    assert cut[0].score == pytest.approx(-0.510826 / 1.188401 + 1.5, abs=1e-6)
    assert (cut[0].terms.penalty, cut[0].terms.reward) == pytest.approx((1.188401, 1.5), abs=1e-6)


def test_a_handicap_is_told_and_a_repeated_find_is_marked() -> None:
    # Group 1 takes 2 (ln 0.6); to group 2 it is then worth ln 0.6 - 0.3 = -0.81, still more than
    # ln 0.4 = -0.92. Both end with the same, which counts once.
    table = written_table({"0": {"2": 0.6, "3": 0.4}, "* 2": {"1": 1.0}, "* 3": {"1": 1.0}}, 4)
    found, trace = traced(table, beam=2, n_best=2, groups=2, diversity=0.3, alpha=0.0)
    assert [(o.group, o.piece, o.handicap) for o in trace.steps[0].opened] == [
        (1, 2, 0),
        (2, 2, 0.3),
    ]
    assert [o.total for o in trace.steps[0].opened] == pytest.approx([math.log(0.6)] * 2)
    assert [(e.ids, e.repeated, e.rank) for e in trace.steps[1].ended] == [
        ((2,), False, 1),
        ((2,), True, 0),
    ]
    assert (trace.stop.ended, len(found), len(trace.ended)) == (1, 1, 1)


CONTROLS: list[dict[str, Any]] = [
    {},
    {"beam": 1},
    {"alpha": -0.5, "n_best": 4},
    {"min_length": 3},
    {"no_repeat_ngram": 1},
    {"repetition_penalty": 1.7},
    {"repetition_penalty": 0.5, "length_penalty": "average", "word_reward": -0.2},
    {"length_penalty": "none", "word_reward": 0.3, "n_best": 2},
    {"patience": 1.0},
    {"groups": 2, "n_best": 4},
    {"groups": 4, "diversity": 2.0, "patience": 2.0},
    {"coverage": 0.4, "n_best": 3},
    {
        **{"min_length": 3, "no_repeat_ngram": 2, "repetition_penalty": 1.3, "word_reward": 0.1},
        **{"patience": 1.5, "groups": 2, "coverage": 0.2, "length_penalty": "average"},
    },
]


@pytest.mark.parametrize("controls", CONTROLS, ids=str)
@settings(max_examples=8, deadline=None)
@given(
    sentences=st.lists(
        st.tuples(SEEDS, st.integers(1, 8), st.lists(st.integers(2, 5), max_size=3).map(tuple)),
        min_size=1,
        max_size=3,
    ),
    banned=st.booleans(),
)
def test_a_trace_agrees_with_the_model_and_with_what_is_found(
    controls: dict[str, Any], sentences: list[tuple[int, int, Ids]], banned: bool
) -> None:
    tables = [random_table(seed, 6, evenness=0.3) for seed, _, _ in sentences]
    limits = [limit for _, limit, _ in sentences]
    prefixes = [prefix for _, _, prefix in sentences]
    config, ban = BeamSearch(**controls), BannedPhrases([(2, 3), (4,)]) if banned else None

    def run(observer: Tracer | None) -> list[list[Hypothesis]]:
        plain = TableSession.start(*tables)
        session = CoveringTable.begin(5, 3, *tables) if config.coverage else plain
        return search(
            session, config, SYMBOLS, limits, prefixes=prefixes, ban=ban, observer=observer
        )

    tracer = Tracer(config, names=range(10, 20))
    answers = run(tracer)
    assert answers == run(None)  # to look changes nothing
    for number, (table, limit, prefix) in enumerate(zip(tables, limits, prefixes, strict=True)):
        assert (10 + number in tracer.traces) == (len(prefix) < limit)
        if len(prefix) < limit:
            holds_together(tracer.traces[10 + number], table, config, prefix)
            ranked = sorted((e for e in tracer.traces[10 + number].ended if e.rank), key=by_rank)
            assert [(e.ids, e.score, e.truncated) for e in ranked] == [
                (h.ids, h.score, h.truncated) for h in answers[number]
            ]


def by_rank(ended: Any) -> int:
    return ended.rank


def holds_together(trace: Trace, table: Table, config: BeamSearch, prefix: Ids) -> None:
    """See that each number of a trace follows from the table and from the step before."""
    totals, written = {0: 0.0}, {0: ()}
    for number, step in enumerate(trace.steps, start=1):
        assert step.number == number
        assert len(step.opened) <= config.beam
        # A forced piece counts once, whatever it is.
        theta = 1.0 if number <= len(prefix) else config.repetition_penalty
        for o in step.opened:
            before = written[o.origin]
            assert o.log_prob == pytest.approx(chance(table, before, o.piece))
            factor = theta if o.piece in before else 1.0
            assert o.total == pytest.approx(totals[o.origin] + factor * o.log_prob)
        for group in range(1, config.groups + 1):
            chosen_by = [o.total - o.handicap for o in step.opened if o.group == group]
            assert chosen_by == sorted(chosen_by, reverse=True)
        for o in step.opened:
            earlier = [other.piece for other in step.opened if other.group < o.group]
            taken = 0 if number <= len(prefix) else earlier.count(o.piece)
            assert o.handicap == config.diversity * taken
        texts = {o.place: (*written[o.origin], o.piece) for o in step.opened}
        for e in step.ended:
            before, piece = written[e.origin], e.ids[-1] if e.truncated else END
            assert e.ids == ((*before, piece) if e.truncated else before)
            assert e.log_prob == pytest.approx(chance(table, before, piece))
            factor = theta if piece in before else 1.0
            assert e.terms.log_prob == pytest.approx(totals[e.origin] + factor * e.log_prob)
            assert e.score == e.terms.score  # to the bit
            assert e.terms.reward == config.word_reward * number
            assert e.terms.coverage == pytest.approx(config.coverage * overlooked(before))
        totals = {o.place: o.total for o in step.opened}
        written = texts
    assert trace.stop.step == len(trace.steps)


def chance(table: Table, before: Ids, piece: int) -> float:
    return log_prob(table, (*before, piece), START) - log_prob(table, before, START)


def overlooked(before: Ids) -> float:
    """Equation 14 without beta, of the table that looks at three source positions."""
    looks = [looking_at(5, (START, *before[:n]), 3) for n in range(len(before) + 1)]
    return sum(math.log(min(1.0, sum(look[i] for look in looks))) for i in range(3))
