import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dragoman.configfile import read_record
from dragoman.decoding import (
    BeamSearch,
    Hypothesis,
    Sampling,
    Symbols,
    draw_pieces,
    filter_log_probs,
    sample,
    search,
)
from dragoman.errors import ConfigError, ModelError
from tests.fakes import Ids, Selection, Table, TableSession, log_prob, random_table, written_table

START, END = 0, 1
SYMBOLS = Symbols(START, END, banned=(START,))
SEEDS = st.integers(0, 2**31)
FIVE = [0.1, 0.4, 0.2, 0.05, 0.25]  # best first: pieces 1, 4, 2, 0, 3
INF = math.inf
some = settings(max_examples=40)


def logs(*rows: Sequence[float]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64).log()


def filtered(row: Sequence[float], **filters: Any) -> list[float]:
    """Give the probabilities that filters make of those of one row."""
    return filter_log_probs(logs(row), **filters).exp()[0].tolist()


def draw(
    *tables: Table,
    config: Sampling | None = None,
    limit: int = 5,
    seeds: Sequence[int] | None = None,
    symbols: Symbols = SYMBOLS,
) -> list[Hypothesis]:
    """Draw for sentences with one limit, numbered in their order unless told otherwise."""
    numbers = range(len(tables)) if seeds is None else seeds
    limits = [limit] * len(tables)
    session = TableSession.start(*tables)
    return sample(session, config or Sampling(), symbols, limits, seeds=numbers)


# The record


