import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs fastapi: the extra serve")

from dragoman.serving import Limits, Served
from dragoman.serving.desk import Desk, RefusedError
from dragoman.serving.visitors import Visitors
from tests.fixtures import tiny_translator


@pytest.fixture(scope="module")
def desk() -> Desk:
    return Desk([Served("tiny", tiny_translator(), Limits())], Limits(seconds=0.2), Visitors())


def waited(desk: Desk, futures: list[Future[Any]], act: Callable[[], None]) -> list[Any]:
    """Wait for futures while something happens in another thread."""

    async def run() -> list[Any]:
        thread = threading.Timer(0.02, act)
        thread.start()
        try:
            return await asyncio.wait_for(desk.answers(futures), 20)
        finally:
            thread.join()

    return asyncio.run(run())


def test_answers_come_in_order_whatever_is_done_first(desk: Desk) -> None:
    futures = [Future[int]() for _ in range(5)]
    futures[2].set_result(2)

    def act() -> None:
        for number in (4, 0, 3, 1):
            futures[number].set_result(number)

    assert waited(desk, futures, act) == [0, 1, 2, 3, 4]


def test_nothing_is_answered_at_once(desk: Desk) -> None:
    assert waited(desk, [], lambda: None) == []


def test_what_is_done_already_is_answered(desk: Desk) -> None:
    future = Future[str]()
    future.set_result("done")
    assert waited(desk, [future], lambda: None) == ["done"]


def test_the_first_failure_is_told_and_the_rest_is_left_undone(desk: Desk) -> None:
    futures = [Future[int]() for _ in range(3)]
    with pytest.raises(RefusedError, match="this is wrong"):
        waited(desk, futures, lambda: futures[1].set_exception(ValueError("this is wrong")))
    assert [future.cancelled() for future in futures] == [True, False, True]


def test_what_takes_too_long_is_given_up(desk: Desk) -> None:
    futures = [Future[int]() for _ in range(2)]
    with pytest.raises(RefusedError, match=r"not done within 0\.2 s"):
        waited(desk, futures, lambda: futures[0].set_result(0))
    assert [future.cancelled() for future in futures] == [False, True]


async def cancelled(waiting: Awaitable[Any]) -> None:
    task = asyncio.ensure_future(waiting)
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_who_no_longer_waits_leaves_the_rest_undone(desk: Desk) -> None:
    futures = [Future[int]() for _ in range(2)]
    asyncio.run(cancelled(desk.answers(futures)))
    assert all(future.cancelled() for future in futures)
