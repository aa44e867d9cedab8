import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.data.batching import Batch, Batches, collate, pad_rows, pair_batches
from dragoman.data.division import BATCH_COST
from dragoman.data.lengths import LengthRule, Origin, apply_length_rule
from dragoman.data.lines import read_lines
from dragoman.data.planning import BatchPlan, Shapes, group_by_length, plan_batches
from dragoman.data.store import IdStore
from dragoman.errors import CheckpointError, DataError
from dragoman.tokenization import SpecialIds

Integers = NDArray[np.int64]

MULTI30K = Path(__file__).parents[2].parent / "shared" / "data" / "multi30k"
SPECIAL = SpecialIds(padding=0, start=1, end=2)
RULES: tuple[LengthRule, ...] = get_args(LengthRule)

both_lengths = st.lists(st.tuples(st.integers(1, 99), st.integers(1, 99)), min_size=1, max_size=60)


def integers(*numbers: int) -> Integers:
    return np.array(numbers, dtype=np.int64)


def two_sides(lengths: list[tuple[int, int]]) -> tuple[Integers, Integers]:
    source, target = np.array(lengths, dtype=np.int64).T
    return source, target


def slots(batches: Iterable[Integers], lengths: Integers) -> Integers:
    """Count tokens and padding of one side of each batch."""
    return np.array([len(batch) * lengths[batch].max() for batch in batches])


def padded_share(batches: list[Integers], source: Integers, target: Integers) -> float:
    both = slots(batches, source).sum() + slots(batches, target).sum()
    return 1 - (source.sum() + target.sum()) / both


def mean_fill(batches: list[Integers], source: Integers, target: Integers, budget: int) -> float:
    return np.maximum(slots(batches, source), slots(batches, target)).mean() / budget


def full_batches(
    order: Integers, source: Integers, target: Integers, budget: int
) -> list[Integers]:
    """Fill batch after batch in the given order, the plain way."""
    batches: list[Integers] = []
    start = 0
    for stop in range(1, order.size + 1):
        rows = order[start : stop + 1]
        longest = max(source[rows].max(), target[rows].max())
        if stop == order.size or rows.size * longest > budget:
            batches.append(order[start:stop])
            start = stop
    return batches


# The plan.


@given(lengths=both_lengths, budget=st.integers(1, 900), seed=st.integers(0, 9))
def test_every_pair_is_in_one_batch_and_every_batch_within_the_budget(
    lengths: list[tuple[int, int]], budget: int, seed: int
) -> None:
    source, target = two_sides(lengths)
    batches = plan_batches(source, target, budget=budget, rng=np.random.default_rng(seed))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    for batch in batches:
        longest = max(source[batch].max(), target[batch].max())
        assert 0 < len(batch) * longest <= budget or len(batch) == 1


@given(lengths=both_lengths, budget=st.integers(1, 900))
def test_the_same_generator_gives_the_same_batches(
    lengths: list[tuple[int, int]], budget: int
) -> None:
    first, second = (
        plan_batches(*two_sides(lengths), budget=budget, rng=np.random.default_rng(3))
        for _ in range(2)
    )
    assert [batch.tolist() for batch in first] == [batch.tolist() for batch in second]


@example(lengths=[(1, 30), (1, 65)], extra=31)  # would share a batch, had 65 not become 66
@given(lengths=both_lengths, extra=st.integers(0, 900))
def test_a_plan_costs_no_more_than_filling_batches_in_sorted_order(
    lengths: list[tuple[int, int]], extra: int
) -> None:
    exact = np.array(lengths, dtype=np.int64).T
    budget = 100 + extra
    planned = BatchPlan.of(*exact, budget=budget).deal()
    # Lengths above 64 are planned as if they were rounded up, here to the next that is even.
    source, target = rounded = np.where(exact > 64, exact + exact % 2, exact)
    cost = sum(slots(planned, side).sum() for side in rounded)
    assert sum(slots(planned, side).sum() for side in exact) <= cost
    for side, other in ((source, target), (target, source)):
        alike = np.full_like(other, other.max())
        plain = full_batches(np.argsort(-side, kind="stable"), side, alike, budget)
        plain_cost = (slots(plain, side) + slots(plain, alike)).sum()
        more_batches = len(planned) - len(plain)
        assert cost + more_batches * BATCH_COST * budget <= plain_cost


