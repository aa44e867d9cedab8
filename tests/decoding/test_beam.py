import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.configfile import read_record
from dragoman.decoding import (
    BeamSearch,
    Hypothesis,
    Symbols,
    length_penalty,
    prefix_too_long,
    search,
)
from dragoman.errors import ConfigError, ModelError
from tests.fakes import Ids, Selection, Table, TableSession, log_prob, random_table, written_table
from tests.golden.case import disagreements

START, END = 0, 1
SYMBOLS = Symbols(START, END, banned=(START,))
SHARED_CASES = Path(__file__).parents[3] / "shared" / "golden" / "decoding.json"
ALPHAS = st.sampled_from([0.0, 0.6, 1.0, -0.5])
SEEDS = st.integers(0, 2**31)
some = settings(max_examples=40)  # a search over a table takes some milliseconds


def longer_is_better(prefix: Ids) -> list[float]:
    """End at once with 0.5; or begin with piece 2, which has 0.4, and end surely after nine."""
    if len(prefix) == 1:
        return [0.1, 0.5, 0.4]
    return [0.0, 0.0, 1.0] if len(prefix) <= 9 else [0.0, 1.0, 0.0]


def find(
    table: Table,
    *,
    beam: int = 4,
    alpha: float = 0.6,
    n_best: int = 1,
    limit: int = 5,
    prefix: Ids = (),
    symbols: Symbols = SYMBOLS,
) -> list[Hypothesis]:
    """Search for one sentence alone."""
    config = BeamSearch(beam=beam, alpha=alpha, n_best=n_best)
    session = TableSession.start(table)
    return search(session, config, symbols, [limit], prefixes=[prefix])[0]


def enumerate_all(
    table: Table, *, vocabulary: int, limit: int, alpha: float, prefix: Ids = ()
) -> list[tuple[float, Ids]]:
    """Score every sequence that may end within the limit, best first; search has no part in it."""
    pieces = [piece for piece in range(vocabulary) if piece not in (START, END)]
    scored: list[tuple[float, Ids]] = []
    for length in range(limit):
        for ids in itertools.product(pieces, repeat=length):
            total = log_prob(table, (*ids, END), START)
            if total > -math.inf and ids[: len(prefix)] == prefix:
                scored.append((total / ((5 + length + 1) / 6) ** alpha, ids))
    return sorted(scored, reverse=True)


def wide_enough(vocabulary: int, limit: int) -> int:
    """Give a beam that never drops a prefix, however long; at least 2, as 1 is greedy."""
    return max(2, (vocabulary - 2) ** limit)


# The formula and its record


def test_length_penalty_is_that_of_the_paper() -> None:
    # By hand: ((5 + 7) / 6)^2 = 4; a length of 1 and an alpha of 0 change nothing.
    assert length_penalty(7, 2.0) == pytest.approx(4.0)
    assert length_penalty(1, 0.6) == 1.0
    assert length_penalty(70, 0.0) == 1.0
    assert length_penalty(7, -1.0) == pytest.approx(0.5)


def test_defaults_are_those_of_section_6_1() -> None:
    config = BeamSearch()
    assert (config.beam, config.alpha, config.limit(20)) == (4, 0.6, 70)
    assert BeamSearch(max_length=9).limit(20) == 9


def test_section_6_3_allows_300_pieces_beyond_the_source() -> None:
    assert BeamSearch(max_extra=300).limit(20) == 320
    assert BeamSearch(max_extra=300, max_length=9).limit(20) == 9


