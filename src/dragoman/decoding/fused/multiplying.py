"""Products of matrices in the vectors of AVX-512 or AVX2, for float32, bfloat16 and int8.

A library's products are made for large matrices; those of decoding are small, and for one to some
hundred rows these here take a third to nine tenths of the time in AVX-512, in AVX2 half of it with
four rows and as long with a hundred. Weights lie in the order in which
they are read: some outputs side by side, 64 for AVX-512 and 16 for AVX2, for one step of inputs
after the other (``dot_products``).

Shapes: R rows, K inputs, N outputs, P outputs rounded up to whole blocks.
"""

# pyright: basic, reportCallIssue=false

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dragoman.decoding.fused.compiling import compiled
from dragoman.decoding.fused.dot_products import STEP, WHOLE, Vectors, number, vectors_of

KINDS = {types.float32: "float32", types.uint16: "bfloat16", types.int8: "int8"}


def has_vectors(kind: str, inputs: int) -> bool:
    """Say whether such numbers, and so many inputs, are multiplied here."""
    return vectors_of(kind) is not None and inputs % STEP[kind] == 0


def lay_out(weight: Any, kind: str, vectors: Vectors) -> tuple[Any, Any]:
    """Put weights (N, K) in order; also give what is taken off of int8 in AVX-512, int32, (P,).

    Args:
        weight: float32, bits of bfloat16 as uint16, or int8.
        kind: of these.
        vectors: that multiply them.
    """
    (outputs, inputs), step, wide = weight.shape, STEP[kind], vectors.wide
    padded = np.zeros((-(-outputs // wide) * wide, inputs), weight.dtype)
    padded[:outputs] = weight
    blocks = padded.reshape(-1, wide, inputs // step, step).transpose(0, 2, 1, 3)
    off = np.zeros(len(padded), np.int32)
    if kind == "int8":
        off = 128 * padded.sum(axis=1, dtype=np.int32)
    return np.ascontiguousarray(blocks[..., vectors.order[kind]]).reshape(-1), off


@compiled
def multiply(x: Any, weights: Any, off: Any, wide: int, out: Any) -> None:
    """Write the products of x (R, K) to out (R, P), float32, or int32 of int8.

    Args:
        x: as the weights; in AVX2 bfloat16 as float32, and int8 as int16.
        weights: laid out.
        off: as laid out.
        wide: outputs side by side.
        out: is written.
    """
    rows, stride, out_stride, bytes_wide = x.shape[0], x.strides[0], out.strides[0], 4 * wide
    steps = weights.size * weights.itemsize // (4 * off.size)
    for block in range(off.size // wide):
        column = weights.ctypes.data + block * steps * bytes_wide
        corrected = off.ctypes.data + block * bytes_wide
        line, to = x.ctypes.data, out.ctypes.data + block * bytes_wide
        left = rows
        while left >= 4:
            four(weights, line, stride, column, steps, corrected, to, out_stride)
            line, to, left = line + 4 * stride, to + 4 * out_stride, left - 4
        if left >= 2:
            two(weights, line, stride, column, steps, corrected, to, out_stride)
            line, to, left = line + 2 * stride, to + 2 * out_stride, left - 2
        if left:
            one(weights, line, stride, column, steps, corrected, to, out_stride)


def _sum(rows: int, kind: str) -> Any:
    """Make what sums a block of outputs of so many rows."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, x, stride, weights, steps, off, out, out_stride = arguments
        vectors = vectors_of(kind)
        assert vectors is not None
        numbers, beside = vectors.code(kind, builder.module), range(vectors.beside)
        size = 4 * vectors.lanes
        nothing = ir.Constant(numbers.sums, [0 if numbers.whole else 0.0] * vectors.lanes)
        sums = [[cgutils.alloca_once(builder, numbers.sums) for _ in beside] for _ in range(rows)]
        for total in (each for row in sums for each in row):
            builder.store(nothing, total)
        with cgutils.for_range(builder, steps, intp=WHOLE) as loop:
            first = builder.add(weights, builder.mul(loop.index, number(size * vectors.beside)))
            columns = [
                numbers.columns(builder, builder.add(first, number(size * n))) for n in beside
            ]
            step = builder.mul(loop.index, number(4 * numbers.inputs_of_step))
            for r, row in enumerate(sums):
                place = builder.add(builder.add(x, builder.mul(stride, number(r))), step)
                for part in range(numbers.inputs_of_step):
                    inputs = numbers.inputs(builder, place, part)
                    for total, column in zip(row, columns, strict=True):
                        grown = numbers.grow(builder, builder.load(total), inputs, column[part])
                        builder.store(grown, total)
        for r, row in enumerate(sums):
            line = builder.add(out, builder.mul(out_stride, number(r)))
            for n, total in enumerate(row):
                behind = number(size * n)
                result = numbers.end(builder, builder.load(total), builder.add(off, behind))
                to = builder.inttoptr(builder.add(line, behind), numbers.sums.as_pointer())
                builder.store(result, to, align=4)
        return context.get_dummy_value()

    return code


def _summing(rows: int) -> Any:
    """Make the intrinsic that sums a block of outputs of so many rows.

    ``kept`` says of what kind the weights are; the rest are addresses and bytes.
    """

    def sums(
        typing_context: Any,
        kept: Any,
        line: Any,
        stride: Any,
        weights: Any,
        steps: Any,
        off: Any,
        out: Any,
        out_stride: Any,
    ) -> Any:
        return types.void(kept, *[types.intp] * 7), _sum(rows, KINDS[kept.dtype])

    return intrinsic(sums)


one, two, four = _summing(1), _summing(2), _summing(4)