def test_pairs_of_the_same_lengths_fill_batches_without_padding() -> None:
    # 4 x 2 and 2 x 4 tokens fill a budget of 8.
    source, target = integers(2, 4, 2, 4, 2, 2), integers(2, 4, 2, 4, 2, 2)
    batches = BatchPlan.of(source, target, budget=8).deal()
    assert sorted(batch.tolist() for batch in batches) == [[0, 2, 4, 5], [1, 3]]


@pytest.mark.parametrize(("short", "batches"), [(2, 2), (49, 1)])
def test_a_batch_more_must_save_its_cost_in_padding(short: int, batches: int) -> None:
    # Two pairs in one batch of budget 100 waste 2 x (50 - short) slots: 96 are worth a batch, 2
    # are not; a batch costs 100 * BATCH_COST.
    assert 2 < 100 * BATCH_COST < 96
    lengths = integers(50, short)
    assert len(BatchPlan.of(lengths, lengths, budget=100)) == batches


@pytest.mark.parametrize("place", [0, 3, 6])
def test_a_pair_longer_than_the_budget_is_alone_wherever_it_stands(place: int) -> None:
    source, target = np.insert(np.full(6, 2), place, 3), np.insert(np.full(6, 2), place, 20)
    batches = BatchPlan.of(source, target, budget=8).deal()
    assert [place] in [batch.tolist() for batch in batches]
    assert sorted(len(batch) for batch in batches) == [1, 2, 4]


def test_only_pairs_of_the_same_lengths_change_places_and_all_of_them_do() -> None:
    lengths = np.repeat(integers(3, 5, 8), 40)
    plan = BatchPlan.of(lengths, lengths, budget=40)
    first, second = (plan.deal(np.random.default_rng(seed)) for seed in (1, 2))
    assert [lengths[batch].tolist() for batch in first] != [lengths[b].tolist() for b in second]
    assert {tuple(sorted(batch)) for batch in first}.isdisjoint(tuple(sorted(b)) for b in second)
    assert sorted(map(len, first)) == sorted(map(len, second))


@pytest.mark.parametrize(
    ("source", "target", "budget"),
    [([], [], 9), ([1, 2], [1], 9), ([1], [1], 0), ([0], [1], 9), ([1], [-1], 9)],
)
def test_what_makes_no_batches_is_an_error(
    source: list[int], target: list[int], budget: int
) -> None:
    with pytest.raises(ValueError, match=r"make no batches|must be at least 1"):
        BatchPlan.of(integers(*source), integers(*target), budget=budget)


long_lengths = st.lists(st.tuples(st.integers(1, 300), st.integers(1, 300)), min_size=1)


def dealt_shapes(
    plan: BatchPlan, lengths: list[tuple[int, int]], deals: int
) -> set[tuple[int, int, int]]:
    source, target = two_sides(lengths)
    batches = [batch for seed in range(deals) for batch in plan.deal(np.random.default_rng(seed))]
    return {(batch.size, int(source[batch].max()), int(target[batch].max())) for batch in batches}


@given(lengths=both_lengths | long_lengths, budget=st.integers(1, 3000))
def test_no_deal_makes_a_batch_larger_than_its_plan_says(
    lengths: list[tuple[int, int]], budget: int
) -> None:
    plan = BatchPlan.of(*two_sides(lengths), budget=budget)
    bounds = np.stack(plan.shapes(), axis=1)
    assert len(bounds) == len(plan)
    assert bounds[:, 0].sum() == len(lengths)
    for rows, source, target in dealt_shapes(plan, lengths, 5):
        assert ((bounds[:, 0] == rows) & (bounds[:, 1] >= source) & (bounds[:, 2] >= target)).any()