@pytest.mark.parametrize(
    ("table", "messages"),
    [
        ({"beam": 0}, ["beam: 0 is less than 1"]),
        ({"n_best": 0, "max_length": 0}, ["n_best: 0 is less", "max_length: 0 is less than 1"]),
        ({"max_extra": -1}, ["max_extra: -1 is less than 0"]),
        ({"max_extra": 1_000_001}, ["max_extra: 1000001 is more than 1000000"]),
        ({"n_best": 5}, ["n_best: 5 is more than beam 4; set beam to 5 or more"]),
        ({"beam": 2, "alpha": math.nan}, ["alpha: nan is not between -10 and 10"]),
        ({"alpha": math.inf, "beam": -1}, ["alpha: inf is not between", "beam: -1 is less than 1"]),
    ],
)
def test_settings_that_make_no_search_are_refused_together(
    table: dict[str, Any], messages: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        BeamSearch(**table)
    for message in messages:
        assert message in str(caught.value)
    assert len(caught.value.mistakes) == len(messages)


def test_settings_of_a_recipe_are_refused_at_their_place() -> None:
    with pytest.raises(ConfigError, match=r"recipe\.toml: n_best: 8 is more than beam 4"):
        read_record(BeamSearch, {"n_best": 8}, file="recipe.toml")
    with pytest.raises(ConfigError, match=r"beam_size: unknown key; did you mean beam\?"):
        read_record(BeamSearch, {"beam_size": 8})


def test_hint_about_n_best_works() -> None:
    assert BeamSearch(n_best=8, beam=8).n_best == 8


# What is found


@pytest.mark.parametrize(
    ("alpha", "ids", "score"),
    [
        # By hand: ln 0.5 = -0.693147 of length 1 against ln 0.4 = -0.916291 of length 10.
        (0.0, (), -0.693147),
        (0.6, (2,) * 9, -0.528773),  # -0.916291 / 2.5^0.6
        (1.0, (2,) * 9, -0.366516),  # -0.916291 / 2.5
        (-0.5, (), -0.693147),  # the longer one: -0.916291 * 2.5^0.5 = -1.449
    ],
)
@pytest.mark.parametrize("n_best", [1, 2, 5])
def test_search_goes_on_while_a_longer_hypothesis_can_win(
    alpha: float, ids: Ids, score: float, n_best: int
) -> None:
    best = find(longer_is_better, beam=5, alpha=alpha, n_best=n_best, limit=12)[0]
    assert best.ids == ids
    assert best.score == pytest.approx(score, abs=2e-6)


def test_search_with_negative_alpha_goes_on_while_the_next_length_can_win() -> None:
    # (end) has ln 0.3 = -1.204; (2 end) will have ln 0.7 * (7 / 6)^0.5 = -0.385. At the limit it
    # would be ln 0.7 * (105 / 6)^0.5 = -1.492, but it need not wait so long.
    table = written_table({"0": {"1": 0.3, "2": 0.7}, "* 2": {"1": 1.0}}, vocabulary=3)
    assert find(table, alpha=-0.5, limit=100)[0].score == pytest.approx(-0.385254, abs=2e-6)


def test_first_of_two_equals_is_the_one_that_ended_first() -> None:
    table = written_table({"0": {"1": 0.5, "2": 0.5}, "* 2": {"1": 1.0}}, vocabulary=3)
    found = find(table, alpha=0.0, n_best=2)
    assert [hypothesis.ids for hypothesis in found] == [(), (2,)]
    assert found[:1] == find(table, alpha=0.0, n_best=1)


def test_search_stops_when_nothing_open_can_win() -> None:
    # After (end) with 0.9, the best open one has 0.1: ln 0.1 / (15 / 6)^0.6 = -1.33 < ln 0.9.
    table = written_table({"0": {"1": 0.9, "2": 0.1}, "* 2": {"2": 1.0}}, vocabulary=3)
    session = TableSession.start(table)
    assert search(session, BeamSearch(), SYMBOLS, [10])[0][0].ids == ()
    assert session.fed == [1]


def test_search_for_more_hypotheses_goes_on_until_none_can_enter_the_list() -> None:
    # (end) 0.9 is best at once, but the second place stays free until (2 2 end).
    table = written_table(
        {"0": {"1": 0.9, "2": 0.1}, "0 2": {"2": 1.0}, "* 2": {"1": 1.0}}, vocabulary=3
    )
    session = TableSession.start(table)
    found = search(session, BeamSearch(n_best=2), SYMBOLS, [10])[0]
    assert [hypothesis.ids for hypothesis in found] == [(), (2, 2)]
    assert len(session.fed) == 3


def test_greedy_ends_as_soon_as_the_best_piece_is_the_end() -> None:
    # A longer hypothesis would win at alpha 1, but a beam of one does not keep it.
    table = written_table({"0": {"1": 0.51, "2": 0.49}, "* 2": {"1": 1.0}}, vocabulary=3)
    assert find(table, beam=1, alpha=1.0)[0].ids == ()
    assert find(table, beam=2, alpha=1.0)[0].ids == (2,)


@some
@given(seed=SEEDS, vocabulary=st.integers(3, 9), limit=st.integers(1, 12))
def test_beam_of_one_is_greedy_to_the_token(seed: int, vocabulary: int, limit: int) -> None:
    table = random_table(seed, vocabulary)
    ids: list[int] = []
    while len(ids) < limit and END not in ids:
        probabilities = table((START, *ids))
        ids.append(max(range(1, vocabulary), key=probabilities.__getitem__))  # 0 is banned
    (found,) = find(table, beam=1, limit=limit)
    assert found.ids == tuple(piece for piece in ids if piece != END)
    assert found.truncated == (END not in ids)
    assert found.log_prob == pytest.approx(log_prob(table, ids, START))


@some
@given(
    seed=SEEDS,
    vocabulary=st.integers(3, 5),
    limit=st.integers(1, 4),
    alpha=ALPHAS,
    evenness=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_wide_beam_finds_what_exhaustive_search_finds(
    seed: int, vocabulary: int, limit: int, alpha: float, evenness: float
) -> None:
    table = random_table(seed, vocabulary, evenness=evenness)
    beam = wide_enough(vocabulary, limit)
    expected = enumerate_all(table, vocabulary=vocabulary, limit=limit, alpha=alpha)
    best = find(table, beam=beam, alpha=alpha, limit=limit)
    assert [hypothesis.ids for hypothesis in best] == [ids for _, ids in expected[:1]]
    found = find(table, beam=beam, alpha=alpha, limit=limit, n_best=beam)
    assert [hypothesis.ids for hypothesis in found] == [ids for _, ids in expected[:beam]]
    assert [hypothesis.score for hypothesis in found] == pytest.approx(
        [score for score, _ in expected[:beam]]
    )


@some
@given(seed=SEEDS, alpha=ALPHAS, beam=st.integers(5, 7), limit=st.integers(1, 12))
def test_best_hypothesis_does_not_depend_on_n_best(
    seed: int, alpha: float, beam: int, limit: int
) -> None:
    table = random_table(seed, 6, evenness=0.5)
    one = find(table, beam=beam, alpha=alpha, limit=limit, n_best=1)
    five = find(table, beam=beam, alpha=alpha, limit=limit, n_best=5)
    assert one == five[:1]


@some
@given(seed=SEEDS, alpha=ALPHAS, limit=st.integers(1, 8))
def test_hypotheses_are_sorted_distinct_and_scored_by_the_formula(
    seed: int, alpha: float, limit: int
) -> None:
    table = random_table(seed, 5)
    found = find(table, beam=5, alpha=alpha, limit=limit, n_best=5)
    scores = [hypothesis.score for hypothesis in found]
    assert scores == sorted(scores, reverse=True)
    assert len({hypothesis.ids for hypothesis in found}) == len(found)
    for hypothesis in found:
        pieces = hypothesis.ids if hypothesis.truncated else (*hypothesis.ids, END)
        assert len(hypothesis.log_probs) == len(pieces) <= limit
        assert hypothesis.log_prob == pytest.approx(log_prob(table, pieces, START))
        penalty = ((5 + len(pieces)) / 6) ** alpha
        assert hypothesis.score == pytest.approx(hypothesis.log_prob / penalty)


@some
@given(seed=SEEDS)
def test_scores_of_a_float32_model_are_those_of_the_chain_rule(seed: int) -> None:
    table = random_table(seed, 7)
    session = TableSession.start(table, dtype=torch.float32)
    best = search(session, BeamSearch(alpha=0.0), SYMBOLS, [60])[0][0]
    pieces = best.ids if best.truncated else (*best.ids, END)
    assert best.score == pytest.approx(log_prob(table, pieces, START), abs=1e-5)


def test_beam_wider_than_the_vocabulary_returns_what_exists() -> None:
    # 5 symbols: padding, start, end, unknown and one real piece. Within 4 pieces that makes the
    # hypotheses "", "4", "4 4" and "4 4 4", with evenly 1/5 a piece.
    table = written_table({f"* {piece}": dict.fromkeys("01234", 0.2) for piece in range(5)}, 5)
    symbols = Symbols(start=1, end=2, banned=(0, 1, 3))
    session = TableSession.start(table, table)
    config = BeamSearch(beam=8, n_best=8)
    for found in search(session, config, symbols, [4, 4]):
        assert [hypothesis.ids for hypothesis in found] == [(), (4,), (4, 4), (4, 4, 4)]
        assert [h.log_prob for h in found] == pytest.approx(
            [n * math.log(0.2) for n in (1, 2, 3, 4)]
        )
        assert all(math.isfinite(h.score) and not h.truncated for h in found)


def test_banned_pieces_never_come_and_the_others_keep_their_probabilities() -> None:
    table = written_table({"0": {"2": 0.9, "3": 0.1}, "* 3": {"1": 1.0}}, vocabulary=4)
    (found,) = find(table, symbols=Symbols(START, END, banned=(START, 2)))
    assert found.ids == (3,)
    assert found.log_prob == pytest.approx(math.log(0.1))


def test_sentence_without_any_possible_piece_has_no_hypothesis() -> None:
    table = written_table({"0": {"2": 0.9, "3": 0.1}}, vocabulary=4)
    assert find(table, symbols=Symbols(START, END, banned=(2, 3))) == []


def test_equals_go_to_the_lowest_ids_of_the_better_hypothesis() -> None:
    # All pieces have 1/6. The first step ends "" and keeps "2" and "3"; in the second "2" comes
    # before "3", so of the many with 1/36 the first is "2" and then the end.
    even = written_table({f"* {piece}": dict.fromkeys("012345", 1 / 6) for piece in range(6)}, 6)
    found = find(even, beam=2, alpha=0.0, n_best=2)
    assert [hypothesis.ids for hypothesis in found] == [(), (2,)]
    assert find(even, beam=1, symbols=Symbols(START, END, banned=(0, 1)), limit=2)[0].ids == (2, 2)


# The limit


def test_hypothesis_at_the_limit_is_returned_and_flagged_when_none_ended() -> None:
    endless = written_table({"0": {"2": 0.6, "3": 0.4}, "* 2": {"2": 1.0}, "* 3": {"3": 1.0}}, 4)
    found = find(endless, n_best=4, limit=3)
    assert [hypothesis.ids for hypothesis in found] == [(2, 2, 2), (3, 3, 3)]
    assert all(hypothesis.truncated for hypothesis in found)
    assert found[0].log_probs == pytest.approx((math.log(0.6), 0.0, 0.0))
    assert found[0].score == pytest.approx(math.log(0.6) / (8 / 6) ** 0.6)
    assert find(endless, n_best=1, limit=3) == found[:1]


def test_hypothesis_at_the_limit_gives_way_to_any_that_ended() -> None:
    table = written_table({"0": {"1": 0.001, "2": 0.999}, "* 2": {"2": 1.0}}, vocabulary=3)
    (found,) = find(table, n_best=4, limit=3)
    assert found.ids == ()
    assert not found.truncated


def test_end_symbol_counts_within_the_limit() -> None:
    table = written_table({"0": {"2": 1.0}, "* 2": {"1": 1.0}}, vocabulary=3)
    (ended,) = find(table, limit=2)
    assert (ended.ids, ended.truncated, len(ended.log_probs)) == ((2,), False, 2)
    (cut,) = find(table, limit=1)
    assert (cut.ids, cut.truncated, len(cut.log_probs)) == ((2,), True, 1)


# Forced prefixes


@some
@given(seed=SEEDS, alpha=ALPHAS, prefix=st.lists(st.integers(2, 4), max_size=3).map(tuple))
def test_forced_prefix_starts_every_hypothesis_and_counts_in_its_score(
    seed: int, alpha: float, prefix: Ids
) -> None:
    table = random_table(seed, 5)
    expected = enumerate_all(table, vocabulary=5, limit=4, alpha=alpha, prefix=prefix)
    found = find(table, beam=81, n_best=81, alpha=alpha, limit=4, prefix=prefix)
    assert [hypothesis.ids for hypothesis in found] == [ids for _, ids in expected]
    assert [h.score for h in found] == pytest.approx([score for score, _ in expected])


def test_forced_piece_may_be_a_banned_one() -> None:
    table = written_table({"0": {"2": 0.25, "3": 0.75}, "* 2": {"1": 1.0}}, vocabulary=4)
    (found,) = find(table, prefix=(2,), symbols=Symbols(START, END, banned=(START, 2)))
    assert found.ids == (2,)
    assert found.log_prob == pytest.approx(math.log(0.25))


def test_prefix_too_long_is_an_error_for_its_sentence_alone() -> None:
    table = random_table(1, 5)
    prefixes = [(2, 3), (2, 3, 4), ()]
    session = TableSession.start(table, table, table)
    found = search(session, BeamSearch(), SYMBOLS, [3, 3, 3], prefixes=prefixes)
    assert found[0] == find(table, limit=3, prefix=(2, 3))
    assert found[1] == []
    assert found[2] == find(table, limit=3)
    assert max(session.fed) <= 2 * 4  # the impossible one is not computed
    assert prefix_too_long((2, 3), 3) is None
    assert str(prefix_too_long((2, 3, 4), 3)) == (
        "the prefix has 3 pieces and needs one more for the end symbol, but the limit is 3; "
        "shorten the prefix or raise max_length"
    )


def test_rows_stay_single_while_all_sentences_are_forced() -> None:
    table = random_table(1, 9)
    session = TableSession.start(table, table)
    search(session, BeamSearch(beam=3), SYMBOLS, [6, 6], prefixes=[(2, 3), (3, 2, 2)])
    assert session.fed[:3] == [2, 2, 2]
    assert session.fed[3] == 6


# Batches


@some
@given(
    sentences=st.lists(
        st.tuples(SEEDS, st.integers(1, 9), st.lists(st.integers(2, 5), max_size=4).map(tuple)),
        max_size=5,
    ),
    beam=st.integers(1, 4),
    alpha=ALPHAS,
)
def test_sentences_together_get_what_each_gets_alone(
    sentences: list[tuple[int, int, Ids]], beam: int, alpha: float
) -> None:
    tables = [random_table(seed, 6, evenness=0.3) for seed, _, _ in sentences]
    limits = [limit for _, limit, _ in sentences]
    prefixes = [prefix for _, _, prefix in sentences]
    config = BeamSearch(beam=beam, alpha=alpha, n_best=beam)
    together = search(TableSession.start(*tables), config, SYMBOLS, limits, prefixes=prefixes)
    alone = [
        find(table, beam=beam, alpha=alpha, n_best=beam, limit=limit, prefix=prefix)
        for table, limit, prefix in zip(tables, limits, prefixes, strict=True)
    ]
    assert together == alone


def ending_after(length: int) -> Table:
    """Make a table that is sure of ``length`` times piece 2 and then the end."""
    return lambda prefix: [0.0, 0.0, 1.0] if len(prefix) <= length else [0.0, 1.0, 0.0]


def test_finished_sentences_leave_the_batch() -> None:
    session = TableSession.start(*map(ending_after, (0, 2, 1)))
    found = search(session, BeamSearch(), SYMBOLS, [9, 9, 9])
    assert [hypotheses[0].ids for hypotheses in found] == [(), (2, 2), (2,)]
    assert session.fed == [3, 2, 1]
    assert session.selections == [
        Selection([1, 2], [1, 2], old_rows=3, old_sentences=3),
        Selection([0], [0], old_rows=2, old_sentences=2),
    ]


def test_nothing_is_moved_while_nothing_changes_its_place() -> None:
    session = TableSession.start(*map(ending_after, (5, 5, 5)))
    search(session, BeamSearch(beam=1), SYMBOLS, [9, 9, 9])
    assert session.fed == [3] * 6
    assert session.selections == []


@some
@given(seed=SEEDS, beam=st.integers(1, 5))
def test_rows_are_moved_at_most_once_a_step(seed: int, beam: int) -> None:
    session = TableSession.start(*(random_table(seed + n, 6) for n in range(3)))
    search(session, BeamSearch(beam=beam), SYMBOLS, [8, 8, 8])
    assert len(session.selections) < len(session.fed) <= 8
    assert max(session.fed) <= 3 * beam


def test_no_sentences_make_no_hypotheses() -> None:
    assert search(TableSession.start(), BeamSearch(), SYMBOLS, []) == []


# Misuse and broken models


@pytest.mark.parametrize(
    ("limits", "prefixes", "message"),
    [
        ([5, 5], None, "1 sentences need as many limits and prefixes, not 2 and 1"),
        ([5], [(), ()], "1 sentences need as many limits and prefixes, not 1 and 2"),
        ([0], None, "limits: 0 is less than 1, in sentence 0"),
        ([5], [(2, END)], r"prefixes: \(2, 1\) in sentence 0 holds the end symbol"),
        ([5], [(-2,)], r"prefixes: \(-2,\) in sentence 0 holds the end symbol or no id"),
        ([5], [(5,)], "prefixes: id 5 is outside the vocabulary"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    limits: list[int], prefixes: list[Ids] | None, message: str
) -> None:
    session = TableSession.start(random_table(1, 5))
    with pytest.raises(ValueError, match=message):
        search(session, BeamSearch(), SYMBOLS, limits, prefixes=prefixes)


@pytest.mark.parametrize("beam", [1, 4])
def test_model_whose_numbers_are_not_numbers_is_refused(beam: int) -> None:
    def broken(prefix: Ids) -> list[float]:
        return [0.1, 0.1, 0.8] if len(prefix) < 3 else [math.nan] * 3

    with pytest.raises(ModelError, match="log-probabilities that are not numbers"):
        find(broken, beam=beam)


# The best pieces of a row


# Golden cases


def hypothesis_values(found: Hypothesis) -> dict[str, object]:
    tokens = [*found.ids] if found.truncated else [*found.ids, END]
    return {"tokens": tokens, "log_prob": found.log_prob, "score": found.score}


def in_one_order(hypotheses: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort by score, and equals by tokens: the cases do not say which of two equals is first."""
    return sorted(hypotheses, key=lambda h: (-round(h["score"], 9), h["tokens"]))


def golden_find(inputs: Mapping[str, Any], **options: Any) -> list[dict[str, object]]:
    pieces = {int(piece) for row in inputs["table"].values() for piece in row}
    table = written_table(inputs["table"], max(pieces) + 1)
    assert (inputs["bos"], inputs["eos"]) == (START, END)
    return [hypothesis_values(h) for h in find(table, limit=inputs["max_len"], **options)]


def golden_beam_search(inputs: Mapping[str, Any]) -> dict[str, object]:
    beam, alpha = inputs["beam"], inputs["alpha"]
    (best,) = golden_find(inputs, beam=beam, alpha=alpha)
    ranked = golden_find(inputs, beam=beam, alpha=alpha, n_best=beam)
    return {"best": best, "finished_ranked": in_one_order(ranked)}


def golden_exhaustive(inputs: Mapping[str, Any]) -> dict[str, object]:
    ranked = {
        alpha: golden_find(inputs, beam=256, n_best=256, alpha=float(alpha))
        for alpha in ("0.0", "0.6", "1.0")
    }
    return {
        "top4_by_alpha": {alpha: in_one_order(found[:4]) for alpha, found in ranked.items()},
        "finished_sequences": len(ranked["0.6"]),
    }


def golden_sequence_log_prob(inputs: Mapping[str, Any]) -> dict[str, object]:
    """Force all of a sequence but its end; the table leaves greedy search nothing better."""
    table, sequences = written_table(inputs["table"], 6), inputs["sequences"]
    found = [
        find(table, beam=8, n_best=8, limit=len(ids), prefix=tuple(ids[:-1])) for ids in sequences
    ]
    totals = [hypotheses[0].log_prob for hypotheses in found]
    return {"log_probs": totals, "probs": [math.exp(total) for total in totals]}


GOLDEN: dict[str, Callable[[Mapping[str, Any]], Mapping[str, object]]] = {
    "length_penalty": lambda inputs: {
        "penalty": [length_penalty(length, inputs["alpha"]) for length in inputs["lengths"]]
    },
    "greedy": lambda inputs: golden_find(inputs, beam=1)[0],
    "exhaustive": golden_exhaustive,
    "beam_search": golden_beam_search,
    "sequence_log_prob": golden_sequence_log_prob,
    "max_length": lambda inputs: {"max_output": BeamSearch().limit(inputs["input_length"])},
}


def golden_cases() -> list[Any]:
    if not SHARED_CASES.is_file():
        reason = "the golden cases are not beside the repository"
        return [pytest.param({}, marks=pytest.mark.skip(reason=reason), id="none")]
    cases = json.loads(SHARED_CASES.read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=case["id"]) for case in cases if case["kind"] in GOLDEN]


@pytest.mark.parametrize("case", golden_cases())
def test_golden_case_agrees(case: Mapping[str, Any]) -> None:
    got, expected = GOLDEN[case["kind"]](case["inputs"]), dict(case["expected"])
    if "finished_ranked" in expected:
        kept = case["inputs"]["beam"]
        expected["finished_ranked"] = in_one_order(expected["finished_ranked"][:kept])
    if "top4_by_alpha" in expected:
        ranked = expected["top4_by_alpha"].items()
        expected["top4_by_alpha"] = {alpha: in_one_order(found) for alpha, found in ranked}
    assert list(disagreements(expected, got, case["tolerance"], "float64")) == []
