"""Numbers as kernels read and write them: float32, bfloat16 as its bits, and int8 with scales.

A product of matrices gives float32, bfloat16 (as uint16), or, of int8 matrices, int32 sums that
count as ``sum * scale of the row * scale of the column``. A row is written for the next product in
the kind that it takes: of int8, the row divided by its scale, its largest magnitude over 127.
"""

# pyright: basic, reportCallIssue=false
# (Numba has no types, and takes the first parameter of an intrinsic away.)

from typing import Any

import numpy as np
from numba import types  # pyright: ignore  # has no stubs
from numba.extending import intrinsic, overload  # pyright: ignore  # has no stubs

from dragoman.decoding.fused.compiling import inlined

LOG2_E = np.float32(1.4426950408889634)
LN_2_HIGH, LN_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)  # their sum is ln 2
ROUNDER = np.float32(12582912.0)  # 1.5 * 2^23: adding it rounds to a whole number, in the low bits
ROUNDER_BITS = np.int32(0x4B400000)
LOWEST = np.float32(-87.0)  # of what exponential takes; below it is almost 0
WIDEST = np.float32(127.0)
INFINITE, QUIET = np.int32(0x7F800000), np.int32(0x7FC00000)  # bits of infinity and of NaN
ONE, HALF, ZERO = np.float32(1.0), np.float32(0.5), np.float32(0.0)
C0, C1, C2 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
C3, C4, C5 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)


@intrinsic
def bits_as_float(typing_context: Any, bits: Any) -> Any:
    """Read 32 bits as a float32."""
    signature = types.float32(types.int32)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float32))

    return signature, code


@intrinsic
def float_as_bits(typing_context: Any, number: Any) -> Any:
    """Give the 32 bits of a float32."""
    signature = types.int32(types.float32)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.int32))

    return signature, code


@inlined
def exponential(x: Any) -> Any:
    """Give e^x of a float32 that is at most 0, to some 2e-7 of it (the polynomial of Cephes)."""
    x = LOWEST if x < LOWEST else x  # NaN stays
    whole = np.int32(float_as_bits(x * LOG2_E + ROUNDER) - ROUNDER_BITS)
    count = np.float32(whole)
    x = x - count * LN_2_HIGH - count * LN_2_LOW
    y = ((((C0 * x + C1) * x + C2) * x + C3) * x + C4) * x + C5
    y = y * (x * x) + x + ONE
    return y * bits_as_float(np.int32((whole + np.int32(127)) << 23))


def value(number: Any, scale: Any) -> Any:
    """Read a number of a product, given the scale of its row times that of its column."""
    raise NotImplementedError("runs compiled only")


@overload(value, inline="always", strict=False)
def _value(number: Any, scale: Any) -> Any:
    if number == types.int32:
        return lambda number, scale: np.float32(number) * scale
    if number == types.uint16:
        return lambda number, scale: bits_as_float(np.int32(np.int32(number) << 16))
    return lambda number, scale: number


@inlined
def read(product: Any, row_scale: Any, columns: Any, bias: Any, start: Any, to: Any) -> None:
    """Read columns of a row of a product, from ``start`` on, as float32."""
    part, scales = product[start : start + to.size], columns[start : start + to.size]
    add = bias[start : start + to.size]
    for j in range(to.size):
        to[j] = value(part[j], row_scale * scales[j]) + add[j]


def put(line: Any, width: Any, out: Any, scales: Any, row: Any) -> Any:
    """Write a float32 line of so many numbers as a row of the next product's input."""
    raise NotImplementedError("runs compiled only")


@overload(put, strict=False, jit_options={"forceinline": True, "error_model": "numpy"})
def _put(line: Any, width: Any, out: Any, scales: Any, row: Any) -> Any:
    if out.dtype == types.int8:
        return _put_int8
    if out.dtype == types.uint16:
        return _put_bfloat16
    return _put_float32


def _put_int8(line: Any, width: Any, out: Any, scales: Any, row: Any) -> None:
    top = np.int32(0)  # magnitudes compare as their bits do
    for j in range(width):
        bits = np.int32(float_as_bits(line[j]) & 0x7FFFFFFF)
        top = bits if bits > top else top
    largest = bits_as_float(top)
    scales[row] = largest / WIDEST
    inverse = WIDEST / largest if largest > ZERO else ZERO
    to = out[row]
    for j in range(width):
        to[j] = np.int8(float_as_bits(line[j] * inverse + ROUNDER) - ROUNDER_BITS)


def _put_bfloat16(line: Any, width: Any, out: Any, scales: Any, row: Any) -> None:
    to = out[row]
    for j in range(width):
        bits = float_as_bits(line[j])
        bits = QUIET if (bits & 0x7FFFFFFF) > INFINITE else bits  # of any NaN the same, or it wraps
        to[j] = np.uint16((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)  # to nearest, ties to even


def _put_float32(line: Any, width: Any, out: Any, scales: Any, row: Any) -> None:
    to = out[row]
    for j in range(width):
        to[j] = line[j]


@inlined
def ordered(x: Any) -> Any:
    """Turn a float32 into an int32 that orders as it does; the same again turns it back."""
    bits = float_as_bits(x)
    return np.int32(bits ^ ((bits >> 31) & 0x7FFFFFFF))


@inlined
def disordered(whole: Any) -> Any:
    """Turn it back."""
    return bits_as_float(np.int32(whole ^ ((whole >> 31) & 0x7FFFFFFF)))