@pytest.mark.parametrize(
    ("table", "messages"),
    [
        ({"temperature": -0.1}, ["temperature: -0.1 is not a number from 0 up; set 0 for greedy"]),
        ({"temperature": math.nan, "top_k": 0}, ["temperature: nan is not", "top_k: 0 is less"]),
        ({"temperature": INF}, ["temperature: inf is not a number from 0 up"]),
        ({"top_p": 0.0, "min_p": 1.5}, ["top_p: 0.0 is not above 0 and", "min_p: 1.5 is not"]),
        ({"top_p": math.nan, "min_p": math.nan}, ["top_p: nan is not", "min_p: nan is not"]),
        ({"max_length": 0}, ["max_length: 0 is not between 1 and 1000000"]),
        ({"seed": -1}, ["seed: -1 is not between 0 and 2^63 - 1"]),
    ],
)
def test_settings_that_draw_nothing_are_refused_together(
    table: dict[str, Any], messages: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        Sampling(**table)
    for message in messages:
        assert message in str(caught.value)
    assert len(caught.value.mistakes) == len(messages)


def test_settings_of_a_recipe_are_refused_at_their_place() -> None:
    with pytest.raises(ConfigError, match=r"recipe\.toml: top_k: -1 is less than 1; leave top_k"):
        read_record(Sampling, {"top_k": -1}, file="recipe.toml")
    with pytest.raises(ConfigError, match=r"topp: unknown key; did you mean top_p\?"):
        read_record(Sampling, {"topp": 0.9})


def test_limit_is_that_of_beam_search() -> None:
    assert Sampling().limit(20) == 70
    assert Sampling(max_length=9).limit(20) == 9


# The filters, by hand over (0.1, 0.4, 0.2, 0.05, 0.25)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, FIVE),
        ({"top_k": 2}, [0, 0.4 / 0.65, 0, 0, 0.25 / 0.65]),
        ({"top_k": 1}, [0, 1, 0, 0, 0]),
        ({"top_k": 5}, FIVE),
        ({"top_k": 99}, FIVE),
        # Added up from the best: 0.4, 0.65, 0.85, 0.95, 1.
        ({"top_p": 0.3}, [0, 1, 0, 0, 0]),
        ({"top_p": 0.5}, [0, 0.4 / 0.65, 0, 0, 0.25 / 0.65]),
        ({"top_p": 0.7}, [0, 0.4 / 0.85, 0.2 / 0.85, 0, 0.25 / 0.85]),
        ({"top_p": 0.96}, FIVE),
        ({"top_p": 1.0}, FIVE),
        # At least that share of 0.4: 0.24 leaves two, 0.18 three, 0.04 all.
        ({"min_p": 0.6}, [0, 0.4 / 0.65, 0, 0, 0.25 / 0.65]),
        ({"min_p": 0.45}, [0, 0.4 / 0.85, 0.2 / 0.85, 0, 0.25 / 0.85]),
        ({"min_p": 0.1}, FIVE),
        ({"min_p": 0.0}, FIVE),
        ({"min_p": 1.0}, [0, 1, 0, 0, 0]),
        # Squared: 0.01, 0.16, 0.04, 0.0025, 0.0625, together 0.275.
        ({"temperature": 0.5}, [p * p / 0.275 for p in FIVE]),
        ({"temperature": 0.0}, [0, 1, 0, 0, 0]),
        ({"temperature": 1e-300}, [0, 1, 0, 0, 0]),
        ({"temperature": 1e300}, [0.2] * 5),
    ],
)
def test_filter_leaves_what_it_should(filters: dict[str, Any], expected: list[float]) -> None:
    assert filtered(FIVE, **filters) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        # Squared, the best two have 0.2225 of 0.275 = 0.809; as they were, only 0.65.
        ({"temperature": 0.5, "top_p": 0.8}, [0, 0.16 / 0.2225, 0, 0, 0.0625 / 0.2225]),
        # Of the best three the best two have 0.65 / 0.85 = 0.765; of all, only 0.65.
        ({"top_k": 3, "top_p": 0.75}, [0, 0.4 / 0.65, 0, 0, 0.25 / 0.65]),
        # Squared, 0.04 is a fourth of 0.16; as it was, 0.2 was half of 0.4.
        ({"temperature": 0.5, "min_p": 0.3}, [0, 0.16 / 0.2225, 0, 0, 0.0625 / 0.2225]),
        # The best two are needed for 0.6 and both pass min_p. If min_p came first, the best of the
        # two that it leaves would do, with 0.4 / 0.65 = 0.615.
        ({"top_p": 0.6, "min_p": 0.6}, [0, 0.4 / 0.65, 0, 0, 0.25 / 0.65]),
        ({"top_k": 2, "top_p": 0.9, "min_p": 0.7}, [0, 1, 0, 0, 0]),
        ({"temperature": 0.0, "top_k": 3, "top_p": 0.9, "min_p": 0.1}, [0, 1, 0, 0, 0]),
    ],
)
def test_filters_come_in_the_documented_order(
    filters: dict[str, Any], expected: list[float]
) -> None:
    assert filtered(FIVE, **filters) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({"top_k": 2}, [1, 2]),
        ({"top_k": 3}, [1, 2, 4]),
        ({"top_p": 0.3}, [1, 2]),
        ({"temperature": 0.0}, [1]),
        ({"min_p": 1.0}, [1, 2, 4, 5]),
    ],
)
def test_equals_at_the_edge_stay_by_lower_id(filters: dict[str, Any], left: list[int]) -> None:
    # Pieces 1, 2, 4 and 5 share 0.88 evenly; the first two of them have 0.44.
    kept = filtered([0.06, 0.22, 0.22, 0.06, 0.22, 0.22], **filters)
    assert [piece for piece, p in enumerate(kept) if p > 0] == left


def test_what_was_impossible_stays_impossible() -> None:
    kept = filtered([0.0, 0.25, 0.0, 0.75], temperature=1e6, top_k=4, top_p=0.999, min_p=0.01)
    assert kept == pytest.approx([0, 0.5, 0, 0.5], abs=1e-5)
    assert (kept[0], kept[2]) == (0, 0)