@given(lengths=both_lengths | long_lengths, budget=st.integers(1, 3000))
def test_the_heaviest_pairs_reach_the_shape_that_the_plan_says(
    lengths: list[tuple[int, int]], budget: int
) -> None:
    source, target = two_sides(lengths)
    plan = BatchPlan.of(source, target, budget=budget)
    for number, (rows, longest_source, longest_target) in enumerate(
        zip(*plan.shapes(), strict=True)
    ):
        pairs = plan.heaviest(number)
        assert len(set(pairs.tolist())) == rows
        found = (rows, source[pairs].max(), target[pairs].max())
        if rows > 1 or max(found[1:]) <= 64:
            assert found == (rows, longest_source, longest_target)
        else:  # of two pairs in one cell, one has the longer source, the other the longer target
            assert longest_source <= found[1] * 33 / 32
            assert longest_target <= found[2] * 33 / 32


def test_a_batch_may_meet_the_longest_of_its_cells_on_both_sides() -> None:
    # 65 and 66 are one cell, 65 to 66, as long pairs are: any two of the three may share a batch.
    plan = BatchPlan.of(integers(65, 66, 65), integers(66, 65, 65), budget=132)
    assert [side.tolist() for side in plan.shapes()] == [[1, 2], [66, 66], [66, 66]]
    assert plan.heaviest(0).tolist() == [0]
    assert sorted(plan.heaviest(1).tolist()) == [0, 1]


def test_the_largest_have_most_slots_then_most_squares_then_most_to_say() -> None:
    # By hand: slots 80, 90, 70, 85; squares 8 x 36, 9 x 64, 2 x 900, 5 x 121; to say 32, 18, 10,
    # 55.
    shapes = Shapes(integers(8, 9, 2, 5), integers(6, 8, 30, 6), integers(4, 2, 5, 11))
    assert [shapes.largest(count) for count in (1, 2, 3)] == [[1], [1, 2], [1, 2, 3]]
    assert shapes.largest(9) == [1, 2, 3, 0]


def test_padding_stays_low_while_batches_stay_full() -> None:
    rng = np.random.default_rng(5)
    source = np.exp(rng.normal(2.6, 0.35, 30_000)).astype(np.int64) + 2
    target = (source * np.exp(rng.normal(0, 0.15, source.size))).astype(np.int64) + 1
    in_order = full_batches(np.lexsort((source, target)), source, target, 4096)
    planned = plan_batches(source, target, budget=4096, rng=rng)
    assert padded_share(planned, source, target) < 0.03
    assert padded_share(planned, source, target) < padded_share(in_order, source, target) / 2
    assert mean_fill(planned, source, target, 4096) > 0.9


@pytest.mark.skipif(not MULTI30K.exists(), reason="Multi30k is not beside the repository")
@pytest.mark.parametrize("budget", [1024, 2048, 4096])
@pytest.mark.parametrize("languages", [("de", "en"), ("en", "fr")])
def test_less_than_three_percent_of_multi30k_is_padding(
    languages: tuple[str, str], budget: int
) -> None:
    source, target = (
        integers(*(len(line.split()) + 1 for line in read_lines(MULTI30K / f"train.{name}.gz")))
        for name in languages
    )
    batches = plan_batches(source, target, budget=budget, rng=np.random.default_rng(1))
    assert padded_share(batches, source, target) < 0.03
    assert mean_fill(batches, source, target, budget) > 0.87


@pytest.mark.slow
def test_a_million_pairs_are_planned_in_seconds() -> None:
    rng = np.random.default_rng(1)
    source, target = rng.integers(1, 101, (2, 1_000_000))
    before = time.process_time()
    batches = plan_batches(source, target, budget=4096, rng=rng)
    assert time.process_time() - before < 30
    assert padded_share(batches, source, target) < 0.01


# Tensors.


def test_a_batch_is_shifted_by_one_and_padded_on_the_right() -> None:
    sources = IdStore.from_sequences([[9], [5, 6, 7], [8]])
    targets = IdStore.from_sequences([[9], [4], [3, 4]])
    batch = collate(integers(1, 2), sources, targets, SPECIAL)
    assert batch.pairs.tolist() == [1, 2]
    assert batch.source.tolist() == [[5, 6, 7, 2], [8, 2, 0, 0]]
    assert batch.target_in.tolist() == [[1, 4, 0], [1, 3, 4]]
    assert batch.target_out.tolist() == [[4, 2, 0], [3, 4, 2]]
    assert batch.target_tokens == 5
    assert batch.source.dtype == batch.target_in.dtype == batch.target_out.dtype == torch.int64


