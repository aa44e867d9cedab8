"""Batches prepared by a thread while the caller computes.

The thread reads the batches from a position of its own, so that what comes, and in which order, is
what the batches themselves would give: nothing is drawn from a generator that two threads share.
"""

import atexit
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Generic, Protocol, Self, cast
from weakref import finalize, ref

import torch
from torch import Tensor

from dragoman.data.batching import B

SETTLING = 0.05  # seconds; Python says that a thread has ended a moment before the system does
DEPTH = 4  # batches ready at once; more gain nothing unless making one takes very unequal time


class BatchSource(Protocol[B]):
    """Batches without end that can be taken up anywhere: ``Batches``, prefetched or not."""

    @property
    def epoch(self) -> int:
        """The epoch of the next batch, from 1."""
        ...

    @property
    def batches_in_epoch(self) -> int:
        """Batches of an epoch, the same in each."""
        ...

    def next_batch(self) -> B:
        """Give the next batch."""
        ...

    def whole_epoch(self) -> Iterator[B]:
        """Give each batch of the current epoch once, without moving on."""
        ...

    def largest(self, count: int = 2) -> Sequence[B]:
        """Make the batches that need most memory in any epoch, without moving on."""
        ...

    def state(self) -> dict[str, int]:
        """Say where the next batch is."""
        ...

    def restore(self, state: Mapping[str, int]) -> None:
        """Go to where ``state`` was taken."""
        ...


class SeekableBatches(BatchSource[B], Protocol[B]):
    """Batches that can be read from two places at once."""

    def at(self, state: Mapping[str, int]) -> BatchSource[B]:
        """Give the same batches with a position of their own."""
        ...


class Prefetched(Generic[B]):
    """The same batches in the same order, prepared ahead.

    The thread starts with the first batch that is taken, and ends with ``close``, the end of a
    ``with`` block, or when nobody holds this object any more.

    Args:
        batches: what to prepare, from where it stands; it does not move itself.
        depth: the most batches that lie ready.
        pin: put tensors where a GPU can fetch them by itself; without CUDA it does nothing.

    Raises:
        ValueError: ``depth`` is below 1.
    """

    def __init__(
        self, batches: SeekableBatches[B], *, depth: int = DEPTH, pin: bool = False
    ) -> None:
        if depth < 1:
            raise ValueError(f"depth: {depth} batches ahead are none; at least 1")
        self._batches, self._depth = batches, depth
        self._pin = pin and torch.cuda.is_available()
        self._state = batches.state()
        self._worker: _Worker[B] | None = None

    @property
    def epoch(self) -> int:
        """The epoch of the next batch, from 1."""
        return self._state["epoch"]

    @property
    def batches_in_epoch(self) -> int:
        """Batches of an epoch, the same in each."""
        return self._batches.batches_in_epoch

    def next_batch(self) -> B:
        """Give the next batch; wait for it when it is not ready.

        Raises:
            Exception: what went wrong while it was made. The position stays before it.
        """
        if self._worker is None:
            device = torch.cuda.current_device() if self._pin else None
            self._worker = _Worker(self._batches.at(self._state), self._depth, device)
            self._stop = finalize(self, self._worker.stop)
            # A thread inside PyTorch while Python ends would abort the program.
            _settle_at_last()
            atexit.register(_end, ref(self._worker))
        made = self._worker.take()
        if isinstance(made, BaseException):
            self.close()
            raise made
        batch, self._state = made
        return batch

    def whole_epoch(self) -> Iterator[B]:
        """Give each batch of the current epoch once, without moving on and not ahead."""
        return self._batches.at(self._state).whole_epoch()

    def largest(self, count: int = 2) -> Sequence[B]:
        """Make the batches that need most memory in any epoch; see ``Batches.largest``."""
        return self._batches.largest(count)

    def state(self) -> dict[str, int]:
        """Say where the next batch to be taken is, however many are ready."""
        return dict(self._state)

    def restore(self, state: Mapping[str, int]) -> None:
        """Go to where ``state`` was taken; what was prepared is thrown away.

        Raises:
            CheckpointError: there is no such place, since the data or the budget was another.
        """
        self._state = self._batches.at(state).state()
        self.close()

    def close(self) -> None:
        """End the thread; what it prepared is thrown away. Another batch would start it again."""
        if self._worker is not None:
            self._stop()
            self._worker.thread.join()
            self._worker = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Worker(Generic[B]):
    """The thread and what it shares with the caller; it does not know the caller.

    Both queues are ``SimpleQueue`` since ``stop`` may run while garbage is collected, in any thread
    and inside any call: its ``put`` is the one that allows this.

    Args:
        batches: are moved by the thread.
        depth: the most batches that lie ready.
        device: the GPU to pin memory for, or None.
    """

    def __init__(self, batches: BatchSource[B], depth: int, device: int | None) -> None:
        self._batches, self._device, self._stopped = batches, device, False
        self._free: SimpleQueue[None] = SimpleQueue()
        self._ready: SimpleQueue[tuple[B, dict[str, int]] | BaseException] = SimpleQueue()
        for _ in range(depth):
            self._free.put(None)
        self.thread = Thread(target=self._work, name="batches", daemon=True)
        self.thread.start()

    def take(self) -> tuple[B, dict[str, int]] | BaseException:
        """Wait for a batch and the place after it, or for why there is none."""
        made = self._ready.get()
        self._free.put(None)
        return made

    def stop(self) -> None:
        """Tell the thread to end, without waiting."""
        self._stopped = True
        self._free.put(None)

    def _work(self) -> None:
        try:
            if self._device is not None:
                torch.cuda.set_device(self._device)  # a new thread has the first one
            while True:
                self._free.get()
                if self._stopped:
                    return
                batch = self._batches.next_batch()
                batch = batch if self._device is None else _pinned(batch)
                self._ready.put((batch, self._batches.state()))
        except BaseException as error:  # the caller waits for whatever comes
            self._ready.put(error)


@cache
def _settle_at_last() -> None:
    """Let threads be gone for the system, too, after all that is registered later has been done."""
    atexit.register(time.sleep, SETTLING)


def _end(worker: "ref[_Worker[Any]]") -> None:
    """Stop a thread at the end of the program, and wait for it."""
    found = worker()
    if found is not None:
        found.stop()
        found.thread.join(timeout=10)


def _pinned(batch: B) -> B:  # pyright: ignore[reportInvalidTypeVarUse]  # says it stays of its kind
    """Copy the tensors of a batch to memory that a GPU reads directly."""
    record = cast(Any, batch)  # Any: a dataclass, as every batch is
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
    return replace(record, **{name: tensor.pin_memory() for name, tensor in tensors.items()})