@some
@given(
    seed=SEEDS,
    vocabulary=st.sampled_from([3, 40, 700]),
    temperature=st.sampled_from([0.0, 1e-9, 0.3, 1.0, 5.0, 1e9]),
    top_k=st.none() | st.integers(1, 800),
    top_p=st.none() | st.floats(1e-9, 1.0),
    min_p=st.none() | st.floats(0.0, 1.0),
)
def test_filters_agree_with_those_written_out_over_sorted_lists(
    seed: int,
    vocabulary: int,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    min_p: float | None,
) -> None:
    rows = torch.randn(3, vocabulary, generator=torch.Generator().manual_seed(seed)).double()
    found = filter_log_probs(
        rows, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p
    ).exp()
    for row, got in zip(rows.tolist(), found.tolist(), strict=True):
        order = sorted(range(vocabulary), key=lambda piece: (-row[piece], piece))
        best, heat = row[order[0]], temperature or 1.0
        mass = {piece: math.exp((row[piece] - best) / heat) for piece in order}
        kept = order[: 1 if temperature == 0 else top_k]
        if top_p is not None and top_p < 1:
            whole = math.fsum(mass[piece] for piece in kept)
            sums = itertools.accumulate(mass[piece] / whole for piece in kept)
            kept = kept[: 1 + sum(total < top_p for total in list(sums)[:-1])]
        kept = [piece for piece in kept if mass[piece] >= (min_p or 0.0)]
        whole = math.fsum(mass[piece] for piece in kept)
        wanted = [mass[piece] / whole if piece in kept else 0.0 for piece in range(vocabulary)]
        assert order[0] in kept
        assert got == pytest.approx(wanted, abs=1e-9)


def test_filters_look_beyond_the_first_candidates_when_the_nucleus_is_large() -> None:
    # 499 of 1,000 equal pieces have 0.499, which is too little.
    kept = filter_log_probs(torch.zeros(2, 1000, dtype=torch.float64), top_p=0.4995)
    expected = torch.where(torch.arange(1000) < 500, 1 / 500, 0.0).double().expand(2, -1)
    torch.testing.assert_close(kept.exp(), expected)


