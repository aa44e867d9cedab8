"""Attention over keys and values that stay where they were written.

What a hypothesis wrote at a position lies in a slot; a table says for each row which slots are its
own past. When hypotheses go on from others, rows of the table are copied and no key or value is
moved (the lazy reordering of the decoder's cache).

Shapes: R rows, H heads, G groups of heads that share keys and values, E width of a query and key, F
of a value, T positions, N source pieces of all sentences one after the other.
"""

from typing import Any

import numpy as np

from dragoman.decoding.fused.arithmetic import (
    ONE,
    ZERO,
    disordered,
    exponential,
    ordered,
    put,
    read,
)
from dragoman.decoding.fused.compiling import compiled, inlined, summing
from dragoman.decoding.fused.vectors import mix


@summing
def softmax(scores: Any, count: Any) -> None:
    """Turn the first scores of each head into weights that sum to 1; (H, T)."""
    for h in range(scores.shape[0]):
        line = scores[h]
        top = ordered(line[0])
        for p in range(count):
            whole = ordered(line[p])
            top = whole if whole > top else top
        highest, total = disordered(top), ZERO
        for p in range(count):
            line[p] = exponential(line[p] - highest)
            total += line[p]
        factor = ONE / total
        for p in range(count):
            line[p] *= factor


# Lines are named by their places, as a view of each would be counted in and out.


@summing
def dot(query: Any, h: Any, keys: Any, place: Any, g: Any) -> Any:
    """Add up the products of the query of head h and the key of group g at a place."""
    total = ZERO
    for j in range(query.shape[1]):
        total += query[h, j] * keys[place, g, j]
    return total


