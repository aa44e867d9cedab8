"""What waits in a queue for its batch, and answers that wait for the rest of theirs."""

import time
from collections import deque
from collections.abc import Hashable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from dragoman.decoding import Waiter

Item = TypeVar("Item")
Result = TypeVar("Result")

HELD_SECONDS = 2.0  # for which answers may wait for the rest of their batch: giving them one by one
# while models are run costs a fifth of what can be done


@dataclass(slots=True, eq=False)
class Job(Generic[Item, Result]):
    """One item of a request.

    Args:
        item: what is asked.
        size: what it takes of the room of a queue.
        done: gets the result; never marked as running, so that it can be cancelled all the time.
        taken: whether it is out of the queue.
    """

    item: Item
    size: int
    done: Future[Result]
    taken: bool = False

    def answer(self, result: Result) -> None:
        """Give the result to who waits for it, unless it has it already or has gone."""
        with suppress(InvalidStateError):
            self.done.set_result(result)

    def fail(self, error: BaseException) -> None:
        """Say what went wrong."""
        with suppress(InvalidStateError):
            self.done.set_exception(error)


@dataclass(slots=True, eq=False)
class Request(Generic[Item, Result]):
    """What one client asks.

    Args:
        way: in which it is asked.
        jobs: those that still wait.
        bite: most of them that share a batch.
        turn: when it comes; the earlier one comes first.
    """

    way: Hashable
    jobs: deque[Job[Item, Result]]
    bite: int
    turn: float

    def __lt__(self, other: "Request[Item, Result]") -> bool:
        return self.turn < other.turn


class Held(Generic[Item, Result]):
    """Answers that are there before the rest of their batch.

    Args:
        jobs: the batch; its results are taken by ``waiter``.
    """

    def __init__(self, jobs: Sequence[Job[Item, Result]]) -> None:
        self._jobs, self._results = jobs, deque[tuple[int, Result]]()
        self._until = time.monotonic() + HELD_SECONDS
        self._gone: list[Future[Result]] = []
        for job in jobs:
            job.done.add_done_callback(self._settled)
        self.waiter: Waiter[Result] = Waiter(self._wants, self._take, self._count_gone)

    def give(self) -> None:
        """Give them to who waits for them."""
        with suppress(IndexError):  # several threads may be at it
            while True:
                place, result = self._results.popleft()
                self._jobs[place].answer(result)

    def _wants(self, place: int) -> bool:
        return not self._jobs[place].done.cancelled()

    def _count_gone(self) -> int:  # is asked all the time
        if self._results and time.monotonic() >= self._until:
            self.give()
            self._until = time.monotonic() + HELD_SECONDS
        return len(self._gone)

    def _settled(self, done: Future[Result]) -> None:
        if done.cancelled():
            self._gone.append(done)

    def _take(self, place: int, result: Result) -> None:
        self._results.append((place, result))