def test_a_side_without_pieces_is_its_symbols() -> None:
    nothing = IdStore.from_sequences([[]])
    batch = collate(integers(0), nothing, nothing, SPECIAL)
    assert (batch.source.tolist(), batch.target_in.tolist()) == ([[2]], [[1]])
    assert (batch.target_out.tolist(), batch.target_tokens) == ([[2]], 1)


def test_rows_of_ids_are_padded_to_the_longest() -> None:
    assert pad_rows([[4, 5, 6], [], [7]], 9).tolist() == [[4, 5, 6], [9, 9, 9], [7, 9, 9]]


# The order of training.


def stores(pairs: int) -> tuple[IdStore, IdStore]:
    """Sentences of 1 to 9 pieces; a pair is known by its first source piece."""
    rng = np.random.default_rng(7)
    sources = [[10 + pair, *range(rng.integers(0, 9))] for pair in range(pairs)]
    return IdStore.from_sequences(sources), IdStore.from_sequences(
        [range(3, 3 + rng.integers(1, 10)) for _ in range(pairs)]
    )


def token_batches(pairs: int = 50, *, seed: int = 1, shuffle: bool = True) -> Batches[Batch]:
    return pair_batches(*stores(pairs), budget=60, special=SPECIAL, seed=seed, shuffle=shuffle)


def pair_ids(batches: Iterable[Batch]) -> list[list[int]]:
    return [batch.pairs.tolist() for batch in batches]


def epochs(batches: Batches[Batch], count: int) -> list[list[list[int]]]:
    return [
        pair_ids([batches.next_batch() for _ in range(batches.batches_in_epoch)])
        for _ in range(count)
    ]


def test_two_runs_see_the_same_pairs_and_each_epoch_all_of_them_in_another_order() -> None:
    first, second = epochs(token_batches(), 2), epochs(token_batches(), 2)
    assert first == second
    assert first[0] != first[1]
    for epoch in first:
        assert sorted(itertools.chain(*epoch)) == list(range(50))
    assert epochs(token_batches(seed=2), 1) != first[:1]


def test_the_order_does_not_depend_on_how_python_hashes() -> None:
    program = (
        "import json, sys\n"
        f"sys.path[:0] = [{str(Path(__file__).parents[2])!r}]\n"
        "from tests.data.test_batching import epochs, token_batches\n"
        "print(json.dumps(epochs(token_batches(), 2)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": "123"},  # this process has another, random by default
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout) == epochs(token_batches(), 2)


@settings(max_examples=30)
@given(cut=st.integers(0, 40), seed=st.integers(0, 5))
def test_restoring_continues_exactly(cut: int, seed: int) -> None:
    straight, stopped = token_batches(20, seed=seed), token_batches(20, seed=seed)
    for _ in range(cut):
        straight.next_batch()
        stopped.next_batch()
    resumed = token_batches(20, seed=seed)
    resumed.restore(json.loads(json.dumps(stopped.state())))
    for _ in range(straight.batches_in_epoch + 1):
        expected, found = straight.next_batch(), resumed.next_batch()
        assert found.pairs.tolist() == expected.pairs.tolist()
        assert torch.equal(found.source, expected.source)
        assert torch.equal(found.target_in, expected.target_in)
        assert resumed.state() == straight.state()


def test_after_the_last_batch_of_an_epoch_comes_the_next_epoch() -> None:
    batches = token_batches()
    assert (batches.epoch, batches.state()) == (1, {"epoch": 1, "batch": 0})
    for _ in range(batches.batches_in_epoch - 1):
        batches.next_batch()
    assert batches.epoch == 1
    batches.next_batch()
    assert (batches.epoch, batches.state()) == (2, {"epoch": 2, "batch": 0})


