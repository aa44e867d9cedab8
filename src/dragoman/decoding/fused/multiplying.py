"""Products of matrices in the vectors of AVX-512, for float32, bfloat16 and int8.

A library's products are made for large matrices; those of decoding are small, and for one to some
hundred rows these here take a third to nine tenths of the time. Weights lie in the order in which
they are read: 64 outputs side by side, for one step of inputs after the other. A step is what one
lane of a vector takes of the inputs at a time: one float32, two bfloat16, or four int8.

The first byte that VNNI multiplies has no sign. So 128 is added to each input, and 128 times the
sum of a column's weights is taken off the result.

Shapes: R rows, K inputs, N outputs, P outputs rounded up to a multiple of 64.
"""

# pyright: basic, reportCallIssue=false

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from dragoman.decoding.fused.compiling import compiled

WIDE = 64  # outputs that are summed at the same time, in four vectors of 16
NEEDED = {"float32": "avx512f", "bfloat16": "avx512bf16", "int8": "avx512vnni"}
STEP = {"float32": 1, "bfloat16": 2, "int8": 4}  # inputs that a lane takes at a time
WHOLE, HALF, SINGLE = ir.IntType(64), ir.IntType(32), ir.FloatType()


def has_vectors(kind: str, inputs: int) -> bool:
    """Say whether the processor that kernels are compiled for multiplies such numbers so.

    That is this one, unless Numba is told to do without some of what it can: code for vectors that
    Numba does not know of ends the process.
    """
    target: Any = cpu_target.target_context
    _, _, features = target.codegen().magic_tuple()
    return f"+{NEEDED[kind]}" in features.split(",") and inputs % STEP[kind] == 0


