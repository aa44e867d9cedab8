import threading
from collections.abc import Hashable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from dragoman.decoding import Waiter
from dragoman.serving.batcher import Batcher, OverloadedError, StoppedError


class Gate:
    """Work that waits until it is let through, and writes down its batches."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.began = threading.Event()
        self.batches: list[tuple[Hashable, list[str]]] = []

    def __call__(self, way: Hashable, items: list[str], _: Waiter[str]) -> list[str]:
        self.batches.append((way, items))
        self.began.set()
        assert self.open.wait(20)
        if "bad" in items:
            raise ValueError("bad item")
        return [item.upper() for item in items]


@pytest.fixture(autouse=True)
def _in_order_of_arrival(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.serving.batcher.LATER_SECONDS", 0)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


def results(futures: list[Future[str]]) -> list[str]:
    return [future.result(20) for future in futures]


def held(gate: Gate, **options: Any) -> Batcher[str, str]:
    """Make a queue whose thread is busy with a first item."""
    batcher = Batcher(gate, **{"room": 100, **options})
    batcher.submit("a", ["first"], [1])
    assert gate.began.wait(20)
    return batcher


def test_what_waits_becomes_one_batch_and_answers_go_to_whom_they_belong(gate: Gate) -> None:
    batcher = held(gate)
    one = batcher.submit("a", ["x", "y"], [1, 1])
    two = batcher.submit("a", ["z"], [1])
    gate.open.set()
    assert (results(one), results(two)) == (["X", "Y"], ["Z"])
    assert gate.batches == [("a", ["first"]), ("a", ["x", "z", "y"])]
    assert batcher.stop(20)


def test_a_long_request_does_not_hold_up_a_short_one(gate: Gate) -> None:
    batcher = held(gate, at_once=4)
    batcher.submit("a", [f"long {n}" for n in range(9)], [1] * 9)
    batcher.submit("a", ["short"], [1])
    gate.open.set()
    assert batcher.stop(20)
    assert gate.batches[1] == ("a", ["long 0", "short", "long 1", "long 2"])


def test_large_requests_let_a_small_one_that_comes_soon_after_them_go_first(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.serving.batcher.LATER_SECONDS", 0.05)
    batcher = held(gate, size=4)
    batcher.submit("a", ["large 1"], [4])  # others have 0.2 s to come before it
    threading.Event().wait(0.3)
    batcher.submit("a", ["large 2"], [40])
    batcher.submit("a", ["large 3"], [40])
    batcher.submit("a", ["small"], [1])
    gate.open.set()
    assert batcher.stop(20)
    assert [items for _, items in gate.batches[1:]] == [
        ["large 1"],
        ["small", "large 2"],
        ["large 3"],
    ]


def test_a_request_may_ask_for_small_batches_which_others_still_fill(gate: Gate) -> None:
    batcher = held(gate)
    batcher.submit("a", [f"streamed {n}" for n in range(5)], [1] * 5, bite=2)
    batcher.submit("a", ["x", "y", "z"], [1] * 3)
    gate.open.set()
    assert batcher.stop(20)
    assert [items for _, items in gate.batches[1:]] == [
        ["streamed 0", "x", "streamed 1", "y", "z"],
        ["streamed 2", "streamed 3"],
        ["streamed 4"],
    ]
    assert batcher.waiting == 0


def test_what_is_asked_for_in_another_way_is_another_batch_and_keeps_its_turn(gate: Gate) -> None:
    batcher = held(gate, at_once=2)
    for way, item in (("a", "1"), ("b", "2"), ("a", "3"), ("a", "4")):
        batcher.submit(way, [item], [1])
    gate.open.set()
    assert batcher.stop(20)
    assert gate.batches[1:] == [("a", ["1", "3"]), ("b", ["2"]), ("a", ["4"])]


def test_a_long_request_does_not_keep_those_in_another_way_waiting_to_its_end(gate: Gate) -> None:
    batcher = held(gate, at_once=1)
    batcher.submit("a", ["1", "2", "3"], [1] * 3)
    batcher.submit("b", ["other"], [1])
    gate.open.set()
    assert batcher.stop(20)
    assert [items for _, items in gate.batches[1:]] == [["1"], ["other"], ["2"], ["3"]]


def test_one_that_is_left_of_a_batch_is_tried_alone_before_it_fails() -> None:
    batches: list[list[str]] = []

    def work(_: Hashable, items: list[str], waiter: Waiter[str]) -> list[str]:
        batches.append(items)
        if len(items) == 2:
            waiter.take(0, "early")
            raise ValueError("too much together")
        return [item.upper() for item in items]

    batcher = Batcher(work, room=10)
    early, left = batcher.submit("a", ["x", "y"], [1, 1])
    assert (early.result(20), left.result(20)) == ("early", "Y")
    assert batches == [["x", "y"], ["y"]]
    assert batcher.stop(20)


def test_a_full_queue_accepts_nothing_of_a_request(gate: Gate) -> None:
    batcher = held(gate, room=5)
    batcher.submit("a", ["x"], [2])
    with pytest.raises(OverloadedError):
        batcher.submit("a", ["y", "z"], [1, 2])
    batcher.submit("a", ["y"], [2])
    assert batcher.waiting == 5
    gate.open.set()
    assert batcher.stop(20)
    assert batcher.waiting == 0
    assert [item for _, items in gate.batches for item in items] == ["first", "x", "y"]


def test_what_nobody_waits_for_is_not_done(gate: Gate) -> None:
    batcher = held(gate)
    (gone,) = batcher.submit("a", ["gone"], [7])
    (kept,) = batcher.submit("a", ["kept"], [1])
    assert gone.cancel()
    gate.open.set()
    assert kept.result(20) == "KEPT"
    assert batcher.stop(20)
    assert [item for _, items in gate.batches for item in items] == ["first", "kept"]
    assert batcher.waiting == 0


def test_who_leaves_gives_back_the_room_at_once_and_is_forgotten(gate: Gate) -> None:
    batcher = held(gate, room=20)
    for _ in range(50):
        gone = batcher.submit("a", ["gone"] * 3, [5] * 3)
        assert batcher.waiting == 16
        assert all(future.cancel() for future in gone)
        assert batcher.waiting == 1
    assert sum(len(request.jobs) for request in batcher._requests) < 10
    (kept,) = batcher.submit("a", ["kept"], [19])
    gate.open.set()
    assert kept.result(20) == "KEPT"
    assert batcher.stop(20)
    assert batcher.waiting == 0
    assert [item for _, items in gate.batches for item in items] == ["first", "kept"]


def test_an_error_reaches_who_asked_for_it_and_nobody_else(gate: Gate) -> None:
    batcher = held(gate)
    bad = batcher.submit("a", ["bad"], [1])
    good = batcher.submit("a", ["good", "better"], [1, 1])  # of the same batch
    other = batcher.submit("b", ["other"], [1])
    gate.open.set()
    with pytest.raises(ValueError, match="bad item"):
        results(bad)
    assert results(good) == ["GOOD", "BETTER"]
    assert results(other) == ["OTHER"]
    assert ("a", ["bad", "good", "better"]) in gate.batches
    assert batcher.stop(20)


def test_an_answer_waits_for_the_rest_of_its_batch_no_longer_than_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman.serving.jobs.HELD_SECONDS", 0.2)
    last, given_at_once = threading.Event(), list[bool]()

    def work(_: Hashable, items: list[str], waiter: Waiter[str]) -> list[str]:
        waiter.take(1, "early")
        assert waiter.wants(0)
        given_at_once.append(quick.done())
        while not last.wait(0.01):  # as a search asks at every step
            waiter.gone()
        return [item.upper() for item in items]

    batcher = Batcher(work, room=10)
    with batcher._changed:  # so that the work begins when its futures are known
        slow, quick = batcher.submit("a", ["x", "y"], [1, 1])
    assert quick.result(20) == "early"
    assert not slow.done()
    last.set()
    assert slow.result(20) == "X"
    assert given_at_once == [False]
    assert batcher.stop(20)
    assert quick.result() == "early"  # and is not given twice


def test_who_has_an_answer_already_is_not_told_of_what_goes_wrong_later() -> None:
    batches: list[list[str]] = []

    def work(_: Hashable, items: list[str], waiter: Waiter[str]) -> list[str]:
        batches.append(items)
        if len(items) == 3:
            waiter.take(0, "early")
        raise ValueError(f"bad {items[-1]}")

    batcher = Batcher(work, room=10)
    early, *others = batcher.submit("a", ["x", "y", "z"], [1] * 3)
    assert early.result(20) == "early"
    for item, future in zip("yz", others, strict=True):
        with pytest.raises(ValueError, match=f"bad {item}"):
            future.result(20)
    assert batches == [["x", "y", "z"], ["y"], ["z"]]
    assert batcher.stop(20)


def test_work_learns_whom_nobody_waits_for_any_more() -> None:
    began, gone = threading.Event(), threading.Event()
    wanted: list[bool] = []

    def work(_: Hashable, items: list[str], waiter: Waiter[str]) -> list[str]:
        wanted.extend(waiter.wants(place) for place in range(2))
        before = waiter.gone()
        assert waiter.gone() == before
        began.set()
        assert gone.wait(20)
        assert waiter.gone() != before
        wanted.extend(waiter.wants(place) for place in range(2))
        return items

    batcher = Batcher(work, room=10)
    left, stays = batcher.submit("a", ["x", "y"], [1, 1])
    assert began.wait(20)
    assert left.cancel()
    gone.set()
    assert stays.result(20) == "y"
    assert wanted == [True, True, False, True]
    assert batcher.stop(20)
    assert batcher.waiting == 0


def test_stopping_finishes_what_was_accepted_and_accepts_nothing_more(gate: Gate) -> None:
    batcher = held(gate, at_once=1)
    futures = batcher.submit("a", ["x", "y"], [1, 1])
    assert not batcher.stop(0.05)
    with pytest.raises(StoppedError):
        batcher.submit("a", ["z"], [1])
    gate.open.set()
    assert results(futures) == ["X", "Y"]
    assert batcher.stop(20)


def test_an_empty_request_is_done_at_once(gate: Gate) -> None:
    gate.open.set()
    batcher = Batcher(gate, room=1)
    assert batcher.submit("a", [], []) == []
    assert batcher.stop(20)


def test_workers_take_batches_side_by_side_each_full_by_size(gate: Gate) -> None:
    batcher: Batcher[str, str] = Batcher(gate, room=100, size=4, workers=2)
    batcher.submit("a", ["1", "2", "3", "4"], [2] * 4)
    for _ in range(500):
        if len(gate.batches) == 2:  # both are inside, and the gate is shut
            break
        threading.Event().wait(0.01)
    assert sorted(items for _, items in gate.batches) == [["1", "2"], ["3", "4"]]
    gate.open.set()
    assert batcher.stop(20)


def begun(gate: Gate, count: int) -> list[int]:
    """Wait until so many batches have begun; give how many items each has, least first."""
    for _ in range(500):
        if len(gate.batches) == count:
            break
        threading.Event().wait(0.01)
    return sorted(len(items) for _, items in gate.batches)


@pytest.mark.parametrize(("items", "parts"), [(9, [4, 5]), (4, [2, 2]), (3, [3])])
def test_threads_that_are_free_share_what_one_client_asks(
    items: int, parts: list[int], gate: Gate
) -> None:
    batcher: Batcher[str, str] = Batcher(gate, room=100, workers=2)
    batcher.submit("a", ["x"] * items, [1] * items)
    assert begun(gate, len(parts)) == parts
    gate.open.set()
    assert batcher.stop(20)


def test_a_request_stays_whole_where_batches_are_not_done_side_by_side(gate: Gate) -> None:
    batcher: Batcher[str, str] = Batcher(
        gate, room=100, workers=2, side_by_side=lambda way: way == "a"
    )
    batcher.submit("b", ["x"] * 9, [1] * 9)
    assert begun(gate, 1) == [9]
    gate.open.set()
    assert batcher.stop(20)


def test_a_thread_takes_all_that_waits_where_no_other_is_free(gate: Gate) -> None:
    batcher: Batcher[str, str] = Batcher(gate, room=100, workers=2)
    batcher.submit("a", ["x"], [1])
    assert begun(gate, 1) == [1]
    batcher.submit("a", ["x"] * 9, [1] * 9)
    assert begun(gate, 2) == [1, 9]
    gate.open.set()
    assert batcher.stop(20)


def test_a_worker_waits_for_those_whom_it_just_answered_while_another_is_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman.serving.batcher.FILLING", 1 / 2)  # of 0.8 s
    slow, began = threading.Event(), threading.Event()
    batches: list[list[str]] = []

    def work(_: Hashable, items: list[str], __: Waiter[str]) -> list[str]:
        batches.append(items)
        if "slow" in items:
            began.set()
            assert slow.wait(20)
        elif len(batches) == 1:
            threading.Event().wait(0.8)  # half of which may be waited for the next batch
        return items

    batcher: Batcher[str, str] = Batcher(work, room=100, workers=2)
    first = batcher.submit("a", ["1", "2", "3"], [1] * 3)
    results(first)
    batcher.submit("b", ["slow"], [1])
    assert began.wait(20)
    answers = batcher.submit("a", ["4"], [1])
    threading.Event().wait(0.05)
    answers += batcher.submit("a", ["5"], [1])
    assert results(answers) == ["4", "5"]
    assert batches[2:] == [["4", "5"]]
    slow.set()
    assert batcher.stop(20)
