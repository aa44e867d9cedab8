"""The best pieces of each row of logits, and log-probabilities, in few passes over V numbers.

Numbers are compared as whole ones that order as they do, which processors do many at a time; NaN
counts as the largest.

Shapes: R rows, V vocabulary, C pieces asked for.
"""

from typing import Any

import numpy as np

from dragoman.decoding.fused.arithmetic import (
    ZERO,
    disordered,
    exponential,
    ordered,
    value,
)
from dragoman.decoding.fused.compiling import compiled, inlined, summing

BLOCK = 64
_LEAST = np.int32(-(2**31))


@compiled
def best(
    y: Any,
    y_scales: Any,
    columns: Any,
    bias: Any,
    never: Any,
    count: Any,
    values: Any,
    pieces: Any,
    rows: Any,
) -> None:
    """Find the best pieces of each row; of equal ones those with the lowest ids.

    Args:
        y: products, (R, V).
        y_scales: of rows.
        columns: scales of columns.
        bias: of columns.
        never: ids that have their share of the probability and are not chosen.
        count: C.
        values: their log-probabilities, float32, best first, (R, C); NaN where there are NaN.
        pieces: their ids, (R, C); where there are fewer, -inf and 0.
        rows: R.
    """
    vocabulary = bias.size
    blocks = (vocabulary + BLOCK - 1) // BLOCK
    line, tops = np.empty(vocabulary, np.float32), np.empty(blocks, np.int32)
    for r in range(rows):
        top = _read(y[r], y_scales[r], columns, bias, line, tops)
        log_sum = _log_sum_exp(line, top)
        for piece in never:
            line[piece] = -np.inf
        values[r, :count], pieces[r, :count] = -np.inf, 0
        if np.isnan(log_sum):
            values[r, 0] = log_sum
        else:
            _choose(line, tops, log_sum, count, values[r], pieces[r])


@compiled
def log_softmax(y: Any, y_scales: Any, columns: Any, bias: Any, out: Any, rows: Any) -> None:
    """Write the logarithm of the softmax of each row, (R, V)."""
    tops = np.empty((bias.size + BLOCK - 1) // BLOCK, np.int32)
    for r in range(rows):
        line = out[r]
        top = _read(y[r], y_scales[r], columns, bias, line, tops)
        log_sum = _log_sum_exp(line, top)
        for j in range(bias.size):
            line[j] -= log_sum


@inlined
def _read(product: Any, row_scale: Any, columns: Any, bias: Any, line: Any, tops: Any) -> Any:
    """Write a row as float32 and the largest of each block, ordered; give the largest of all."""
    highest = _LEAST
    for b in range(tops.size):
        start = b * BLOCK
        end = min(start + BLOCK, bias.size)
        part, scale, add, to = (
            product[start:end],
            columns[start:end],
            bias[start:end],
            line[start:end],
        )
        top = _LEAST
        for j in range(end - start):
            x = value(part[j], row_scale * scale[j]) + add[j]
            to[j] = x
            whole = ordered(x)
            top = whole if whole > top else top
        tops[b] = top
        highest = top if top > highest else highest
    return disordered(highest)


@summing
def _log_sum_exp(line: Any, top: Any) -> Any:
    total = ZERO
    for j in range(line.size):
        total += exponential(line[j] - top)
    return np.float32(top + np.log(total))


@inlined
def _choose(line: Any, tops: Any, log_sum: Any, count: Any, values: Any, pieces: Any) -> None:
    """Look through the blocks whose largest number can still be among the best."""
    least = values[count - 1]
    for b in range(tops.size):
        if not disordered(tops[b]) - log_sum > least:
            continue
        for j in range(b * BLOCK, min(b * BLOCK + BLOCK, line.size)):
            new = np.float32(line[j] - log_sum)
            if new > least:
                place = count - 1
                while place > 0 and new > values[place - 1]:
                    values[place], pieces[place] = values[place - 1], pieces[place - 1]
                    place -= 1
                values[place], pieces[place] = new, j
                least = values[count - 1]