def test_filters_take_unnormalized_numbers_and_keep_the_dtype() -> None:
    shifted = (logs(FIVE) + 3.0).float()
    kept = filter_log_probs(shifted, top_k=2)
    assert kept.dtype == torch.float32
    expected = torch.tensor([[0, 0.4 / 0.65, 0, 0, 0.25 / 0.65]])
    torch.testing.assert_close(kept.exp(), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("row", [[0.0, math.nan], [INF, 0.0], [-INF, -INF]])
def test_filters_refuse_a_row_that_is_no_distribution(row: list[float]) -> None:
    with pytest.raises(ValueError, match="log_probs: a row holds NaN or inf, or no piece"):
        filter_log_probs(torch.tensor([[0.0, 0.0], row]))


# The draw


@pytest.mark.parametrize(
    ("uniform", "piece"),
    [(0.0, 1), (0.2499, 1), (0.25, 3), (0.7499, 3), (0.75, 4), (1 - 2**-53, 4)],
)
def test_draw_takes_the_first_piece_whose_sum_exceeds_the_number(
    uniform: float, piece: int
) -> None:
    # Added up by id: 0, 0.25, 0.25, 0.75, 1, 1; pieces 0, 2 and 5 cannot come.
    rows = logs([0.0, 0.25, 0.0, 0.5, 0.25, 0.0])
    assert draw_pieces(rows, torch.tensor([uniform], dtype=torch.float64)).tolist() == [piece]


@some
@given(seed=SEEDS, uniform=st.floats(0, 1, exclude_max=True))
def test_draw_never_takes_an_impossible_piece(seed: int, uniform: float) -> None:
    rng = torch.Generator().manual_seed(seed)
    rows = torch.rand(4, 300, generator=rng).double() * (torch.rand(4, 300, generator=rng) < 0.1)
    rows[:, 7] += 1e-3  # something is possible
    pieces = draw_pieces(rows.log(), torch.full((4,), uniform, dtype=torch.float64))
    assert (rows.gather(1, pieces[:, None]) > 0).all()


def chi_square(counts: Mapping[Any, int], expected: Mapping[Any, float]) -> float:
    """Measure how far counts lie from probabilities; anything impossible is infinitely far."""
    if counts.keys() - expected.keys():
        return INF
    total = sum(counts.values())
    return sum((counts.get(key, 0) - total * p) ** 2 / (total * p) for key, p in expected.items())


@pytest.mark.parametrize(
    ("config", "expected", "critical"),
    [
        # Critical values: the 99.9% points of chi-square with 4, 4, 2, 1 and 1 degrees of freedom.
        (Sampling(), FIVE, 18.467),
        (Sampling(temperature=0.5, seed=2), [p * p / 0.275 for p in FIVE], 18.467),
        (Sampling(top_k=3), [0, 0.4 / 0.85, 0.2 / 0.85, 0, 0.25 / 0.85], 13.816),
        (Sampling(top_p=0.5), [0, 0.4 / 0.65, 0, 0, 0.25 / 0.65], 10.828),
        (Sampling(min_p=0.6, seed=2), [0, 0.4 / 0.65, 0, 0, 0.25 / 0.65], 10.828),
    ],
)
def test_pieces_come_as_often_as_the_filtered_model_says(
    config: Sampling, expected: list[float], critical: float
) -> None:
    # Pieces 2 to 6 have the five probabilities; one is drawn for each of 4,000 sentences.
    tables = [lambda _: [0.0, 0.0, *FIVE]] * 4_000
    counts = Counter(found.ids[0] - 2 for found in draw(*tables, config=config, limit=1))
    likely = {piece: p for piece, p in enumerate(expected) if p > 0}
    assert chi_square(counts, likely) < critical


def test_whole_sequences_come_as_often_as_the_model_says() -> None:
    # Of 3 pieces, one banned, within 3 there are "", "2", "2 2" and "2 2 2" cut off; of what is
    # not banned the table gives 0.2, 0.5 and 0.4 to the end.
    after = {1: [0.5, 0.1, 0.4], 2: [0.0, 0.5, 0.5], 3: [0.75, 0.1, 0.15]}
    expected = {(): 0.2, (2,): 0.8 * 0.5, (2, 2): 0.4 * 0.4, (2, 2, 2): 0.4 * 0.6}
    tables = [lambda prefix: after[len(prefix)]] * 4_000
    found = draw(*tables, limit=3)
    assert chi_square(Counter(h.ids for h in found), expected) < 16.266  # 99.9%, 3 degrees
    assert all(h.truncated == (h.ids == (2, 2, 2)) for h in found)


def test_draws_of_one_sentence_do_not_depend_on_each_other() -> None:
    # Nine pairs of three equal pieces: a generator that repeats itself would favour some.
    tables = [lambda _: [0.0, 0.0, 1 / 3, 1 / 3, 1 / 3]] * 4_000
    pairs = Counter(found.ids for found in draw(*tables, limit=2))
    expected = dict.fromkeys(itertools.product((2, 3, 4), repeat=2), 1 / 9)
    assert chi_square(pairs, expected) < 26.124  # 99.9%, 8 degrees


# Seeds and batches


@some
@given(
    sentences=st.lists(st.tuples(SEEDS, st.integers(1, 9), SEEDS), max_size=6),
    order=st.randoms(use_true_random=False),
    config=st.sampled_from([Sampling(), Sampling(temperature=2.0, top_k=3), Sampling(top_p=0.8)]),
)
def test_sentence_gets_the_same_whatever_its_place_and_neighbours(
    sentences: list[tuple[int, int, int]], order: Any, config: Sampling
) -> None:
    def drawn(some_of_them: Sequence[tuple[int, int, int]]) -> list[Hypothesis]:
        tables = [random_table(table, 6) for table, _, _ in some_of_them]
        limits = [limit for _, limit, _ in some_of_them]
        seeds = [seed for _, _, seed in some_of_them]
        session = TableSession.start(*tables)
        return sample(session, config, SYMBOLS, limits, seeds=seeds)

    together = drawn(sentences)
    assert [drawn([sentence])[0] for sentence in sentences] == together
    places = list(range(len(sentences)))
    order.shuffle(places)
    assert drawn([sentences[place] for place in places]) == [together[place] for place in places]


def test_same_seed_draws_the_same_and_another_something_else() -> None:
    table = random_table(1, 50)
    first = draw(table, config=Sampling(seed=1), limit=20, seeds=[3])
    assert draw(table, config=Sampling(seed=1), limit=20, seeds=[3]) == first
    assert draw(table, config=Sampling(seed=2), limit=20, seeds=[3]) != first
    assert draw(table, config=Sampling(seed=1), limit=20, seeds=[4]) != first
    assert draw(table, config=Sampling(seed=3), limit=20, seeds=[1]) != first  # no mere sum


def ending_after(length: int) -> Table:
    """Make a table that is sure of ``length`` times piece 2 and then the end."""
    return lambda prefix: [0.0, 0.0, 1.0] if len(prefix) <= length else [0.0, 1.0, 0.0]


def test_finished_sentences_leave_the_batch() -> None:
    session = TableSession.start(*map(ending_after, (0, 2, 1, 5)))
    found = sample(session, Sampling(), SYMBOLS, [9, 9, 9, 3], seeds=range(4))
    assert [h.ids for h in found] == [(), (2, 2), (2,), (2, 2, 2)]
    assert [h.truncated for h in found] == [False, False, False, True]
    assert session.fed == [4, 3, 2]
    assert session.selections == [
        Selection([1, 2, 3], [1, 2, 3], old_rows=4, old_sentences=4),
        Selection([0, 2], [0, 2], old_rows=3, old_sentences=3),
    ]


def test_nothing_is_moved_while_nobody_has_finished() -> None:
    session = TableSession.start(*map(ending_after, (5, 5)))
    sample(session, Sampling(), SYMBOLS, [9, 9], seeds=[0, 1])
    assert session.fed == [2] * 6
    assert session.selections == []


def test_no_sentences_get_no_hypotheses() -> None:
    assert draw() == []


# What is returned


@some
@given(seed=SEEDS, vocabulary=st.integers(3, 9), limit=st.integers(1, 12))
def test_temperature_of_0_is_a_beam_of_one(seed: int, vocabulary: int, limit: int) -> None:
    tables = [random_table(seed + number, vocabulary) for number in range(3)]
    greedy = BeamSearch(beam=1, alpha=0.0)
    wanted = search(TableSession.start(*tables), greedy, SYMBOLS, [limit] * 3)
    found = draw(*tables, config=Sampling(temperature=0.0), limit=limit)
    for hypothesis, (best,) in zip(found, wanted, strict=True):
        assert hypothesis == replace(best, score=hypothesis.score)
        assert hypothesis.score == pytest.approx(best.score)


def test_temperature_of_0_takes_the_lowest_of_equals_as_a_beam_of_one_does() -> None:
    even = written_table({f"* {piece}": dict.fromkeys("0123", 0.25) for piece in range(4)}, 4)
    symbols = Symbols(START, END, banned=(0, 1))
    for config in (Sampling(temperature=0.0), Sampling(top_k=1), Sampling(top_p=1e-9)):
        assert draw(even, config=config, limit=2, symbols=symbols)[0].ids == (2, 2)


@some
@given(
    seed=SEEDS,
    limit=st.integers(1, 12),
    config=st.sampled_from(
        [Sampling(), Sampling(temperature=3.0), Sampling(temperature=0.2, top_k=2, min_p=0.1)]
    ),
)
def test_log_probs_are_the_models_own(seed: int, limit: int, config: Sampling) -> None:
    table = random_table(seed, 6)
    (found,) = draw(table, config=config, limit=limit, seeds=[seed])
    pieces = found.ids if found.truncated else (*found.ids, END)
    alone = [log_prob(table, pieces[: n + 1], START) for n in range(len(pieces))]
    steps = [total - before for total, before in zip(alone, [0.0, *alone], strict=False)]
    assert found.log_probs == pytest.approx(steps, abs=1e-9)
    assert found.score == pytest.approx(log_prob(table, pieces, START))
    assert found.truncated == (len(pieces) == limit and pieces[-1] != END)


def test_banned_pieces_never_come_and_the_others_keep_their_probabilities() -> None:
    table = written_table({"0": {"2": 0.9, "3": 0.1}, "* 3": {"1": 1.0}}, vocabulary=4)
    found = draw(*[table] * 50, symbols=Symbols(START, END, banned=(START, 2)))
    assert {h.ids for h in found} == {(3,)}
    assert found[0].log_probs == pytest.approx((math.log(0.1), 0.0))


def test_banned_pieces_take_no_part_in_the_filters() -> None:
    # Without piece 2, pieces 3 and 4 have 0.6 and 0.4 of what is left: one alone reaches 0.55.
    table = written_table({"0": {"2": 0.9, "3": 0.06, "4": 0.04}, "* 3": {"1": 1.0}}, vocabulary=5)
    symbols = Symbols(START, END, banned=(2,))
    for config in (Sampling(top_k=1), Sampling(top_p=0.55), Sampling(min_p=0.9)):
        found = draw(*[table] * 20, config=config, symbols=symbols)
        assert {h.ids for h in found} == {(3,)}


def test_end_symbol_counts_within_the_limit() -> None:
    (ended,) = draw(ending_after(1), limit=2)
    assert (ended.ids, ended.truncated, len(ended.log_probs)) == ((2,), False, 2)
    (cut,) = draw(ending_after(1), limit=1)
    assert (cut.ids, cut.truncated, len(cut.log_probs)) == ((2,), True, 1)


def test_session_that_was_fed_a_prompt_goes_on_with_its_last_piece() -> None:
    # After "5 6" comes 2, after "6 5" comes 3, and nothing else is known of other prefixes.
    follow = {(5, 6): 2, (5, 6, 2): 1, (6, 5): 3, (6, 5, 3): 4, (6, 5, 3, 4): 1}

    def table(prefix: Ids) -> list[float]:
        known = follow.get(prefix, 0)
        return [float(piece == known) for piece in range(7)]

    _, session = TableSession.start(table, table).step(torch.tensor([5, 6]))
    found = sample(session, Sampling(), SYMBOLS, [4, 4], seeds=[0, 1], first=[6, 5])
    assert [h.ids for h in found] == [(2,), (3, 4)]


def test_float32_models_are_drawn_from_in_float64() -> None:
    table = random_table(5, 7)
    single = TableSession.start(table, dtype=torch.float32)
    (found,) = sample(single, Sampling(), SYMBOLS, [60], seeds=[9])
    (exact,) = draw(table, limit=60, seeds=[9])
    assert found.ids == exact.ids
    assert found.score == pytest.approx(exact.score, abs=1e-5)


# Misuse and damage


def broken(_: Ids) -> list[float]:
    return [math.nan, 0.5, 0.5]


def test_model_without_numbers_is_refused() -> None:
    with pytest.raises(ModelError, match="log-probabilities that are not numbers; its weights"):
        draw(random_table(1, 3), broken, symbols=Symbols(START, END))


def test_sentence_without_any_possible_piece_is_named() -> None:
    table = written_table({"0": {"2": 0.9, "3": 0.1}}, vocabulary=4)
    with pytest.raises(
        ModelError, match="sentence 1 of the batch: every piece that may follow has"
    ):
        draw(random_table(1, 4), table, symbols=Symbols(START, END, banned=(2, 3)))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"limits": [3]}, "2 sentences need as many limits and seeds, not 1 and 2"),
        ({"seeds": [1, 2, 3]}, "2 sentences need as many limits and seeds, not 2 and 3"),
        ({"limits": [3, 0]}, "limits: 0 is less than 1, in sentence 1"),
        ({"seeds": [-4, 0]}, "seeds: -4 is less than 0, in sentence 0"),
        ({"first": [0]}, "2 sentences need as many first ids, not 1"),
    ],
)
def test_arguments_that_do_not_fit_the_sentences_are_refused(
    changed: dict[str, list[int]], message: str
) -> None:
    session = TableSession.start(random_table(1, 4), random_table(2, 4))
    given = {"limits": [3, 3], "seeds": [0, 1], "first": [0, 0], **changed}
    limits = given.pop("limits")
    with pytest.raises(ValueError, match=message):
        sample(session, Sampling(), SYMBOLS, limits, seeds=given["seeds"], first=given["first"])