@pytest.mark.parametrize("shuffle", [True, False])
def test_order_follows_from_plan_seed_and_epoch_alone(shuffle: bool) -> None:
    # Written out here, so that a run of an older version can go on.
    sources, targets = stores(50)
    plan = BatchPlan.of(sources.lengths + 1, targets.lengths + 1, budget=60)
    expected = [
        [
            pairs.tolist()
            for pairs in plan.deal(np.random.default_rng([3, epoch]) if shuffle else None)
        ]
        for epoch in (1, 2)
    ]
    assert epochs(token_batches(seed=3, shuffle=shuffle), 2) == expected


@given(seed=st.integers(0, 99), taken=st.integers(0, 30))
@settings(max_examples=20)
def test_the_largest_batches_are_no_smaller_than_any_other_and_do_not_move_on(
    seed: int, taken: int
) -> None:
    batches = token_batches(seed=seed)
    for _ in range(taken):
        batches.next_batch()
    state = batches.state()
    largest = batches.largest()
    assert batches.state() == state
    assert len({tuple(sorted(batch.pairs.tolist())) for batch in largest}) == 2
    assert pair_ids(largest) == pair_ids(token_batches(seed=seed + 1).largest())

    def slots_of(batch: Batch) -> int:
        return batch.source.numel() + batch.target_out.numel()

    def squares(batch: Batch) -> int:
        return len(batch.pairs) * max(batch.source.size(1), batch.target_out.size(1)) ** 2

    others = [batches.next_batch() for _ in range(3 * batches.batches_in_epoch)]
    assert slots_of(largest[0]) >= max(map(slots_of, others))
    assert max(map(squares, largest)) >= max(map(squares, others))


def test_an_epoch_of_one_batch_has_one_largest() -> None:
    assert len(token_batches(2).largest()) == 1


def test_another_position_moves_by_itself() -> None:
    batches = token_batches()
    expected = list(itertools.chain(*epochs(token_batches(), 2)))
    batches.next_batch()
    other = batches.at({"epoch": 2, "batch": 1})
    assert other.next_batch().pairs.tolist() == expected[batches.batches_in_epoch + 1]
    assert batches.next_batch().pairs.tolist() == expected[1]
    with pytest.raises(CheckpointError, match="no batch 999"):
        batches.at({"epoch": 1, "batch": 999})


def test_without_shuffling_every_epoch_is_the_same() -> None:
    first, second = epochs(token_batches(shuffle=False), 2)
    assert first == second


def test_looking_at_a_whole_epoch_does_not_move_on() -> None:
    batches = token_batches()
    batches.next_batch()
    whole = pair_ids(list(batches.whole_epoch()))
    assert whole == epochs(token_batches(), 1)[0]
    assert batches.state() == {"epoch": 1, "batch": 1}


def test_tensors_hold_the_pairs_they_name() -> None:
    batches = token_batches()
    sources, targets = stores(50)
    for batch in batches.whole_epoch():
        real = sum(len(targets[int(pair)]) + 1 for pair in batch.pairs)
        assert batch.source[:, 0].tolist() == [int(sources[int(pair)][0]) for pair in batch.pairs]
        assert batch.target_tokens == real == int((batch.target_out != 0).sum())
        assert max(batch.source.numel(), batch.target_out.numel()) <= 60


@pytest.mark.parametrize("state", [{"epoch": 0, "batch": 0}, {"epoch": 1, "batch": 999}, {}])
def test_a_place_that_does_not_exist_is_an_error(state: dict[str, int]) -> None:
    with pytest.raises(CheckpointError, match=r"no batch .* continue with the data"):
        token_batches().restore(state)


# Long pairs.


