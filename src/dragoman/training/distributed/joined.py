"""Several processes joined by ``torch.distributed``.

They walk in step, so one that stops would leave the others waiting; ``guard`` ends them all, each
with a message that names who is missing.
"""

import os
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Literal

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import (
    PrefixStore,  # pyright: ignore[reportPrivateImportUsage]  # documented, but not in __all__
    Store,  # pyright: ignore[reportPrivateImportUsage]  # torch has them nowhere else
    rendezvous,  # pyright: ignore  # as above
)
from torch.distributed.elastic.multiprocessing.errors import get_error_handler

from dragoman.errors import DragomanError
from dragoman.training.distributed.group import Alone, Group

BUCKET_BYTES = 32 * 2**20
_RELEASE_SECONDS = 0.1  # far more than Gloo's threads need to let go of the last tensors
_LOOK_SECONDS = 2.0  # how long the others get to say that they, too, are only waiting
_LOST = ("gloo/transport", "onnection closed by peer", "onnection reset", "imed out", "NCCL")
_HINT = "the same command goes on from the newest checkpoint"


class Joined:
    """Several processes; made by ``join_group``.

    Args:
        store: small texts that outlive a process that ends.
        device: where this process computes.
        timeout_seconds: how long one waits for another.
    """

    def __init__(self, store: Store, device: torch.device, timeout_seconds: float) -> None:
        self.rank, self.size, self.device = dist.get_rank(), dist.get_world_size(), device
        self._store, self._timeout = store, timeout_seconds

    @property
    def leader(self) -> bool:
        """Whether this is process 0."""
        return self.rank == 0

    def sum_(self, tensors: Sequence[Tensor]) -> None:
        """Add up over all processes, in buckets of ``BUCKET_BYTES``; every process gets equal bits.

        The order of additions depends only on shapes and on the number of processes, so that a run
        repeated with as many processes gives the same bits.
        """
        for flat in _flattened(tensors):
            dist.all_reduce(flat)  # pyright: ignore[reportUnknownMemberType]  # torch's stub

    def copy_(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors by those of the leader."""
        for flat in _flattened(tensors):
            dist.broadcast(flat, src=0)

    def agree(self, values: Tensor, by: Literal["sum", "max"] = "sum") -> Tensor:
        """Give the sums or the largest of a few numbers over all processes."""
        agreed = values.to(self.device, copy=True)
        operation = dist.ReduceOp.SUM if by == "sum" else dist.ReduceOp.MAX
        dist.all_reduce(agreed, op=operation)  # pyright: ignore[reportUnknownMemberType]  # torch has no types
        return agreed.to(values.device)

    def tell(self, text: str) -> str:
        """Give the leader's text to all, as UTF-8."""
        data = _bytes(text).to(self.device)
        length = torch.tensor([len(data)], device=self.device)
        dist.broadcast(length, src=0)
        if not self.leader:
            data = torch.empty(int(length), dtype=torch.uint8, device=self.device)
        if len(data):
            dist.broadcast(data, src=0)
        return _text(data)

    def collect(self, text: str) -> list[str]:
        """Give everyone's text to all, in the order of ranks, as UTF-8."""
        data = _bytes(text).to(self.device)
        mine = torch.zeros(self.size, dtype=torch.int64)
        mine[self.rank] = len(data)
        lengths = [int(length) for length in self.agree(mine)]
        padded = torch.zeros(max(*lengths, 1), dtype=torch.uint8, device=self.device)
        padded[: len(data)] = data
        everyone = [torch.empty_like(padded) for _ in lengths]
        dist.all_gather(everyone, padded)  # pyright: ignore[reportUnknownMemberType]  # torch has no types
        return [_text(part[:length]) for part, length in zip(everyone, lengths, strict=True)]

    def wait(self) -> None:
        """Go on when all have come here."""
        self.agree(torch.zeros(1))

    @contextmanager
    def guard(self) -> Generator[None]:
        """End every process soon after one ends with an error.

        ``torchrun`` ends the others as soon as one ends with a status that is not 0, and shows the
        error that came first; it is written where ``torchrun`` looks. One that waits for another in
        vain ends after the time given to ``join_group``.

        Raises:
            DragomanError: another process has stopped or hangs; says which.
        """
        record = get_error_handler()
        record.initialize()
        try:
            yield
        except Exception as error:
            shown = self._explain(error)
            record.record_exception(shown)
            if shown is not error:
                self._close()
                raise shown from None
            # torchrun compares whole seconds; those who notice the end must not share this one.
            time.sleep(1.01 - time.time() % 1)
            self._close()
            raise
        except BaseException:
            self._close()
            raise

    def leave(self) -> None:
        """Wait for the others, then close the connections; the last thing inside ``guard``."""
        self.wait()
        _destroy()

    def _explain(self, error: Exception) -> Exception:
        """Make an error that names who is missing out of one that says only that someone is."""
        ours = f"process {self.rank + 1} of {self.size}"
        if not (isinstance(error, RuntimeError) and _says_lost(error)):
            first = str(error).partition("\n")[0]
            self._say(f"{type(error).__name__}: {first}"[:200])
            return error
        self._say("")
        ended, silent = self._others()
        missing = [f"process {rank + 1} ended with {text}" for rank, text in ended.items()]
        if not missing:
            names = ", ".join(str(rank + 1) for rank in silent) or "another"
            missing = [f"process {names} was killed or hangs (limit {self._timeout:g} s)"]
        return DragomanError(f"{ours}: waited for one that is gone: {'; '.join(missing)}; {_HINT}")

    def _say(self, text: str) -> None:
        try:
            self._store.set(f"end/{self.rank}", text)
        except (RuntimeError, OSError):  # its keeper is gone as well
            return

    def _others(self) -> tuple[dict[int, str], list[int]]:
        """Say who ended with an error of its own, and who says nothing at all."""
        until = time.monotonic() + _LOOK_SECONDS
        ended: dict[int, str] = {}
        silent = [rank for rank in range(self.size) if rank != self.rank]
        try:
            while silent and time.monotonic() < until:
                for rank in [r for r in silent if self._store.check([f"end/{r}"])]:
                    silent.remove(rank)
                    text = self._store.get(f"end/{rank}").decode("utf-8", "replace")
                    ended.update({rank: text} if text else {})
                time.sleep(0.02)
        except (RuntimeError, OSError):
            return ended, silent
        return ended, silent

    def _close(self) -> None:
        """Close the connections, so that the others notice at once."""
        if dist.is_initialized() and self.device.type == "cpu":  # NCCL's could block
            _destroy()


def join_group(device: torch.device | str = "cpu", *, timeout_seconds: float = 600.0) -> Group:
    """Join the other processes that ``torchrun`` started; alone when it did not.

    Args:
        device: ``cpu`` or ``cuda``; each process of a machine takes the GPU of its local rank.
        timeout_seconds: how long one process waits for another before it takes it for lost; a
            validation or a save by one of them must be shorter.

    Raises:
        DragomanError: there are more processes than GPUs, the others do not come, or this PyTorch
            cannot join processes.
    """
    device = torch.device(device)
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or "RANK" not in os.environ:
        return Alone(device)
    if not dist.is_available():
        raise DragomanError("this PyTorch has no torch.distributed; run one process without it")
    if device.type == "cuda":
        local = int(os.environ.get("LOCAL_RANK", "0"))
        if local >= torch.cuda.device_count():
            raise DragomanError(
                f"process {local + 1} of this machine has no GPU, there are "
                f"{torch.cuda.device_count()}; start at most as many processes as GPUs"
            )
        device = torch.device("cuda", local)
        torch.cuda.set_device(device)
    timeout = timedelta(seconds=timeout_seconds)
    try:
        store, rank, size = next(rendezvous("env://", timeout=timeout))
        dist.init_process_group(
            "nccl" if device.type == "cuda" else "gloo",
            store=PrefixStore("collectives", store),
            rank=rank,
            world_size=size,
            timeout=timeout,
            device_id=device if device.type == "cuda" else None,
        )
    except (RuntimeError, ValueError, OSError) as error:
        raise DragomanError(
            f"the other processes cannot be reached: {error}; start all with torchrun"
        ) from None
    return Joined(PrefixStore("ends", store), device, timeout_seconds)


def buckets(tensors: Sequence[Tensor], limit: int = BUCKET_BYTES) -> Iterator[list[Tensor]]:
    """Put neighbours of one dtype together, up to ``limit`` bytes; a larger one stays by itself."""
    bucket: list[Tensor] = []
    filled = 0
    for tensor in tensors:
        full = filled + tensor.nbytes > limit
        if bucket and (full or tensor.dtype != bucket[0].dtype):
            yield bucket
            bucket, filled = [], 0
        bucket.append(tensor)
        filled += tensor.nbytes
    if bucket:
        yield bucket


def _destroy() -> None:
    """Close the connections.

    A thread of Gloo may still hold a tensor that has been exchanged. To let go of it, it takes the
    lock of the interpreter, which aborts the process once that has begun to end; split weights keep
    such threads alive beyond the group.
    """
    time.sleep(_RELEASE_SECONDS)
    dist.destroy_process_group()


@torch.no_grad()
def _flattened(tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """Give each bucket as one vector; what is done to it is done to its tensors."""
    for bucket in buckets(tensors):
        if len(bucket) == 1 and bucket[0].is_contiguous():
            yield bucket[0].view(-1)
            continue
        flat = torch.cat([tensor.reshape(-1) for tensor in bucket])
        yield flat
        start = 0
        for tensor in bucket:
            tensor.copy_(flat[start : start + tensor.numel()].view_as(tensor))
            start += tensor.numel()


def _says_lost(error: RuntimeError) -> bool:
    return isinstance(error, dist.DistError) or any(mark in str(error) for mark in _LOST)


def _bytes(text: str) -> Tensor:
    return torch.tensor(list(text.encode("utf-8")), dtype=torch.uint8)


def _text(data: Tensor) -> str:
    return bytes(data.cpu().numpy()).decode("utf-8")
