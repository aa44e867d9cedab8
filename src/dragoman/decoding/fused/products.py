"""Products with weights packed once, in float32, bfloat16 and int8.

In int8 each column of the result has a scale, its largest weight over 127, and each row one, its
largest input over 127; whole numbers are multiplied and summed without error. So a row does not
depend on those beside it, unlike with one scale for all rows.

Shapes: R rows, K inputs, N outputs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from dragoman.decoding.fused.room import Room, as_array

Kind = Literal["float32", "bfloat16", "int8"]
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}
FEW = 4  # rows below which plain float32 products are faster than packed ones


@dataclass(frozen=True, slots=True)
class Product:
    """One matrix, ready to be multiplied.

    Args:
        kind: of the numbers that are multiplied.
        inputs: K.
        outputs: N.
        multiply: takes an input (R, K) of this kind and room, gives the product (R, N).
        columns: scales of the columns, (N,); of no meaning but for int8.
        bias: to be added by whoever reads the product, (N,).
    """

    kind: Kind
    inputs: int
    outputs: int
    multiply: Callable[[Tensor, Room], Any]
    columns: Any
    bias: Any

    @classmethod
    def pack(cls, weight: Tensor, bias: Tensor | None, kind: Kind) -> "Product":
        """Pack a weight (N, K) of any floating dtype."""
        weight = weight.detach().float()
        columns = weight.new_ones(weight.size(0))
        match kind:
            case "float32":
                multiply = _float32(weight.contiguous())
            case "bfloat16":
                multiply = _bfloat16(weight.bfloat16().contiguous())
            case "int8":
                columns = weight.abs().amax(dim=1) / 127
                whole = (weight / columns.clamp(min=1e-30)[:, None]).round().clamp(-127, 127)
                multiply = _int8(whole.to(torch.int8).contiguous())
        added = torch.zeros(weight.size(0)) if bias is None else bias.detach().float().clone()
        return cls(kind, weight.size(1), weight.size(0), multiply, columns.numpy(), added.numpy())


def is_packable() -> bool:
    """Say whether this build of PyTorch has products of packed matrices."""
    return torch.backends.mkldnn.is_available() and hasattr(
        torch.ops.mkldnn, "_reorder_linear_weight"
    )


def _float32(weight: Tensor) -> Callable[[Tensor, Room], Any]:
    turned, outputs = weight.t(), weight.size(0)

    def plain(x: Tensor, room: Room) -> Any:
        to, array = room.get("product", x.size(0), outputs, torch.float32)
        torch.mm(x, turned, out=to)
        return array

    if not is_packable():
        return plain
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    linear = torch.ops.mkldnn._linear_pointwise.default

    def multiply(x: Tensor, room: Room) -> Any:
        if x.size(0) < FEW:
            return plain(x, room)
        return linear(x, packed, None, "none", [], "").numpy()

    return multiply


def _bfloat16(weight: Tensor) -> Callable[[Tensor, Room], Any]:
    turned, outputs = weight.t(), weight.size(0)

    def plain(x: Tensor, room: Room) -> Any:
        to, array = room.get("product", x.size(0), outputs, torch.bfloat16)
        torch.mm(x, turned, out=to)
        return array

    if not is_packable() or not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return plain
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    linear = torch.ops.mkldnn._linear_pointwise.default

    def multiply(x: Tensor, room: Room) -> Any:
        return as_array(linear(x, packed, None, "none", [], ""))

    return multiply


def _int8(weight: Tensor) -> Callable[[Tensor, Room], Any]:
    turned, outputs = weight.t(), weight.size(0)
    product = torch.ops.aten._int_mm.out

    def multiply(x: Tensor, room: Room) -> Any:
        to, array = room.get("product", x.size(0), outputs, torch.int32)
        product(x, turned, out=to)
        return array

    return multiply


def no_scales(rows: int) -> Any:
    """Give scales of rows that mean nothing."""
    return np.ones(rows, np.float32)
