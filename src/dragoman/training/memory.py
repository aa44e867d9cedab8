"""How much memory there is, and how much some work needs at its peak.

Linux promises more memory than it has and then kills the process that uses it, so on a processor
both are found out before the work is done.
"""

import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "bad_alloc")


def available_memory(device: torch.device, *, root: Path = Path("/")) -> int | None:
    """Say how many bytes this process can still take on a device.

    On a processor that is the least of what the system has free, what the memory limits of control
    groups leave (a container's, version 1 or 2) and what the limit on addresses leaves.

    Args:
        device: cpu or cuda.
        root: of the file system that describes processes.

    Returns:
        Bytes; None where the system does not say.
    """
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    if device.type != "cpu":
        return None
    found = [*_of_system(root), *_of_groups(root), *_of_addresses(root)]
    return max(0, min(found)) if found else None


def peak_memory(work: Callable[[], object], device: torch.device) -> int:
    """Do some work; say how many bytes it held at most, beside what was there before.

    On a GPU its allocator tells. On a processor the tensors are counted, which leaves out what a
    kernel takes and gives back by itself.
    """
    if device.type == "cuda":
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        work()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    with TensorBytes() as counted:
        work()
    return counted.peak


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there was no memory; PyTorch says it in several ways."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in NO_MEMORY)


def readable(number: float) -> str:
    """Say a number of bytes for people: in MiB, or in GiB when there are many."""
    if number >= 2**30:
        return f"{number / 2**30:.1f} GiB"
    return f"{max(number / 2**20, 0.1):.1f} MiB"


class TensorBytes(TorchDispatchMode):
    """Counts the bytes of tensors that are made inside the block and still held by something.

    Args:
        below: bytes from which on a tensor's memory is not counted; unset means all are.
    """

    def __init__(self, *, below: int | None = None) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  # torch's stub
        self.now = self.peak = 0
        self.below = below
        self._known: dict[int, weakref.ref[Any]] = {}  # Any: storages have no public type

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],  # Any: operators take and give anything
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an operator, and take note of the memory of what it gives."""
        result = func(*args, **(kwargs or {}))
        new = [one for one in _storages(result) if _key(one) not in self._known]
        if new:
            given = {_key(one) for one in _storages((args, kwargs))}
            for storage in new:
                if _key(storage) not in given:
                    self._hold(storage)
        return result

    def _hold(self, storage: torch.UntypedStorage) -> None:
        key, size = _key(storage), storage.nbytes()
        if key in self._known or not size or (self.below is not None and size >= self.below):
            return

        def let_go(_: object) -> None:
            self.now -= size
            del self._known[key]

        self._known[key] = weakref.ref(storage, let_go)
        self.now += size
        self.peak = max(self.peak, self.now)


def _key(storage: torch.UntypedStorage) -> int:
    """Tell storages apart: by address, or, on the meta device, which has none, by identity."""
    return storage.data_ptr() or storage._cdata  # pyright: ignore[reportPrivateUsage]  # no other


def _storages(values: object) -> Iterator[torch.UntypedStorage]:
    """Give the memory of all tensors among ``values``; of a split one, this process's share."""
    if isinstance(values, Tensor):
        own = getattr(values, "_local_tensor", values)
        if type(own) in (Tensor, nn.Parameter) and own.layout == torch.strided:
            yield own.untyped_storage()
    elif isinstance(values, dict):
        yield from _storages(list(cast("dict[object, object]", values).values()))
    elif isinstance(values, list | tuple):  # PyTorch's own walk takes ten times as long
        for value in cast("Iterable[object]", values):
            yield from _storages(value)


def _of_system(root: Path) -> Iterator[int]:
    """What is free or can be made free; all there is where the system does not say that."""
    for line in _read(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024
            return
    if sys.platform == "darwin":
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_groups(root: Path) -> Iterator[int]:
    """What the control groups of this process, and those around them, leave."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, limit, used, cache = "sys/fs/cgroup", "memory.max", "memory.current", ""
        elif "memory" in controllers.split(","):
            top, limit, used = "sys/fs/cgroup/memory", *_VERSION_1
            cache = "total_"
        else:
            continue
        group = Path(path.lstrip("/"))
        for folder in (group, *group.parents):  # the last is the top, all that a container sees
            place = root / top / folder
            bound, taken = _read(place / limit).strip(), _read(place / used).strip()
            if bound.isdigit() and taken.isdigit():
                yield int(bound) - int(taken) + _cached(place / "memory.stat", cache)


_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes")


def _cached(file: Path, prefix: str) -> int:
    """Read how much a group counts that is only kept while nobody needs room: old file pages."""
    for line in _read(file).splitlines():
        name, _, number = line.partition(" ")
        if name == f"{prefix}inactive_file":
            return int(number)
    return 0


def _of_addresses(root: Path) -> Iterator[int]:
    """What ``ulimit -v`` leaves."""
    if sys.platform == "win32":
        return
    import resource  # exists on Unix alone

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _read(root / "proc/self/statm").split()
    if limit != resource.RLIM_INFINITY and pages:
        yield limit - int(pages[0]) * os.sysconf("SC_PAGE_SIZE")


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""
