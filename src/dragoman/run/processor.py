"""How fast this machine's processor does what a training is made of, timed in about a second.

A plan counts an update's products and the bytes that all else moves. Here products of just these
sizes are timed, and a few of the other operators with their traffic counted the same way. Nothing
is kept: the next plan times again.
"""

import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dragoman.errors import ConfigError
from dragoman.inspection import Device, Format, Product, Workload
from dragoman.nn import dropout_mask
from dragoman.run.traffic import Traffic
from dragoman.training import HALVES, Kernels, available_memory, multiplying

LARGEST = 2_048  # to which sides of timed matrices are cut; larger ones are as fast
TOGETHER = 256  # most products of one call
ROUNDS = 3  # of which the fastest counts
ROWS = 4_096  # most rows of what is timed beside products
TINY = 200  # operators on one number, to time what each takes by itself
RESERVED = 0.4 * 2**30  # bytes of PyTorch, its libraries and a little text, before a training
ROUNDING = 1.3  # of glibc, in runs beside those of benchmarks/plan.py: 1.0 to 1.4
KEPT = 0.9  # of small pieces, by glibc after an update, with batches of several shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorSpeed:
    """What was timed.

    Args:
        products: operations a second over a workload's own products.
        bandwidth: bytes a second that other operators move.
        operator: seconds that every operator takes by itself.
        took: seconds of timing.
    """

    products: float
    bandwidth: float
    operator: float
    took: float


def processor_speed(work: Workload, kernels: Kernels, *, width: int) -> ProcessorSpeed:
    """Time what a workload is made of, with the threads that PyTorch has now.

    Args:
        work: its products are timed.
        kernels: how a run here computes.
        width: of a position's vector, for what is not a product.
    """
    begun, dtype = time.perf_counter(), HALVES.get(kernels.precision, torch.float32)
    with multiplying(kernels.products):
        seconds = _product_seconds(work.products, dtype)
    return ProcessorSpeed(
        products=sum(work.products.values()) / seconds,
        bandwidth=_bandwidth(min(work.slots, ROWS), width, dtype),
        operator=_operator_seconds(),
        took=time.perf_counter() - begun,
    )


def processor_device(speed: ProcessorSpeed, precision: Format, threads: int) -> Device:
    """Describe this machine's processor as timed.

    Raises:
        ConfigError: the system does not say how much memory it has.
    """
    memory = available_memory(torch.device("cpu"))
    if memory is None:
        raise ConfigError(
            "--hardware", "this system does not say how much memory is free", "name another device"
        )
    return Device(
        title="1 thread of this machine" if threads == 1 else f"{threads} threads of this machine",
        memory=memory,
        bandwidth=speed.bandwidth,
        link=0,
        peak={precision: speed.products},
        utilization=None,
        utilization_source=f"none: products and all else as timed here in {speed.took:.1f} s",
        operator_seconds=speed.operator,
        reserved=RESERVED,
        rounding=ROUNDING,
        kept=KEPT,
        source="speed timed just now; memory is what is free now",
    )


@contextmanager
def threads_of(count: int) -> Generator[None]:
    """Compute with so many threads while the block runs.

    Raises:
        ConfigError: this machine has fewer.
    """
    most = os.cpu_count() or 1
    if count > most:
        raise ConfigError("--hardware", f"this machine has {most} threads", f"try cpu:{most}")
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _product_seconds(products: Mapping[Product, float], dtype: torch.dtype) -> float:
    """Say how long all products of a batch take, from smaller ones of the same form."""
    speeds: dict[Product, float] = {}
    seconds = 0.0
    for (count, *sides), operations in products.items():
        n, k, m = (min(side, LARGEST) for side in sides)
        cut = (min(count, TOGETHER), n, k, m)
        if cut not in speeds:
            speeds[cut] = _product_speed(cut, dtype)
        seconds += operations / speeds[cut]
    return seconds


def _product_speed(sizes: Product, dtype: torch.dtype) -> float:
    """Time products of given sizes; operations a second."""
    count, n, k, m = sizes
    shape = () if count == 1 else (count,)
    a = torch.randn(*shape, n, k).to(dtype)
    b = torch.randn(*shape, m, k).to(dtype).transpose(-2, -1)  # as weights (out, in) lie
    return 2 * count * n * k * m / _seconds(lambda: a @ b)


def _bandwidth(rows: int, width: int, dtype: torch.dtype) -> float:
    """Time what stands between products: norm, activation, dropout, transposing, softmax."""
    x = torch.randn(rows, width).to(dtype).requires_grad_()
    norm = nn.LayerNorm(width).to(dtype)

    def work() -> None:
        y = torch.relu(norm(x))
        y = y * dropout_mask(y, 0.1)
        y = _crossed(x + y)
        y.softmax(-1).sum().backward()  # pyright: ignore[reportUnknownMemberType]  # torch's stub

    with Traffic() as traffic:
        work()
    return traffic.moved / _seconds(work)


def _crossed(x: Tensor) -> Tensor:
    """Swap positions and heads of (rows, width), as attention does, in memory."""
    heads = x.view(x.size(0), 1, x.size(1)) if x.size(1) % 4 else x.view(x.size(0), 4, -1)
    return heads.transpose(0, 1).contiguous()


def _operator_seconds() -> float:
    one = torch.ones(1, requires_grad=True)

    def work() -> None:
        for _ in range(TINY):
            torch.add(one, 1.0)

    return _seconds(work) / TINY


def _seconds(work: Callable[[], object]) -> float:
    """Time some work: the least of several, after one that warms up."""
    work()
    found: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)
