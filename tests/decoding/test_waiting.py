"""Who waits for a search is given each answer at once, and may go: for both engines."""

from collections.abc import Sequence

import pytest

from dragoman.decoding import (
    BeamSearch,
    BrokenOff,
    Engine,
    Found,
    FusedEngine,
    TorchEngine,
    Waiter,
    decode,
)
from dragoman.decoding.hypothesis import Hypothesis
from dragoman.tokenization import SpecialIds
from tests.decoding.fused.test_searching import SYMBOLS, ending, sources

SEARCH = BeamSearch(beam=4, n_best=2)
SPECIAL = SpecialIds(unknown=0, start=1, end=2, padding=3)
ENGINES = ["torch", "fused", "fused with wishes"]


def engine(name: str) -> Engine:
    model = ending(1)
    return TorchEngine(model) if name == "torch" else FusedEngine.of(model, "float32", workers=1)


class Stepped:
    """Counts how often each sentence was asked after, which is once a step; wants some so often."""

    def __init__(self, patience: dict[int, int] | None = None) -> None:
        self.patience = patience or {}
        self.asked: dict[int, int] = {}
        self.taken: list[tuple[int, list[Hypothesis]]] = []
        self.waiter: Waiter[list[Hypothesis]] = Waiter(self.wants, self.take)

    def wants(self, place: int) -> bool:
        self.asked[place] = self.asked.get(place, 0) + 1
        return self.asked[place] <= self.patience.get(place, 1 << 30)

    def take(self, place: int, found: list[Hypothesis]) -> None:
        self.taken.append((place, found))


def searched(
    name: str, given: Sequence[Sequence[int]], limits: Sequence[int], seen: Stepped | None
) -> list[list[Hypothesis]]:
    prefixes = [[7]] * len(given) if "wishes" in name else None
    waiter = None if seen is None else seen.waiter
    return engine(name).search(given, SEARCH, SYMBOLS, limits, waiter=waiter, prefixes=prefixes)


@pytest.mark.parametrize("name", ENGINES)
def test_each_answer_is_given_once_at_the_step_at_which_it_is_known(name: str) -> None:
    given, limits = sources(3), [2, 4, 6, 8, 10, 12]
    alone = searched(name, given, limits, None)
    seen = Stepped()
    assert searched(name, given, limits, seen) == alone
    assert sorted(place for place, _ in seen.taken) == [*range(6)]
    assert all(found == alone[place] for place, found in seen.taken)
    assert seen.taken[0][0] != seen.taken[-1][0]
    # A sentence is asked after in every step but its last: those with few come first.
    steps = [seen.asked.get(place, 0) for place, _ in seen.taken]
    assert steps == sorted(steps)
    assert steps[0] < steps[-1]


@pytest.mark.parametrize("name", ENGINES)
def test_what_is_no_longer_wanted_is_dropped_and_the_others_do_not_notice(name: str) -> None:
    given, limits = sources(3), [20] * 6
    alone = searched(name, given, limits, None)
    seen = Stepped({1: 1, 4: 1})
    found = searched(name, given, limits, seen)
    assert [found[place] for place in (0, 2, 3, 5)] == [alone[place] for place in (0, 2, 3, 5)]
    assert found[1] == found[4] == []
    assert {place for place, _ in seen.taken} == {0, 2, 3, 5}
    assert (seen.asked[1], seen.asked[4]) == (2, 2)  # after the step in which it went, not again


@pytest.mark.parametrize("name", ENGINES)
def test_nobody_is_asked_after_until_somebody_has_gone(name: str) -> None:
    given, limits = sources(3), [20] * 6
    alone = searched(name, given, limits, None)
    longest = max(range(6), key=lambda place: len(alone[place][-1].ids))
    seen, steps = Stepped({longest: 1}), list[int]()

    def gone() -> int:
        steps.append(max(seen.asked.values(), default=0))
        return len(steps) > 2  # somebody goes before the third

    seen.waiter = Waiter(seen.wants, seen.take, gone)
    found = searched(name, given, limits, seen)
    assert steps[:4] == [0, 1, 1, 2]  # asked in the first step, as some may have gone before it
    assert set(steps[3:]) == {2}
    assert found[longest] == []
    assert [*found[:longest], *found[longest + 1 :]] == [*alone[:longest], *alone[longest + 1 :]]


@pytest.mark.parametrize("name", ["torch", "fused"])
def test_decode_tells_by_the_places_of_the_sources_and_leaves_out_whom_nobody_wants(
    name: str,
) -> None:
    given = [source[:-1] for source in (*sources(3), *sources(4))]
    alone = decode(engine(name), given, SEARCH, SPECIAL, batch_tokens=12)
    taken: dict[int, Found] = {}
    waiter: Waiter[Found] = Waiter(lambda place: place % 5 != 2, taken.__setitem__)
    found = decode(engine(name), given, SEARCH, SPECIAL, batch_tokens=12, waiter=waiter)
    left = [place for place in range(len(given)) if place % 5 != 2]
    assert [found[place] for place in left] == [alone[place] for place in left]
    assert all(isinstance(found[place], BrokenOff) for place in (2, 7))
    assert taken == {place: alone[place] for place in left}


def test_what_has_no_room_is_told_too() -> None:
    taken: dict[int, Found] = {}
    waiter: Waiter[Found] = Waiter(lambda _: True, taken.__setitem__)
    search = BeamSearch(beam=2, max_length=3)
    prefixes = [[5, 6, 7, 8], []]
    found = decode(engine("torch"), [[9], [9]], search, SPECIAL, prefixes=prefixes, waiter=waiter)
    assert taken == {0: found[0], 1: found[1]}
    assert "the prefix has 4 pieces" in str(found[0])
