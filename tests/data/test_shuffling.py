"""Shuffles that are computed where they are looked at."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.data.shuffling import shuffled

keys = st.integers(0, 2**64 - 1)


def shuffle(size: int, key: int) -> NDArray[np.int64]:
    """Look at every place of one shuffle."""
    places = np.arange(size, dtype=np.int64)
    return shuffled(places, np.full(size, size), np.full(size, key, dtype=np.uint64))


def shuffles(size: int, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Look at every place of one shuffle for each key, (keys, size)."""
    places = np.tile(np.arange(size, dtype=np.int64), keys.size)
    found = shuffled(places, np.full(places.size, size), np.repeat(keys, size))
    return found.reshape(keys.size, size)


@given(size=st.integers(1, 1_000), key=keys)
def test_every_element_stands_in_exactly_one_place(size: int, key: int) -> None:
    assert sorted(shuffle(size, key).tolist()) == list(range(size))


@pytest.mark.parametrize("size", [10**6, 10**6 + 3])  # a whole grid, and one that is cut
def test_many_elements_stand_in_exactly_one_place(size: int) -> None:
    assert np.array_equal(np.sort(shuffle(size, 2**63 + 1)), np.arange(size))


@given(size=st.integers(1, 300), key=keys, data=st.data())
def test_a_place_holds_the_same_whatever_else_is_looked_at(
    size: int, key: int, data: st.DataObject
) -> None:
    whole = shuffle(size, key)
    chosen = data.draw(st.lists(st.integers(0, size - 1), max_size=9))
    places = np.array(chosen, dtype=np.int64)
    given_ = places.copy()
    # Beside places of another shuffle, of another size.
    both = np.append(places, 0)
    sizes, them = np.append(np.full(places.size, size), 7), np.full(both.size, key, dtype=np.uint64)
    assert shuffled(both, sizes, them)[:-1].tolist() == whole[places].tolist()
    assert np.array_equal(places, given_)


def test_places_in_a_large_shuffle_need_no_memory_for_the_rest() -> None:
    size = 10**15
    places = np.array([0, 1, size - 1], dtype=np.int64)
    found = shuffled(places, np.full(3, size), np.full(3, 5, dtype=np.uint64))
    assert len({*found.tolist()}) == 3
    assert 0 <= found.min() <= found.max() < size


def test_all_orders_of_three_come_about_equally_often() -> None:
    # By hand: 6 orders in 6,000 shuffles, each 1,000 times but for chance, whose deviation is
    # sqrt(6000 * 1/6 * 5/6) = 29; five of them are 145.
    counts = Counter(map(tuple, shuffles(3, np.arange(6_000, dtype=np.uint64)).tolist()))
    assert counts.keys() == {*permutations(range(3))}
    assert all(abs(count - 1_000) < 145 for count in counts.values())


@pytest.mark.parametrize("size", [10, 64])
def test_every_element_comes_to_every_place_about_equally_often(size: int) -> None:
    many = 20_000
    found = shuffles(size, np.arange(many, dtype=np.uint64) * np.uint64(2**32))
    counts = np.stack([np.bincount(column, minlength=size) for column in found.T])
    # Chi-squared with (size - 1)^2 degrees of freedom: its mean, and five deviations.
    statistic = ((counts - many / size) ** 2 / (many / size)).sum()
    free = (size - 1) ** 2
    assert abs(statistic - free) < 5 * np.sqrt(2 * free)


def test_keys_that_lie_close_give_other_shuffles() -> None:
    found = {*map(tuple, shuffles(20, np.arange(500, dtype=np.uint64)).tolist())}
    assert len(found) == 500


def test_nothing_gives_nothing() -> None:
    assert shuffle(0, 1).tolist() == []
