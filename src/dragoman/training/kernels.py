"""Which of several ways to compute the same numbers is fastest here, found by measuring.

A choice is measured once, when a run begins, and kept with the run, so that going on with it
computes as before. ``deterministic`` takes the same ways everywhere instead.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from dragoman.configfile import record
from dragoman.nn import AttentionKernel, ChosenAttention, MultiHeadAttention, fused_attention
from dragoman.training.weights import HALVES, Precision

LENGTHS = (16, 32, 64, 128, 256, 512)  # at which two attention kernels are compared
ROUNDS = (3, 7)  # least and most, of which the fastest counts
BRIEF = 0.2  # seconds of a comparison, after which the least are enough
ROWS = 2_048  # positions in a batch of the measurements
REMEMBERED = "32"  # products whose code oneDNN keeps
MOST_ROWS = 4_096  # in the products that are measured
CLEARLY = 1.1  # times that another library for products must be faster to be chosen
WORTH = 1.3  # times that products in bf16 must be faster than in fp32 to be chosen
FEW_ROWS = 512  # with which they are tried first
ROUNDING = 2e-6  # largest relative error of a product of 1,024 terms that still counts as float32


@record
class Kernels:
    """How a run computes.

    Args:
        precision: of forward and backward.
        batched_attention: longest sentence whose attention runs as batched products.
        products: PyTorch's float32 precision of matrix products; on a processor ``medium`` may only
            mean another library with the same rounding, which is then the faster one.
    """

    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    batched_attention: Annotated[int, Field(ge=0)] = 0
    products: Literal["highest", "medium"] = "highest"


def choose_kernels(
    model: nn.Module,
    precision: Precision,
    device: torch.device,
    *,
    deterministic: bool,
    tokens: int = 4_096,
) -> Kernels:
    """Choose by measuring, which takes a second or a few; unless ``deterministic``.

    Args:
        model: tells the widths that matter.
        precision: as asked; ``auto`` is measured.
        device: where the model computes.
        deterministic: measure nothing: float32 unless asked otherwise, and PyTorch's own kernels.
        tokens: rows of the products, as many as a batch has positions.
    """
    if deterministic:
        return Kernels(precision="fp32" if precision == "auto" else precision)
    shapes, rows = product_shapes(model), min(tokens, MOST_ROWS)
    products = _fastest_products(shapes, rows, device)
    if precision == "auto":
        chosen = _fastest_precision(shapes, rows, products, device)
    else:
        chosen = precision
    products = products if chosen == "fp32" else "highest"
    heads = [part for part in model.modules() if isinstance(part, MultiHeadAttention)]
    return Kernels(
        precision=chosen,
        batched_attention=_batched_up_to(heads[0], chosen, products, device) if heads else 0,
        products=products,
    )


def product_shapes(model: nn.Module, most: int = 3) -> list[tuple[int, int]]:
    """Give the shapes (out, in) of the matrices that a model multiplies with most often."""
    found = Counter(
        (part.out_features, part.in_features)
        for part in model.modules()
        if isinstance(part, nn.Linear)
    )
    return [shape for shape, _ in found.most_common(most)] or [(1024, 256)]


def forget_products() -> None:
    """Keep oneDNN from remembering the code it makes for every shape of product but the last few.

    Sentences make products of thousands of shapes, and memory would grow by gigabytes, for no gain
    in speed that could be measured. The last few must stay, as the fused attention makes equal
    small products over and over. It reads its environment at its first product, so this comes
    before; what a user has set there stays.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", REMEMBERED)  # oneDNN's own
    os.environ.setdefault("LRU_CACHE_CAPACITY", REMEMBERED)  # that of its wrapper in PyTorch


@contextmanager
def using(kernels: Kernels, model: nn.Module) -> Generator[None]:
    """Compute as chosen while the block runs, in this model and in PyTorch's products."""
    parts = [part for part in model.modules() if isinstance(part, MultiHeadAttention)]
    plain = [part for part in parts if part.kernel is fused_attention]
    for part in plain:
        part.kernel = ChosenAttention(kernels.batched_attention)
    try:
        with multiplying(kernels.products):
            yield
    finally:
        for part in plain:
            part.kernel = fused_attention


