"""Requests of many clients through one model: what waits is done together.

One thread runs the model. Whenever it is free it takes what waits, something of every request in
turn, so that a long one does not hold up a short one, and does it as one batch. Only what is asked
for in the same way can be one batch.
"""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class OverloadedError(Exception):
    """More waits already than may wait."""


class StoppedError(Exception):
    """Nothing is accepted any more."""


@dataclass(frozen=True, slots=True)
class _Job(Generic[Item, Result]):
    way: Hashable
    item: Item
    size: int
    done: Future[Result]


class Batcher(Generic[Item, Result]):
    """A queue with a bound, and the thread that empties it.

    Args:
        work: does a batch: the way it was asked for, and the items; one result for each. Whatever
            it raises, those who wait for the batch get.
        room: what may wait, as a sum of sizes.
        at_once: most items in a batch.
        size_at_once: sum of sizes from which on nothing is added to a batch. What has begun cannot
            be broken off, so a batch should not take long.
    """

    def __init__(
        self,
        work: Callable[[Hashable, list[Item]], list[Result]],
        *,
        room: int,
        at_once: int = 64,
        size_at_once: int = 20_000,
    ) -> None:
        self._work, self.room = work, room
        self.at_once, self.size_at_once = at_once, size_at_once
        self._requests: deque[deque[_Job[Item, Result]]] = deque()
        self._changed = threading.Condition()
        self._stopping = False
        self.waiting = 0  # sum of sizes accepted and not yet done
        self.batches = 0
        self._thread = threading.Thread(target=self._run, name="dragoman-batches", daemon=True)
        self._thread.start()

    def submit(
        self, way: Hashable, items: Sequence[Item], sizes: Sequence[int]
    ) -> list[Future[Result]]:
        """Accept a request, all of it or nothing.

        A future that is cancelled before its turn is left out.

        Raises:
            OverloadedError: there is no room for all items.
            StoppedError: the queue has been stopped.
        """
        jobs: deque[_Job[Item, Result]] = deque(
            _Job(way, item, size, Future()) for item, size in zip(items, sizes, strict=True)
        )
        with self._changed:
            if self._stopping:
                raise StoppedError
            if self.waiting + sum(sizes) > self.room:
                raise OverloadedError
            self.waiting += sum(sizes)
            futures = [job.done for job in jobs]
            if jobs:
                self._requests.append(jobs)
                self._changed.notify()
        return futures

    def stop(self, seconds: float | None = None) -> bool:
        """Accept nothing more, finish what was accepted, end the thread.

        Returns:
            Whether all was finished within ``seconds``.
        """
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (batch := self._take()) is not None:
            self._do([job for job in batch if job.done.set_running_or_notify_cancel()])
            with self._changed:
                self.waiting -= sum(job.size for job in batch)
                self.batches += 1
            batch.clear()  # its results are not kept until there is another

    def _take(self) -> list[_Job[Item, Result]] | None:
        """Wait for something to do; None when there will be nothing more."""
        with self._changed:
            while not self._requests:
                if self._stopping:
                    return None
                self._changed.wait()
            way = self._requests[0][0].way
            batch: list[_Job[Item, Result]] = []
            others: deque[deque[_Job[Item, Result]]] = deque()
            size = 0
            while self._requests and len(batch) < self.at_once and size < self.size_at_once:
                request = self._requests.popleft()
                if request[0].way != way:
                    others.append(request)
                    continue
                batch.append(request.popleft())
                size += batch[-1].size
                if request:
                    self._requests.append(request)
            self._requests.extendleft(reversed(others))  # they came first
            return batch

    def _do(self, batch: list[_Job[Item, Result]]) -> None:
        if not batch:
            return
        try:
            results = self._work(batch[0].way, [job.item for job in batch])
        except BaseException as error:  # whoever asked is told; the thread goes on
            for job in batch:
                job.done.set_exception(error)
            return
        for job, result in zip(batch, results, strict=True):
            job.done.set_result(result)
