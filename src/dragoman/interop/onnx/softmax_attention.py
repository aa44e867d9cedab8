"""Attention through a softmax, as operators: dot products or additive scores (section 3.2.1).

Shapes: B sentences, H heads, Q query positions, K key positions, E width of a query or key,
F width of a value. ``visible`` is boolean and broadcasts to (B, H, Q, K).
"""

import math

import numpy as np

from dragoman.interop.onnx.graph import Graph, Value
from dragoman.interop.onnx.heads import share
from dragoman.interop.onnx.parts import unknown
from dragoman.interop.onnx.places import Places
from dragoman.nn import (
    AdditiveKernel,
    AlibiBias,
    AttentionPositions,
    MultiHeadAttention,
    RelativePositions,
    RotaryPositions,
    T5Bias,
)

LOWEST = float(np.finfo(np.float32).min)


def attend(
    g: Graph,
    attention: MultiHeadAttention,
    qkv: tuple[Value, Value, Value],
    visible: Value | None,
    places: Places | None,
) -> Value:
    """Attend from queries (B, H, Q, E) to keys and values of all groups; (B, H, Q, F).

    Args:
        g: the graph.
        attention: whose kernel, pattern and positions count.
        qkv: queries, and keys and values of the groups.
        visible: boolean, or None for all.
        places: where they stand; None when they are not of one sequence.
    """
    q, k, v = qkv[0], share(g, attention, qkv[1]), share(g, attention, qkv[2])
    positions = None if places is None else attention.positions
    scores = _scores(g, attention, q, k)
    if places is not None and positions is not None:
        scores = _with_positions(g, attention, scores, q, places)
    if places is not None and attention.pattern is not None:
        seen = places.mask(attention.pattern)
        visible = seen if visible is None else g("And", visible, seen)
    weights = _softmax(g, scores, visible)
    heads = g("MatMul", weights, v)
    if places is None or not isinstance(positions, RelativePositions) or positions.values is None:
        return heads
    return g("Add", heads, _weigh_offsets(g, weights, positions, places))


def turn(g: Graph, positions: AttentionPositions | None, x: Value, places: Places) -> Value:
    """Rotate new queries or keys (B, H, Q, E) by their places, where that is how they tell them."""
    if not isinstance(positions, RotaryPositions):
        return x
    cosines, sines = places.turns(positions)
    half = positions.width // 2
    if positions.layout == "half":
        first, second = g.split(x, (half, half), -1)
    else:
        pairs = g.split(g("Reshape", x, _pairs(g, x, half)), (1, 1), -1)
        first, second = (g("Squeeze", each, g.integers(-1)) for each in pairs)
    turned = (
        g("Sub", g("Mul", first, cosines), g("Mul", second, sines)),
        g("Add", g("Mul", second, cosines), g("Mul", first, sines)),
    )
    if positions.layout == "half":
        return g.concat(-1, *turned)
    both = g.concat(-1, *(g.unsqueeze(each, -1) for each in turned))
    return g.reshape(both, 0, 0, 0, positions.width)


def _pairs(g: Graph, x: Value, half: int) -> Value:
    return g.concat(0, g("Shape", x, end=-1), g.integers(half, 2))


def _scores(g: Graph, attention: MultiHeadAttention, q: Value, k: Value) -> Value:
    kernel, scale = attention.kernel, attention.scale
    if not isinstance(kernel, AdditiveKernel):
        scale = 1 / math.sqrt(attention.d_k) if scale is None else scale
        q = q if scale == 1 else g("Mul", q, g.constant(scale))
        return g("MatMul", q, g.transpose(k, 0, 1, 3, 2))
    hidden = g("Tanh", g("Add", g.unsqueeze(q, 3), g.unsqueeze(k, 2)))  # (B, H, Q, K, E)
    vector = g.reshape(g.weight(kernel.vector), 0, 1, -1, 1)  # (H, 1, E, 1)
    scores = g("Squeeze", g("MatMul", hidden, vector), g.integers(-1))
    return scores if scale is None else g("Mul", scores, g.constant(scale))


def _with_positions(
    g: Graph, attention: MultiHeadAttention, scores: Value, q: Value, places: Places
) -> Value:
    match attention.positions:
        case T5Bias() | AlibiBias() as bias:
            return g("Add", scores, places.bias(bias))
        case RelativePositions() as shaw:
            scale = 1 / math.sqrt(attention.d_k) if attention.scale is None else attention.scale
            table = g.weight(shaw.keys, transposed=True)
            by_row = g("Mul", g("MatMul", q, table), g.constant(scale))  # (B, H, Q, R)
            rows = g("Expand", places.shaw_rows(shaw), g("Shape", scores))
            return g("Add", scores, g("GatherElements", by_row, rows, axis=3))
        case RotaryPositions():
            return scores  # queries and keys are turned already
        case _:
            raise unknown(attention.positions)


def _softmax(g: Graph, scores: Value, visible: Value | None) -> Value:
    """Turn scores into weights; zeros for a query that sees nothing."""
    if visible is None:
        return g("Softmax", scores, axis=-1)
    # As ``masked_softmax``: the lowest finite number, so that an empty row gives no NaN.
    weights = g("Softmax", g("Where", visible, scores, g.constant(LOWEST)), axis=-1)
    return g("Where", visible, weights, g.constant(0.0))


def _weigh_offsets(g: Graph, weights: Value, positions: RelativePositions, places: Places) -> Value:
    """Sum the vectors of all offsets by weight: (B, H, Q, K) to (B, H, Q, F)."""
    assert positions.values is not None
    rows = g("Expand", places.shaw_rows(positions), g("Shape", weights))
    shape = g.concat(0, g("Shape", weights, end=-1), g.integers(2 * positions.clip + 1))
    nothing = g("Expand", g.constant(0.0), shape)
    by_row = g("ScatterElements", nothing, rows, weights, axis=3, reduction="add")
    return g("MatMul", by_row, g.weight(positions.values))