@contextmanager
def multiplying(how: Literal["highest", "medium"]) -> Generator[None]:
    """Set PyTorch's float32 precision of matrix products while the block runs."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(how)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def repeatable(wanted: bool, device: torch.device) -> Generator[None]:
    """Allow PyTorch only what gives the same bits every time, while the block runs.

    Raises:
        RuntimeError: inside the block, by an operation that has no such form on the device.
    """
    if not wanted:
        yield
        return
    if device.type == "cuda":  # cuBLAS reads it when it starts
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def _fastest_products(
    shapes: Sequence[tuple[int, int]], rows: int, device: torch.device
) -> Literal["highest", "medium"]:
    """Find whether the library behind ``medium`` rounds like float32 and is clearly faster."""
    if device.type != "cpu":
        return "highest"  # there it means fewer bits
    works = [_Products(shapes, rows, torch.float32, how, device) for how in ("highest", "medium")]
    own, other = _seconds(works, device)
    return "medium" if works[1].error() < ROUNDING and CLEARLY * other < own else "highest"


def _fastest_precision(
    shapes: Sequence[tuple[int, int]],
    rows: int,
    products: Literal["highest", "medium"],
    device: torch.device,
) -> Literal["fp32", "bf16"]:
    """Find whether products in bf16 are clearly faster; a processor without them emulates.

    That takes many times as long. So few rows are tried first: what takes longer with them than
    float32 would with all of them cannot win.
    """

    def times(count: int) -> list[float]:
        kinds = (torch.float32, torch.bfloat16)
        works = [_Products(shapes, count, kind, products, device) for kind in kinds]
        return _seconds(works, device)

    few = min(rows, FEW_ROWS)
    wide, narrow = times(few)
    if narrow * few > wide * rows:
        return "fp32"
    wide, narrow = times(rows)
    return "bf16" if wide > WORTH * narrow else "fp32"


class _Products:
    """The three products of some layers, forward and backward, on ever another number of rows.

    Batches seldom have as many rows as one before, and some libraries make code for each number.
    """

    def __init__(
        self,
        shapes: Sequence[tuple[int, int]],
        rows: int,
        dtype: torch.dtype,
        how: Literal["highest", "medium"],
        device: torch.device,
    ) -> None:
        self.how: Literal["highest", "medium"] = how
        self.rows = rows
        self.weights = [torch.randn(shape, device=device).to(dtype) for shape in shapes]
        self.inputs = [torch.randn(rows, i, device=device).to(dtype) for _, i in shapes]

    def __call__(self) -> None:
        self.rows -= 1  # never twice the same
        with multiplying(self.how):
            for weight, x in zip(self.weights, self.inputs, strict=True):
                part = x[: max(1, self.rows)]
                y = part @ weight.t()
                torch.mm(y, weight)
                torch.mm(y.t(), part)

    def error(self) -> float:
        """Measure the relative error of a product against float64."""
        x, weight = self.inputs[0][:256], self.weights[0]
        with multiplying(self.how):
            product = x @ weight.t()
        exact = x.double() @ weight.double().t()
        return float((product - exact).square().sum() / exact.square().sum()) ** 0.5


def _batched_up_to(
    attention: MultiHeadAttention,
    precision: Precision,
    products: Literal["highest", "medium"],
    device: torch.device,
) -> int:
    """Find the longest sentence for which batched products beat the fused kernel."""
    dtype, longest = HALVES.get(precision, torch.float32), 0
    for length in LENGTHS:
        shape = (max(1, ROWS // length), attention.heads, length)
        q, k = torch.randn(2, *shape, attention.d_k, device=device, dtype=dtype)
        v = torch.randn(*shape, attention.d_v, device=device, dtype=dtype)
        q, k, v = (_as_in_a_layer(x).requires_grad_() for x in (q, k, v))
        visible = torch.ones(shape[0], 1, length, length, dtype=torch.bool, device=device).tril()
        kernels = (ChosenAttention(length), fused_attention)
        works = [partial(_attend, kernel, q, k, v, visible) for kernel in kernels]
        with multiplying(products):  # the fused kernel multiplies through the same library
            own, other = _seconds(works, device)
        longest = length if own < other else longest
    return longest


def _as_in_a_layer(x: Tensor) -> Tensor:
    """Lay heads out as a projection leaves them: side by side at each position."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def _attend(kernel: AttentionKernel, q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> None:
    kernel(q, k, v, visible).sum().backward()  # pyright: ignore[reportUnknownMemberType]  # torch's stub


def _seconds(works: Sequence[Callable[[], object]], device: torch.device) -> list[float]:
    """Time some work of each kind: the least of several, after one that warms up.

    The kinds take turns, so that all meet the same disturbances. The longer the work, the less they
    weigh and the fewer are done.
    """
    found: list[list[float]] = [[] for _ in works]
    least, most = ROUNDS
    began = time.perf_counter()
    for number in range(most + 1):
        if number > least and time.perf_counter() - began > BRIEF:
            break
        for times, work in zip(found, works, strict=True):
            start = time.perf_counter()
            work()
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            times.append(time.perf_counter() - start)
    return [min(times[1:]) for times in found]
