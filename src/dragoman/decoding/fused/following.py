"""Several positions of one text at once, each after those before it: what drafts are judged by.

Shapes: R positions, which are rows; H heads, G groups of heads that share keys and values, E width
of a query and key, F of a value, T positions that there is room for.
"""

from typing import Any

import numpy as np

from dragoman.decoding.fused.arithmetic import put, read
from dragoman.decoding.fused.attending import attend_source, dot, softmax, sum_up
from dragoman.decoding.fused.compiling import compiled
from dragoman.decoding.fused.packing import PackedModel
from dragoman.decoding.fused.room import Room
from dragoman.decoding.fused.running import Pass, Past, Sources


@compiled
def attend_following(
    y: Any,
    y_scales: Any,
    columns: Any,
    bias: Any,
    shape: Any,
    scale: Any,
    keys: Any,
    values: Any,
    time: Any,
    out: Any,
    scales: Any,
    rows: Any,
) -> None:
    """Write keys and values of some positions, then attend from each to it and those before.

    Each row comes out as ``attend_past`` would give it alone.

    Args:
        y: products of queries, keys and values, (R, H E + G E + G F).
        y_scales: of rows.
        columns: scales of columns.
        bias: of columns.
        shape: H, G, E, F.
        scale: factor on dot products.
        keys: of positions, one after the other, (T, G, E).
        values: (T, G, F).
        time: position of the first row.
        out: the input of the next product, (R, H F).
        scales: of its rows.
        rows: R.
    """
    heads, groups, e, f = shape
    asked, line = np.empty(heads * e, np.float32), np.empty(heads * f, np.float32)
    query, lines = asked.reshape(heads, e), line.reshape(heads, f)
    scores, places = np.empty((heads, time + rows), np.float32), np.arange(time + rows)  # pyright: ignore  # untyped
    share = heads // groups
    k_start, v_start = heads * e, (heads + groups) * e
    for r in range(rows):
        product, row_scale, count = y[r], y_scales[r], time + r + 1
        read(product, row_scale, columns, bias, 0, asked)
        asked *= scale
        read(product, row_scale, columns, bias, k_start, keys[time + r].reshape(groups * e))
        read(product, row_scale, columns, bias, v_start, values[time + r].reshape(groups * f))
        for p in range(count):
            for g in range(groups):
                for h in range(g * share, (g + 1) * share):
                    scores[h, p] = dot(query, h, keys, p, g)
        softmax(scores, count)
        sum_up(scores, values, places, count, share, lines)
        put(line, heads * f, out, scales, r)


def follow(
    model: PackedModel,
    room: Room,
    sources: Sources,
    past: Past,
    ids: Any,
    time: int,
    positions: Any,
) -> Pass:
    """Run the decoder over several pieces of one text; its output is the generator's input.

    Args:
        model: packed.
        room: what is computed in.
        sources: the one that is read.
        past: what was written, one slot a position, with room for the new ones.
        ids: (R,), int64.
        time: position of the first.
        positions: (at least time + R, D).
    """
    run = Pass(model, room, ids.size)
    run.begin(model.decoder, ids, np.arange(time, time + ids.size), positions)
    source = np.zeros(ids.size, np.int64)
    for number, layer in enumerate(model.decoder.layers):
        own, other = layer.own, layer.source
        assert other is not None
        first = own.first
        y = run.product(first)
        attend_following(
            y,
            run.scales,
            first.columns,
            first.bias,
            own.shape,
            own.scale,
            past.keys[number],
            past.values[number],
            time,
            run.input(own.output.inputs),
            run.scales,
            run.rows,
        )
        run.join(own.output, layer.joins[0])
        first = other.first
        y = run.product(first)
        attend_source(
            y,
            run.scales,
            first.columns,
            first.bias,
            other.shape,
            other.scale,
            sources.keys[number],
            sources.values[number],
            sources.starts,
            source,
            run.input(other.output.inputs),
            run.scales,
            run.rows,
        )
        run.join(other.output, layer.joins[1])
        run.network(layer.network, layer.joins[2])
    return run
