"""What stands between the products of a Transformer, each as one pass over its rows.

Every kernel reads the result of a product (see ``arithmetic``) with the scales of its rows and
columns and a bias, and writes the input of the next product.

Shapes: R rows, D model width, N inner width, V vocabulary.
"""

import math
from typing import Any

import numpy as np

from dragoman.decoding.fused.arithmetic import HALF, ONE, ZERO, put, read, value
from dragoman.decoding.fused.compiling import compiled, inlined, summing

RELU, GELU, GELU_TANH, SILU = 0, 1, 2, 3
_ROOT_2_PI, _CUBIC = np.float32(0.7978845608028654), np.float32(0.044715)
_ROOT_HALF = np.float32(0.7071067811865476)


@summing
def mean_of(line: Any) -> Any:
    """Average a line."""
    total = ZERO
    for j in range(line.size):
        total += line[j]
    return total / np.float32(line.size)


@summing
def variance_of(line: Any, mean: Any) -> Any:
    """Average the squares of what a line is off."""
    total = ZERO
    for j in range(line.size):
        off = line[j] - mean
        total += off * off
    return total / np.float32(line.size)


@inlined
def normalize(line: Any, gain: Any, shift: Any, eps: Any, rms: Any) -> None:
    """Normalise a line in place: layer norm with divisor D, or RMS norm."""
    mean = ZERO if rms else mean_of(line)
    factor = ONE / np.sqrt(variance_of(line, mean) + eps)
    for j in range(gain.size):
        line[j] = (line[j] - mean) * factor * gain[j] + shift[j]


@inlined
def copy(line: Any, out: Any) -> None:
    """Copy a line; assigning it would compile a message about shapes, for seconds."""
    for j in range(line.size):
        out[j] = line[j]


@compiled
def embed(
    ids: Any, places: Any, table: Any, scale: Any, positions: Any, x: Any, out: Any, scales: Any
) -> bool:
    """Write embedding plus position of each row: as x, float32, and as an input.

    Returns:
        Whether all ids have an embedding.
    """
    width = table.shape[1]
    for r in range(ids.size):
        if ids[r] < 0 or ids[r] >= table.shape[0]:
            return False
        line, vector, position = x[r], table[ids[r]], positions[places[r]]
        for j in range(width):
            line[j] = vector[j] * scale + position[j]
        put(line, width, out, scales, r)
    return True


@compiled
def norm_only(
    x: Any, gain: Any, shift: Any, eps: Any, rms: Any, out: Any, scales: Any, rows: Any
) -> None:
    """Write the norm of x as an input, leaving x."""
    width = gain.size
    line = np.empty(width, np.float32)
    for r in range(rows):
        copy(x[r], line)
        normalize(line, gain, shift, eps, rms)
        put(line, width, out, scales, r)


@compiled
def add_norm(
    y: Any,
    y_scales: Any,
    columns: Any,
    bias: Any,
    x: Any,
    factor: Any,
    gain: Any,
    shift: Any,
    eps: Any,
    rms: Any,
    post: Any,
    out: Any,
    scales: Any,
    rows: Any,
) -> None:
    """Add a product to factor times x and write the norm as an input.

    ``post``: x becomes the norm. Otherwise it stays the sum.
    """
    width = gain.size
    line = np.empty(width, np.float32)
    for r in range(rows):
        own, product, row_scale = x[r], y[r], y_scales[r]
        for j in range(width):
            line[j] = own[j] * factor + value(product[j], row_scale * columns[j]) + bias[j]
        if not post:
            copy(line, own)
        normalize(line, gain, shift, eps, rms)
        if post:
            copy(line, own)
        put(line, width, out, scales, r)


@inlined
def activated(x: Any, kind: Any) -> Any:
    """Apply an activation that is not relu."""
    if kind == SILU:
        return x / (ONE + np.exp(-x))
    if kind == GELU_TANH:
        return HALF * x * (ONE + np.tanh(_ROOT_2_PI * (x + _CUBIC * x * x * x)))
    return HALF * x * (ONE + np.float32(_erf(x * _ROOT_HALF)))


@inlined
def _erf(x: Any) -> Any:
    """Give the error function through the C library's, in float64."""
    return math.erf(np.float64(x))


@compiled
def activate(
    y: Any,
    y_scales: Any,
    columns: Any,
    bias: Any,
    kind: Any,
    gated: Any,
    out: Any,
    scales: Any,
    rows: Any,
) -> None:
    """Write act(y) as an input; of a gated network act(first half) * second half."""
    width = bias.size // 2 if gated else bias.size
    line = np.empty(width, np.float32)
    for r in range(rows):
        product, row_scale = y[r], y_scales[r]
        for j in range(width):
            line[j] = value(product[j], row_scale * columns[j]) + bias[j]
        if kind == RELU:
            for j in range(width):
                line[j] = ZERO if line[j] < ZERO else line[j]  # NaN stays
        else:
            for j in range(width):
                line[j] = activated(line[j], kind)
        if gated:
            for j in range(width):
                up = value(product[width + j], row_scale * columns[width + j]) + bias[width + j]
                line[j] *= up
        put(line, width, out, scales, r)


@compiled
def unpack(y: Any, y_scales: Any, columns: Any, bias: Any, start: Any, out: Any, rows: Any) -> None:
    """Write columns of a product, from ``start`` on, as float32."""
    for r in range(rows):
        read(y[r], y_scales[r], columns, bias, start, out[r])