def rule_applied(rule: LengthRule, source: Integers, target: Integers, limit: int):
    lines = [10 + line for line in range(source.size)]
    return apply_length_rule(
        source,
        target,
        limit_source=limit,
        limit_target=limit,
        rule=rule,
        origin=Origin("train.de", lines),
    )


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("pieces", [8, 20])
@pytest.mark.parametrize("side", [0, 1])
def test_the_end_symbol_counts_and_the_rule_decides(place: int, pieces: int, side: int) -> None:
    # Budget 8: 8 pieces and the end symbol are 9 tokens, too long; 7 and the symbol fit.
    lengths = np.full((2, 3), 7)
    lengths[side, place] = pieces
    source, target = lengths + 1
    others = [pair for pair in range(3) if pair != place]
    dropped = rule_applied("drop", source, target, 8)
    assert (dropped.kept.tolist(), dropped.dropped) == (others, 1)
    alone = rule_applied("alone", source, target, 8)
    assert (alone.kept.tolist(), alone.alone) == ([0, 1, 2], 1)
    cut = rule_applied("truncate", source, target, 8)
    assert (cut.kept.tolist(), cut.truncated) == ([0, 1, 2], 1)
    assert (cut.longest_source, cut.longest_target) == (7, 7)
    with pytest.raises(DataError, match=f"^train.de: line {10 + place}: {source[place]} source"):
        rule_applied("error", source, target, 8)


@given(
    pieces=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=12),
    rule=st.sampled_from(RULES),
)
def test_what_a_rule_leaves_makes_no_empty_batch_and_nothing_is_lost(
    pieces: list[tuple[int, int]], rule: LengthRule
) -> None:
    sources = IdStore.from_sequences([5] * source for source, _ in pieces)
    targets = IdStore.from_sequences([5] * target for _, target in pieces)
    try:
        report = rule_applied(rule, sources.lengths + 1, targets.lengths + 1, 8)
    except DataError:
        assert any(max(pair) > 7 for pair in pieces)
        assert rule == "error" or all(max(pair) > 7 for pair in pieces)
        return
    sources = sources.take(report.kept, report.longest_source)
    targets = targets.take(report.kept, report.longest_target)
    assert len(sources) + report.dropped == len(pieces)
    batches = pair_batches(sources, targets, budget=8, special=SPECIAL, seed=1)
    for batch in batches.whole_epoch():
        assert batch.pairs.size
        within = max(batch.source.numel(), batch.target_out.numel()) <= 8
        assert within or (rule == "alone" and batch.pairs.size == 1)


@pytest.mark.parametrize("rule", RULES)
def test_pairs_that_just_fit_are_left_as_they_are(rule: LengthRule) -> None:
    report = rule_applied(rule, integers(8, 2), integers(1, 8), 8)
    assert report.kept.tolist() == [0, 1]
    assert (report.dropped, report.truncated, report.alone) == (0, 0, 0)


@pytest.mark.parametrize(("rule", "size"), [("drop", 1), ("drop", 2), ("error", 1)])
def test_no_pair_left_is_an_error_that_says_what_to_change(rule: LengthRule, size: int) -> None:
    with pytest.raises(DataError) as error:
        rule_applied(rule, np.full(size, 21), np.full(size, 4), 8)
    more = {1: "", 2: ", as are 1 more pairs"}[size]
    assert str(error.value) == (
        "train.de: line 10: 21 source and 4 target tokens, added symbols included, are over the "
        f"limits 8 and 8{more}; raise training.batch_tokens, shorten the text, or choose another "
        "data.too_long"
    )


def test_a_limit_without_room_for_a_piece_is_an_error() -> None:
    with pytest.raises(ValueError, match="leave no room"):
        rule_applied("truncate", integers(3), integers(3), 1)


# Groups for decoding.


@given(lengths=st.lists(st.integers(0, 40)), budget=st.integers(1, 99))
def test_groups_hold_every_input_once_longest_first_within_the_budget(
    lengths: list[int], budget: int
) -> None:
    groups = group_by_length(lengths, budget)
    order = [int(index) for group in groups for index in group]
    assert order == sorted(range(len(lengths)), key=lambda index: -lengths[index])
    for group in groups:
        assert len(group) == 1 or len(group) * max(lengths[index] for index in group) <= budget


def test_groups_are_filled_and_one_too_long_is_alone() -> None:
    # By hand: 20 is over the budget of 8; 3 + 3, then 2 with 1, 1, 1 as four rows of 2.
    groups = group_by_length([1, 3, 20, 2, 1, 3, 1], 8)
    assert [group.tolist() for group in groups] == [[2], [1, 5], [3, 0, 4, 6]]
