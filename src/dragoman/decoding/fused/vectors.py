"""The sum of weighted lines in vectors of the processor, which compilers do not find by themselves.

Addresses are those of float32 numbers. LLVM cuts vectors that a processor has not.
"""

# pyright: basic

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = (64, 16, 1)  # numbers that are summed at the same time: many, then what is left
WHOLE, SINGLE = ir.IntType(64), ir.FloatType()


@intrinsic
def mix(
    typing_context: Any,
    out: Any,
    values: Any,
    weights: Any,
    places: Any,
    count: Any,
    stride: Any,
    width: Any,
) -> Any:
    """Write the sum of ``count`` lines times their weights.

    Args:
        typing_context: numba's.
        out: address of the line to be written.
        values: address of the lines.
        weights: address of their weights.
        places: address of their numbers, int64.
        count: how many.
        stride: numbers from one line to the next.
        width: numbers in a line.
    """
    signature = types.void(*[types.intp] * 7)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, values, weights, places, count, stride, width = arguments
        weights = builder.inttoptr(weights, SINGLE.as_pointer())
        places = builder.inttoptr(places, WHOLE.as_pointer())
        begin = ir.Constant(WHOLE, 0)
        for lanes in LANES:
            vector, step = ir.VectorType(SINGLE, lanes), ir.Constant(WHOLE, lanes)
            total = cgutils.alloca_once(builder, vector)
            end = builder.sub(width, builder.srem(builder.sub(width, begin), step))
            with cgutils.for_range_slice(builder, begin, end, step, WHOLE) as (first, _):
                builder.store(ir.Constant(vector, [0.0] * lanes), total)
                with cgutils.for_range(builder, count, intp=WHOLE) as loop:
                    place = builder.load(builder.gep(places, [loop.index]))
                    weight = builder.load(builder.gep(weights, [loop.index]))
                    line = builder.add(builder.mul(place, stride), first)
                    numbers = builder.load(_at(builder, values, line, vector), align=4)
                    weighed = builder.fmul(numbers, _spread(builder, weight, lanes), flags=FUSED)
                    grown = builder.fadd(builder.load(total), weighed, flags=FUSED)
                    builder.store(grown, total)
                builder.store(builder.load(total), _at(builder, out, first, vector), align=4)
            begin = end
        return context.get_dummy_value()

    return signature, code


FUSED = ("contract",)  # multiply and add in one instruction


def _at(builder: Any, address: Any, number: Any, vector: Any) -> Any:
    """Point to a vector that begins with a number of a line."""
    place = builder.add(address, builder.mul(number, ir.Constant(WHOLE, 4)))
    return builder.inttoptr(place, vector.as_pointer())


def _spread(builder: Any, number: Any, lanes: int) -> Any:
    """Put a number into all lanes of a vector."""
    vector = ir.Constant(ir.VectorType(SINGLE, lanes), ir.Undefined)
    one = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(one, vector, mask)
