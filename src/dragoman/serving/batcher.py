"""Requests of many clients through one model: what waits is done together.

Threads run the model, as many as can at the same time. Whenever one is free it takes what waits,
something of every request in turn, so that a long one does not hold up a short one, and does it as
one batch; a large request lets smaller ones that come soon after it go first, and others that are
free share it. Only what is asked for in the same way can be one batch. Answers are given together,
or after a moment if the rest of the batch needs longer; what nobody waits for any more is broken
off. While another one is busy, a thread waits a moment for as much as a batch held of late: who was
just answered may ask again.
"""

import threading
import time
from bisect import insort
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Generic

from dragoman.decoding import Waiter
from dragoman.serving.jobs import Held, Item, Job, Request, Result

FILLING = 1 / 10  # of the time that the last batch took may be waited for the next to fill
FEWEST = 4  # items that are shared out among threads that are free
LATER_SECONDS = 2e-4  # for each unit of size may others come and be done before a request


class OverloadedError(Exception):
    """More waits already than may wait."""


class StoppedError(Exception):
    """Nothing is accepted any more."""


class Batcher(Generic[Item, Result]):
    """A queue with a bound, and the threads that empty it.

    Args:
        work: does a batch: the way it was asked for, the items, and who waits for their results,
            which may be given one by one; those that are not are what it gives back. Where it
            raises, what is left is done item by item, and who waits gets what it raises then.
        room: what may wait, as a sum of sizes.
        at_once: most items in a batch.
        size: with which a batch is full, as a sum of sizes; what comes later waits for it.
        workers: batches done at the same time.
        side_by_side: whether batches asked for in a way are, too; if not, nothing is gained by
            cutting a request for several workers.
    """

    def __init__(
        self,
        work: Callable[[Hashable, list[Item], Waiter[Result]], list[Result]],
        *,
        room: int,
        at_once: int = 64,
        size: int | None = None,
        workers: int = 1,
        side_by_side: Callable[[Hashable], bool] = lambda _: True,
    ) -> None:
        self._work, self.room, self.at_once = work, room, at_once
        self._size, self._side_by_side = room if size is None else size, side_by_side
        self._requests: list[Request[Item, Result]] = []  # by turn
        self._changed = threading.Condition()
        self._stopping = False
        self.waiting = 0  # sum of sizes accepted and not yet done
        self._left = 0  # items cancelled since those in the queue were dropped
        self.batches = 0
        self._busy, self._took = 0, 0.0  # threads with a batch; seconds of the last one
        self._late: deque[int] = deque([1], maxlen=workers)  # items of the last batches
        self._threads = [
            threading.Thread(target=self._run, name=f"dragoman-batches-{number}", daemon=True)
            for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(
        self,
        way: Hashable,
        items: Sequence[Item],
        sizes: Sequence[int],
        *,
        bite: int | None = None,
    ) -> list[Future[Result]]:
        """Accept a request, all of it or nothing.

        A future that is cancelled is left out, or broken off. At most ``bite`` items of it share a
        batch, in order, so that the first results come before the last are begun.

        Raises:
            OverloadedError: there is no room for all items.
            StoppedError: the queue has been stopped.
        """
        jobs: list[Job[Item, Result]] = [
            Job(item, size, Future()) for item, size in zip(items, sizes, strict=True)
        ]
        with self._changed:
            if self._stopping:
                raise StoppedError
            if self.waiting + sum(sizes) > self.room:
                raise OverloadedError
            self.waiting += sum(sizes)
            futures = [job.done for job in jobs]
            for job in jobs:
                job.done.add_done_callback(partial(self._settled, job))
            if 2 * self._left > self._queued():
                self._forget()
            if jobs:
                turn = time.monotonic() + LATER_SECONDS * sum(sizes)
                request = Request(way, deque(jobs), bite or self.at_once, turn)
                insort(self._requests, request)
                self._changed.notify()
        return futures

    def _settled(self, job: Job[Item, Result], done: Future[Result]) -> None:
        """Give back the room of what stands in the queue and is no longer waited for."""
        with self._changed:
            if done.cancelled() and not job.taken:
                self.waiting -= job.size
                self._left += 1

    def _forget(self) -> None:
        """Drop all that was cancelled and still stands in the queue."""
        for request in self._requests:
            request.jobs = deque(job for job in request.jobs if not job.done.cancelled())
        self._drop_empty()
        self._left = 0

    def _drop_empty(self) -> None:
        self._requests = [request for request in self._requests if request.jobs]

    def _queued(self) -> int:
        return sum(len(request.jobs) for request in self._requests)

    def stop(self, seconds: float | None = None) -> bool:
        """Accept nothing more, finish what was accepted, end the thread.

        Returns:
            Whether all was finished within ``seconds``.
        """
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        until = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if until is None else max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while (taken := self._take()) is not None:
            (way, batch), began = taken, time.monotonic()
            self._do(way, batch)
            with self._changed:
                self.waiting -= sum(job.size for job in batch)
                self.batches += 1
                self._busy, self._took = self._busy - 1, time.monotonic() - began
            batch.clear()  # its results are not kept until there is another

    def _take(self) -> tuple[Hashable, list[Job[Item, Result]]] | None:
        """Wait for something to do; None when there will be nothing more."""
        with self._changed:
            while True:
                while not self._requests:
                    if self._stopping:
                        return None
                    self._changed.wait()
                if self._filled():
                    break
            self._busy += 1
            way, batch = self._batch()
            self._late.append(len(batch))
            if self._requests:
                self._changed.notify()  # another thread, which a submission did not wake
            return way, batch

    def _filled(self) -> bool:
        """Wait until there is a full batch, or for long enough; False when others took it all."""
        until = time.monotonic() + FILLING * self._took
        most = min(self.at_once, -(-sum(self._late) // len(self._late)))
        while self._busy and not self._stopping and self._requests:
            left = until - time.monotonic()
            if left <= 0 or self._queued() >= most:
                break  # before sizes are added up, as much may wait
            if sum(job.size for each in self._requests for job in each.jobs) >= self._size:
                break
            self._changed.wait(left)
        return bool(self._requests)

    def _batch(self) -> tuple[Hashable, list[Job[Item, Result]]]:
        """Take a job of each request in turn until a batch is full."""
        way, now = self._requests[0].way, time.monotonic()
        most = self._share(way)
        batch: list[Job[Item, Result]] = []
        turns = deque((each, each.bite) for each in self._requests if each.way == way)
        size = 0
        while turns and len(batch) < most and size < self._size:
            request, bite = turns.popleft()
            job = request.jobs.popleft()
            request.turn = max(request.turn, now)  # what is left of it comes later
            if not job.done.cancelled():
                job.taken = True
                batch.append(job)
                size += job.size
                bite -= 1
            if request.jobs and bite:
                turns.append((request, bite))
        self._drop_empty()
        self._requests.sort()
        return way, batch

    def _share(self, way: Hashable) -> int:
        """Say how many items this thread takes at most: free ones share what there is."""
        free = len(self._threads) - self._busy + 1
        queued = sum(len(each.jobs) for each in self._requests if each.way == way)
        if queued < FEWEST or not self._side_by_side(way):
            return self.at_once
        return min(self.at_once, -(-queued // free))

    def _do(self, way: Hashable, batch: Sequence[Job[Item, Result]]) -> None:
        jobs = [job for job in batch if not job.done.done()]
        if not jobs:
            return
        held = Held(jobs)
        try:
            results = self._work(way, [job.item for job in jobs], held.waiter)
            for job, result in zip(jobs, results, strict=True):
                job.answer(result)
        except BaseException as error:  # whoever asked is told; the thread goes on
            held.give()
            if len(jobs) == 1:
                jobs[0].fail(error)
            else:  # each alone, as what one client asks must not fail for another's fault
                for job in jobs:
                    self._do(way, [job])
            return
