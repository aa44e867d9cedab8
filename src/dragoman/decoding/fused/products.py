"""Products with weights packed once, in float32, bfloat16 and int8.

In int8 each column of the result has a scale, its largest weight over 127, and each row one, its
largest input over 127; whole numbers are multiplied and summed without error. So a row does not
depend on those beside it, unlike with one scale for all rows.

Where the processor has the vectors of AVX-512 or AVX2, products are our own (``multiplying``).
Elsewhere they are PyTorch's of float32, whatever the kind, as it multiplies the others many times
slower there: the products of bfloat16 are exact in float32, and so are sums of whole numbers up to
2^24. So int8 gives the same bits, bfloat16 sums in another order, and no kind is faster than
float32. Its products of packed matrices are not used: they keep nearly a megabyte for each number
of rows that comes, and are no faster.

Shapes: R rows, K inputs, N outputs, P columns of the result, N or more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from dragoman.decoding.fused.dot_products import AVX2, vectors_of
from dragoman.decoding.fused.multiplying import has_vectors, lay_out, multiply
from dragoman.decoding.fused.room import Room, as_array

Kind = Literal["float32", "bfloat16", "int8"]
Matrix = tuple[Tensor, Any]  # as a tensor and as an array of the same memory
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}
EXACT = 1024  # inputs whose products of int8 sum up to less than 2^24: 127 * 127 * 1024


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
            product = _pytorch(weight, kind)
        added = torch.zeros(weight.size(0)) if bias is None else bias.detach().float().clone()
        outputs, inputs = weight.shape
        return cls(kind, inputs, outputs, product, columns.numpy(), added.numpy())


def _own(weight: Tensor, kind: Kind) -> Callable[[Matrix, Room], Any]:
    vectors = vectors_of(kind)
    assert vectors is not None
    (weights, off), wide = lay_out(as_array(weight), kind, vectors), vectors.wide
    dtype = torch.int32 if kind == "int8" else torch.float32
    widened = (
        {"bfloat16": torch.float32, "int8": torch.int16}.get(kind) if vectors is AVX2 else None
    )

    def product(x: Matrix, room: Room) -> Any:
        rows, inputs = x[1].shape
        out = room.get("product", rows, off.size, dtype)[1]
        array = x[1]
        if widened is not None:
            to, array = room.get("widened", rows, inputs, widened)
            to.copy_(x[0])
        multiply(array, weights, off, wide, out)
        return out

    return product


def _pytorch(weight: Tensor, kind: Kind) -> Callable[[Matrix, Room], Any]:
    outputs, inputs = weight.shape
    turned = weight.t().float().contiguous()  # is read faster so, from the first row on

    def product(x: Matrix, room: Room) -> Any:
        to, array = room.get("product", x[0].size(0), outputs, torch.float32)
        torch.mm(x[0].float(), turned, out=to)
        return array

    if kind != "int8":
        return product
    parts = [slice(first, first + EXACT) for first in range(0, inputs, EXACT)]

    def whole(x: Matrix, room: Room) -> Any:
        to, array = room.get("product", x[0].size(0), outputs, torch.int32)
        read = x[0].float()
        to.copy_(torch.mm(read[:, :EXACT], turned[:EXACT]))
        for part in parts[1:]:
            to += torch.mm(read[:, part], turned[part]).int()
        return array

    return whole
