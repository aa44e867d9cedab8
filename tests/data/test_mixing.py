"""Batches of several corpora in turn."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data import Batch, IdStore, MixedBatches, Prefetched, Several, Stage, TsvFile
from dragoman.data.batching import pair_batches
from dragoman.errors import CheckpointError
from dragoman.tokenization import SpecialIds

SPECIAL = SpecialIds(padding=0, start=1, end=2)


def several(
    count: int,
    *,
    weights: Sequence[float] | None = None,
    temperature: float = 1.0,
    stages: Sequence[Stage] = (),
) -> Several:
    """The record of some corpora, whose files nobody reads."""
    given_: Sequence[float | None] = weights or [None] * count
    parts = tuple(
        TsvFile(file=Path(f"{number}.tsv"), weight=weight) for number, weight in enumerate(given_)
    )
    return Several(parts=parts, temperature=temperature, stages=tuple(stages))


def mixed(
    sizes: Sequence[int], mixture: Several, *, accumulate: int = 1, seed: int = 1
) -> MixedBatches[Batch]:
    """Corpora of some number of batches, each of two pairs; those of the second from 1000 on."""
    parts = [
        pair_batches(
            IdStore.from_sequences([[7, 7]] * (2 * batches)),
            IdStore.from_sequences([[8, 8]] * (2 * batches)),
            budget=6,
            special=SPECIAL,
            seed=seed + number,
            first=1_000 * number,
        )
        for number, batches in enumerate(sizes)
    ]
    assert [part.batches_in_epoch for part in parts] == list(sizes)
    return MixedBatches(parts, mixture, accumulate=accumulate, seed=seed)


def corpora(batches: MixedBatches[Batch], count: int) -> list[int]:
    """Say of which corpus each of the next batches is."""
    return [int(batches.next_batch().pairs[0]) // 1_000 for _ in range(count)]


def pairs(batches: MixedBatches[Batch], count: int) -> list[list[int]]:
    return [batches.next_batch().pairs.tolist() for _ in range(count)]


# Shares.


def test_weights_are_met_to_the_batch_in_each_epoch_and_in_another_order() -> None:
    batches = mixed([30, 10], several(2, weights=[1, 3]))
    assert batches.batches_in_epoch == 40
    epochs = [corpora(batches, 40) for _ in range(3)]
    for epoch in epochs:
        assert Counter(epoch) == {0: 10, 1: 30}
    assert epochs[0] != epochs[1] != epochs[2]
    assert epochs[0] != sorted(epochs[0])


def test_shares_that_do_not_come_out_even_go_to_the_largest_remainders() -> None:
    # By hand: 11 batches by 5, 3 and 2 tenths are 5.5, 3.3 and 2.2.
    batches = mixed([9, 1, 1], several(3, weights=[5, 3, 2]))
    assert Counter(corpora(batches, 11)) == {0: 6, 1: 3, 2: 2}


def test_a_small_share_gets_a_batch_of_every_epoch() -> None:
    batches = mixed([20, 1], several(2, weights=[1_000_000, 1]))
    assert Counter(corpora(batches, 21)) == {0: 20, 1: 1}


# By hand for 100 and 10,000: at 1 their own sizes; at 2 the roots 10 and 100, so 1/11 of 10,100 is
# 918.2; at 5 100^0.2 = 2.51189 and 10000^0.2 = 6.30957, so 0.284748 of 10,100 is 2,875.9.
@pytest.mark.parametrize(
    ("temperature", "small"), [(1.0, 100), (2.0, 918), (5.0, 2_876), (1e9, 5_050)]
)
def test_shares_by_temperature(temperature: float, small: int) -> None:
    (shares, until), *others = several(2, temperature=temperature).shares([100, 10_000])
    assert not others
    assert until is None
    assert shares.sum() == pytest.approx(1)
    assert shares[0] * 10_100 == pytest.approx(small, abs=0.5)


def test_the_batches_of_an_epoch_follow_the_temperature() -> None:
    # By hand: 4 and 36 batches have the roots 2 and 6, so a quarter of 40.
    batches = mixed([4, 36], several(2, temperature=2))
    assert Counter(corpora(batches, 40)) == {0: 10, 1: 30}


def test_stages_end_with_their_last_update() -> None:
    stages = [Stage(weights=(1, 0), until=3), Stage(weights=(0, 1), until=7), Stage(weights=(1, 1))]
    batches = mixed([2, 2], several(2, stages=stages), accumulate=2)
    found = corpora(batches, 22)
    assert found[:6] == [0] * 6
    assert found[6:14] == [1] * 8
    assert Counter(found[14:18]) == Counter(found[18:22]) == {0: 2, 1: 2}


def test_a_corpus_without_a_share_is_still_among_the_largest() -> None:
    stages = [Stage(weights=(1, 0))]
    batches = mixed([3, 3], several(2, stages=stages))
    assert {*corpora(batches, 20)} == {0}
    assert {int(batch.pairs[0]) // 1_000 for batch in batches.largest()} == {0, 1}
    assert corpora(batches, 1) == [0]


# Every corpus is read in turn.


@settings(max_examples=20)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    weights=st.lists(st.sampled_from([0.0, 0.3, 1.0, 5.0]), min_size=6, max_size=6),
    ends=st.lists(st.integers(1, 9), min_size=0, max_size=1),
    accumulate=st.integers(1, 3),
)
def test_each_corpus_goes_through_its_own_epochs_and_every_place_can_be_taken_up(
    sizes: list[int], weights: list[float], ends: list[int], accumulate: int
) -> None:
    count = len(sizes)
    shares = [tuple(weights[3 * stage : 3 * stage + count]) for stage in (0, 1)]
    shares = [share if any(share) else (1.0,) * count for share in shares]
    until = [*ends, None]
    stages = [Stage(weights=share, until=end) for share, end in zip(shares, until, strict=False)]
    mixture = several(count, stages=stages)
    length = 4 * sum(sizes)

    batches = mixed(sizes, mixture, accumulate=accumulate)
    states = [json.loads(json.dumps(batches.state()))]
    straight: list[list[int]] = []
    for _ in range(length):
        straight += pairs(batches, 1)
        states.append(json.loads(json.dumps(batches.state())))

    # An independent reading: each corpus by itself, as if it were alone.
    for number, size in enumerate(sizes):
        own = [pair for pair in straight if pair[0] // 1_000 == number]
        alone = mixed([1] * number + [size], several(number + 1))._parts[number]  # pyright: ignore  # private
        expected = [alone.next_batch().pairs.tolist() for _ in own]
        assert own == expected
        for start in range(0, len(own) - size + 1, size):
            epoch = sorted(chain(*own[start : start + size]))
            assert epoch == list(range(1_000 * number, 1_000 * number + 2 * size))

    fresh = mixed(sizes, mixture, accumulate=accumulate)
    for place, state in enumerate(states[:-1]):
        assert state == {"epoch": place // sum(sizes) + 1, "batch": place % sum(sizes)}
        rest = straight[place : place + 5]
        assert pairs(fresh.at(state), len(rest)) == rest  # type: ignore[arg-type]  # mixed
        batches.restore(state)
        assert pairs(batches, len(rest)) == rest
    assert fresh.state() == states[0]  # looking elsewhere has not moved it


def test_one_corpus_in_a_list_is_like_one_alone() -> None:
    batches = mixed([5], several(1))
    alone = mixed([5], several(1))._parts[0]  # pyright: ignore[reportPrivateUsage]  # no other way in
    assert pairs(batches, 12) == [alone.next_batch().pairs.tolist() for _ in range(12)]
    assert batches.epoch == 3


def test_a_whole_epoch_is_that_of_the_position_and_does_not_move_on() -> None:
    batches = mixed([3, 2], several(2, weights=[1, 1]))
    epochs = [pairs(batches, 5) for _ in range(2)]
    batches.restore({"epoch": 2, "batch": 3})
    assert [batch.pairs.tolist() for batch in batches.whole_epoch()] == epochs[1]
    assert batches.state() == {"epoch": 2, "batch": 3}
    assert pairs(batches, 2) == epochs[1][3:]


def test_every_process_and_every_thread_sees_the_same() -> None:
    mixture = several(3, temperature=3)
    first, second = mixed([4, 1, 2], mixture), mixed([4, 1, 2], mixture)
    expected = pairs(first, 20)
    assert pairs(second, 20) == expected
    with Prefetched(mixed([4, 1, 2], mixture)) as ahead:
        found = [ahead.next_batch().pairs.tolist() for _ in range(9)]
        ahead.restore({"epoch": 2, "batch": 2})
        found += [ahead.next_batch().pairs.tolist() for _ in range(11)]
    assert found == expected
    assert pairs(mixed([4, 1, 2], mixture, seed=2), 20) != expected


def test_tensors_are_those_of_the_corpus() -> None:
    batches = mixed([2, 2], several(2))
    batch = batches.next_batch()
    assert torch.equal(batch.source, torch.tensor([[7, 7, 2]] * 2))
    assert torch.equal(batch.target_in, torch.tensor([[1, 8, 8]] * 2))


@pytest.mark.parametrize(
    "state", [{}, {"epoch": 0, "batch": 0}, {"epoch": 1, "batch": 5}, {"epoch": 1, "batch": -1}]
)
def test_a_place_that_does_not_exist_is_an_error(state: dict[str, int]) -> None:
    batches = mixed([3, 2], several(2))
    with pytest.raises(CheckpointError, match=r"which has 5; continue with the data"):
        batches.restore(state)
    with pytest.raises(CheckpointError):
        batches.at(state)


def test_far_into_a_long_run_is_found_at_once() -> None:
    batches = mixed([40, 9], several(2, weights=[2, 1]))
    rounds = 10**7
    batches.restore({"epoch": rounds + 1, "batch": 0})
    # By hand: a third of 49 batches is 16.3, so 33 and 16 of every epoch.
    counts = [part.state() for part in batches._parts]  # pyright: ignore[reportPrivateUsage]  # no other way in
    drawn = np.array([33, 16]) * rounds
    assert [(state["epoch"] - 1, state["batch"]) for state in counts] == [
        divmod(int(count), size) for count, size in zip(drawn, (40, 9), strict=True)
    ]


def test_weights_of_any_size_leave_no_corpus_out() -> None:
    def shares(*weights: float) -> list[float]:
        parts = tuple(TsvFile(file=Path("a"), weight=w) for w in weights)
        return Several(parts=parts).shares([1] * len(weights))[0][0].tolist()

    assert shares(1.7e308, 1.7e308) == [0.5, 0.5]
    assert min(shares(1e-300, 1e300)) > 0