@inlined
def longest_of(starts: Any) -> Any:
    """Say how many pieces the longest source has."""
    longest = 0
    for s in range(starts.size - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    return longest


@inlined
def sum_up(scores: Any, values: Any, places: Any, count: Any, share: Any, lines: Any) -> None:
    """Write the sum of the values at places times their weights, for each head."""
    _, groups, f = values.shape
    for h in range(lines.shape[0]):
        first = values.ctypes.data + (h // share) * f * 4
        to, weights = lines[h].ctypes.data, scores[h].ctypes.data
        mix(to, first, weights, places.ctypes.data, count, groups * f, f)  # pyright: ignore  # numba gives the first


@compiled
def attend_past(
    y: Any,
    y_scales: Any,
    columns: Any,
    bias: Any,
    shape: Any,
    scale: Any,
    keys: Any,
    values: Any,
    slots: Any,
    time: Any,
    out: Any,
    scales: Any,
    rows: Any,
) -> None:
    """Write keys and values of a position, then attend to it and those before.

    Args:
        y: products of queries, keys and values, (R, H E + G E + G F).
        y_scales: of rows.
        columns: scales of columns.
        bias: of columns.
        shape: H, G, E, F.
        scale: factor on dot products.
        keys: of positions with all their slots, one after the other, (T slots, G, E).
        values: (T slots, G, F).
        slots: where the past of each row lies, (R, T); the present one is written.
        time: the present position.
        out: the input of the next product, (R, H F).
        scales: of its rows.
        rows: R.
    """
    heads, groups, e, f = shape
    asked, line = np.empty(heads * e, np.float32), np.empty(heads * f, np.float32)
    query, lines = asked.reshape(heads, e), line.reshape(heads, f)
    scores, places = np.empty((heads, time + 1), np.float32), np.empty(time + 1, np.int64)
    share, cap = heads // groups, keys.shape[0] // slots.shape[1]
    k_start, v_start = heads * e, (heads + groups) * e
    for r in range(rows):
        product, row_scale = y[r], y_scales[r]
        read(product, row_scale, columns, bias, 0, asked)
        asked *= scale
        read(product, row_scale, columns, bias, k_start, keys[time * cap + r].reshape(groups * e))
        read(product, row_scale, columns, bias, v_start, values[time * cap + r].reshape(groups * f))
        slots[r, time] = r
        past = slots[r]
        for p in range(time + 1):
            places[p] = p * cap + past[p]
            for g in range(groups):
                for h in range(g * share, (g + 1) * share):
                    scores[h, p] = dot(query, h, keys, places[p], g)
        softmax(scores, time + 1)
        sum_up(scores, values, places, time + 1, share, lines)
        put(line, heads * f, out, scales, r)


@compiled
def attend_source(
    y: Any,
    y_scales: Any,
    columns: Any,
    bias: Any,
    shape: Any,
    scale: Any,
    keys: Any,
    values: Any,
    starts: Any,
    source: Any,
    out: Any,
    scales: Any,
    rows: Any,
) -> None:
    """Attend from each row to the pieces of its source.

    Args:
        y: products of queries, (R, H E).
        y_scales: of rows.
        columns: scales of columns.
        bias: of columns.
        shape: H, G, E, F.
        scale: factor on dot products.
        keys: of all sources, (N, G, E).
        values: (N, G, F).
        starts: where each source begins, and N.
        source: of each row, (R,).
        out: the input of the next product, (R, H F).
        scales: of its rows.
        rows: R.
    """
    heads, _groups, e, f = shape
    asked, line = np.empty(heads * e, np.float32), np.empty(heads * f, np.float32)
    query, lines = asked.reshape(heads, e), line.reshape(heads, f)
    longest, count = longest_of(starts), starts[-1]
    places = np.arange(count)  # pyright: ignore[reportUnknownVariableType]  # numpy does not say of what
    scores = np.empty((heads, longest), np.float32)
    for r in range(rows):
        product, row_scale = y[r], y_scales[r]
        read(product, row_scale, columns, bias, 0, asked)
        asked *= scale
        first, end = starts[source[r]], starts[source[r] + 1]
        _attend(query, keys, values, places, first, end, shape, scores, lines)
        put(line, heads * f, out, scales, r)


@compiled
def attend_within(
    y: Any,
    y_scales: Any,
    columns: Any,
    bias: Any,
    shape: Any,
    scale: Any,
    held: Any,
    starts: Any,
    out: Any,
    scales: Any,
) -> None:
    """Attend from each piece of each source to all pieces of that source.

    Args:
        y: products of queries, keys and values, (N, H E + G E + G F).
        y_scales: of rows.
        columns: scales of columns.
        bias: of columns.
        shape: H, G, E, F.
        scale: factor on dot products.
        held: room for queries (N, H, E), keys (N, G, E) and values (N, G, F), float32.
        starts: where each source begins, and N.
        out: the input of the next product, (N, H F).
        scales: of its rows.
    """
    heads, groups, e, f = shape
    queries, keys, values = held
    for r in range(starts[-1]):
        product, row_scale = y[r], y_scales[r]
        read(product, row_scale, columns, bias, 0, queries[r].reshape(heads * e))
        read(product, row_scale, columns, bias, heads * e, keys[r].reshape(groups * e))
        start = (heads + groups) * e
        read(product, row_scale, columns, bias, start, values[r].reshape(groups * f))
    longest, count = longest_of(starts), starts[-1]
    places = np.arange(count)  # pyright: ignore[reportUnknownVariableType]  # numpy does not say of what
    line, scores = np.empty(heads * f, np.float32), np.empty((heads, longest), np.float32)
    lines = line.reshape(heads, f)
    for s in range(starts.size - 1):
        first, end = starts[s], starts[s + 1]
        for r in range(first, end):
            query = queries[r]
            query *= scale
            _attend(query, keys, values, places, first, end, shape, scores, lines)
            put(line, heads * f, out, scales, r)


@inlined
def _attend(
    query: Any,
    keys: Any,
    values: Any,
    places: Any,
    first: Any,
    end: Any,
    shape: Any,
    scores: Any,
    lines: Any,
) -> None:
    """Attend from one row to positions first .. end - 1; into a line of each head."""
    heads, groups, _, _ = shape
    share, count = heads // groups, end - first
    for p in range(count):
        for g in range(groups):
            for h in range(g * share, (g + 1) * share):
                scores[h, p] = dot(query, h, keys, first + p, g)
    softmax(scores, count)
    sum_up(scores, values, places[first:end], count, share, lines)