def lay_out(weight: Any, kind: str) -> tuple[Any, Any]:
    """Put weights (N, K) in order; of int8 also give what is taken off, int32, (P,).

    Args:
        weight: float32, bits of bfloat16 as uint16, or int8.
        kind: of these.
    """
    (outputs, inputs), step = weight.shape, STEP[kind]
    padded = np.zeros((-(-outputs // WIDE) * WIDE, inputs), weight.dtype)
    padded[:outputs] = weight
    blocks = padded.reshape(-1, WIDE, inputs // step, step).transpose(0, 2, 1, 3)
    off = np.zeros(len(padded), np.int32)
    if kind == "int8":
        off = 128 * padded.sum(axis=1, dtype=np.int32)
    return np.ascontiguousarray(blocks).reshape(-1), off


@compiled
def multiply(x: Any, weights: Any, off: Any, out: Any) -> None:
    """Write the products of x (R, K) to out (R, P), float32, or int32 of int8."""
    rows, stride, out_stride = x.shape[0], x.strides[0], out.strides[0]
    steps = stride // 4
    for block in range(off.size // 64):
        column = weights.ctypes.data + block * steps * 256
        corrected = off.ctypes.data + block * 256
        line, to = x.ctypes.data, out.ctypes.data + block * 256
        left = rows
        while left >= 4:
            four(x, line, stride, column, steps, corrected, to, out_stride)
            line, to, left = line + 4 * stride, to + 4 * out_stride, left - 4
        if left >= 2:
            two(x, line, stride, column, steps, corrected, to, out_stride)
            line, to, left = line + 2 * stride, to + 2 * out_stride, left - 2
        if left:
            one(x, line, stride, column, steps, corrected, to, out_stride)


class _BFloat(ir.types.Type):
    """The type of bfloat16, which llvmlite does not name."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BFloat)

    def __hash__(self) -> int:
        return hash(_BFloat)


class _Numbers:
    """What differs between the kinds: how a step of inputs meets a vector of weights."""

    def __init__(self, dtype: Any, module: Any) -> None:
        self.whole = dtype == types.int8
        self.sums = ir.VectorType(HALF if self.whole else SINGLE, 16)
        self.spread = self.sums
        name, weights = "llvm.fma.v16f32", self.sums
        if dtype == types.uint16:
            self.spread, weights = ir.VectorType(HALF, 16), ir.VectorType(_BFloat(), 32)
            name = "llvm.x86.avx512bf16.dpbf16ps.512"
        elif self.whole:
            name = "llvm.x86.avx512.vpdpbusd.512"
        self.weights, self.lane = weights, self.spread.element
        self.first = self.whole or dtype == types.uint16  # the sum comes first
        order = [self.sums, weights, weights] if self.first else [weights, weights, self.sums]
        self.dot = module.declare_intrinsic(name, fnty=ir.FunctionType(self.sums, order))

    def inputs(self, builder: Any, place: Any) -> Any:
        """Load a step of inputs into all lanes."""
        number = _load(builder, place, 0, self.lane)
        if self.whole:
            number = builder.xor(number, ir.Constant(HALF, 0x80808080))
        empty = ir.Constant(self.spread, ir.Undefined)
        one = builder.insert_element(empty, number, ir.Constant(HALF, 0))
        mask = ir.Constant(ir.VectorType(HALF, 16), [0] * 16)
        spread = builder.shuffle_vector(one, one, mask)
        return spread if self.weights == self.spread else builder.bitcast(spread, self.weights)

    def grow(self, builder: Any, total: Any, inputs: Any, column: Any) -> Any:
        """Add products to sums."""
        order = [total, inputs, column] if self.first else [inputs, column, total]
        return builder.call(self.dot, order)


def _sum(rows: int, dtype: Any) -> Any:
    """Make what sums 64 outputs of so many rows."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, x, stride, weights, steps, off, out, out_stride = arguments
        numbers = _Numbers(dtype, builder.module)
        nothing = ir.Constant(numbers.sums, [0 if numbers.whole else 0.0] * 16)
        sums = [[cgutils.alloca_once(builder, numbers.sums) for _ in range(4)] for _ in range(rows)]
        for total in (each for row in sums for each in row):
            builder.store(nothing, total)
        with cgutils.for_range(builder, steps, intp=WHOLE) as loop:
            first = builder.add(weights, builder.mul(loop.index, _number(256)))
            columns = [_load(builder, first, 64 * n, numbers.weights) for n in range(4)]
            for r, row in enumerate(sums):
                line = builder.add(x, builder.mul(stride, _number(r)))
                place = builder.add(line, builder.mul(loop.index, _number(4)))
                inputs = numbers.inputs(builder, place)
                for total, column in zip(row, columns, strict=True):
                    grown = numbers.grow(builder, builder.load(total), inputs, column)
                    builder.store(grown, total)
        for r, row in enumerate(sums):
            line = builder.add(out, builder.mul(out_stride, _number(r)))
            for n, total in enumerate(row):
                result = builder.load(total)
                if numbers.whole:
                    result = builder.sub(result, _load(builder, off, 64 * n, numbers.sums))
                to = builder.add(line, _number(64 * n))
                builder.store(result, builder.inttoptr(to, numbers.sums.as_pointer()), align=4)
        return context.get_dummy_value()

    return code


def _summing(rows: int) -> Any:
    """Make the intrinsic that sums 64 outputs of so many rows.

    ``x`` says of what kind the numbers are; the rest are addresses and bytes.
    """

    def sums(
        typing_context: Any,
        x: Any,
        line: Any,
        stride: Any,
        weights: Any,
        steps: Any,
        off: Any,
        out: Any,
        out_stride: Any,
    ) -> Any:
        return types.void(x, *[types.intp] * 7), _sum(rows, x.dtype)

    return intrinsic(sums)


one, two, four = _summing(1), _summing(2), _summing(4)


def _number(value: int) -> Any:
    return ir.Constant(WHOLE, value)


def _load(builder: Any, address: Any, offset: int, kind: Any) -> Any:
    place = builder.add(address, _number(offset))
    return builder.load(builder.inttoptr(place, kind.as_pointer()), align=1)
