"""Products with weights packed once, in float32, bfloat16 and int8.

In int8 each column of the result has a scale, its largest weight over 127, and each row one, its
largest input over 127; whole numbers are multiplied and summed without error. So a row does not
depend on those beside it, unlike with one scale for all rows.

Where the processor has the vectors, products are our own (``multiplying``), elsewhere PyTorch's.

Shapes: R rows, K inputs, N outputs, P columns of the result, N or more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from dragoman.decoding.fused.multiplying import has_vectors, lay_out, multiply
from dragoman.decoding.fused.room import Room, as_array

Kind = Literal["float32", "bfloat16", "int8"]
Matrix = tuple[Tensor, Any]  # as a tensor and as an array of the same memory
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}
FEW = 4  # rows below which PyTorch's plain float32 products are faster than packed ones


@dataclass(frozen=True, slots=True)
class Product:
    """One matrix, ready to be multiplied.

    Args:
        kind: of the numbers that are multiplied.
        inputs: K.
        outputs: N.
        multiply: takes an input (R, K) of this kind and room, gives the product, an array (R, P).
        columns: scales of the columns, (N,); of no meaning but for int8.
        bias: to be added by whoever reads the product, (N,).
    """

    kind: Kind
    inputs: int
    outputs: int
    multiply: Callable[[Matrix, Room], Any]
    columns: Any
    bias: Any

    @classmethod
    def pack(
        cls, weight: Tensor, bias: Tensor | None, kind: Kind, *, own: bool | None = None
    ) -> "Product":
        """Pack a weight (N, K) of any floating dtype.

        Args:
            weight: (N, K).
            bias: (N,), if there is one.
            kind: of the numbers that are multiplied.
            own: our own products or PyTorch's; what the processor allows unless given.
        """
        weight = weight.detach().float()
        columns = weight.new_ones(weight.size(0))
        if kind == "int8":
            columns = weight.abs().amax(dim=1) / 127
            weight = (weight / columns.clamp(min=1e-30)[:, None]).round().clamp(-127, 127)
        weight = weight.to(DTYPES[kind]).contiguous()
        if has_vectors(kind, weight.size(1)) if own is None else own:
            product = _own(weight, kind)
        else:
            product = {"float32": _float32, "bfloat16": _bfloat16, "int8": _int8}[kind](weight)
        added = torch.zeros(weight.size(0)) if bias is None else bias.detach().float().clone()
        outputs, inputs = weight.shape
        return cls(kind, inputs, outputs, product, columns.numpy(), added.numpy())


def _own(weight: Tensor, kind: Kind) -> Callable[[Matrix, Room], Any]:
    weights, off = lay_out(as_array(weight), kind)
    dtype = torch.int32 if kind == "int8" else torch.float32

    def product(x: Matrix, room: Room) -> Any:
        out = room.get("product", x[1].shape[0], off.size, dtype)[1]
        multiply(x[1], weights, off, out)
        return out

    return product


def is_packable() -> bool:
    """Say whether this build of PyTorch has products of packed matrices."""
    return torch.backends.mkldnn.is_available() and hasattr(
        torch.ops.mkldnn, "_reorder_linear_weight"
    )


def _float32(weight: Tensor) -> Callable[[Matrix, Room], Any]:
    turned, outputs = weight.t(), weight.size(0)

    def plain(x: Matrix, room: Room) -> Any:
        to, array = room.get("product", x[0].size(0), outputs, torch.float32)
        torch.mm(x[0], turned, out=to)
        return array

    if not is_packable():
        return plain
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    linear = torch.ops.mkldnn._linear_pointwise.default

    def product(x: Matrix, room: Room) -> Any:
        if x[0].size(0) < FEW:
            return plain(x, room)
        return linear(x[0], packed, None, "none", [], "").numpy()

    return product


def _bfloat16(weight: Tensor) -> Callable[[Matrix, Room], Any]:
    turned, outputs = weight.t(), weight.size(0)

    def plain(x: Matrix, room: Room) -> Any:
        to, array = room.get("product", x[0].size(0), outputs, torch.bfloat16)
        torch.mm(x[0], turned, out=to)
        return array

    if not is_packable() or not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return plain
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    linear = torch.ops.mkldnn._linear_pointwise.default

    def product(x: Matrix, room: Room) -> Any:
        return as_array(linear(x[0], packed, None, "none", [], ""))

    return product


def _int8(weight: Tensor) -> Callable[[Matrix, Room], Any]:
    turned, outputs = weight.t(), weight.size(0)
    multiply_whole = torch.ops.aten._int_mm.out
    if weight.size(1) == 1:  # of which ``_int_mm`` leaves the result unwritten
        turned, multiply_whole = turned.int(), _outer

    def product(x: Matrix, room: Room) -> Any:
        to, array = room.get("product", x[0].size(0), outputs, torch.int32)
        multiply_whole(x[0], turned, out=to)
        return array

    return product


def _outer(x: Tensor, turned: Tensor, *, out: Tensor) -> None:
    torch.mul(x.int(), turned, out=out)
