"""From the model width into heads and back, as operators (``dragoman.nn.projections``).

Shapes: B sentences, H heads, G groups of heads that share keys and values, L positions, D model
width, E width of a query or key, F width of a value.
"""

from torch import nn

from dragoman.interop.onnx.graph import Graph, Value
from dragoman.interop.onnx.parts import product
from dragoman.nn import LinearAttention, MultiHeadAttention

HeadedAttention = MultiHeadAttention | LinearAttention


def project(g: Graph, attention: HeadedAttention, x: Value) -> tuple[Value, Value, Value]:
    """Turn (B, L, D) into queries (B, H, L, E) and keys and values (B, G, L, E or F)."""
    shape, matrix = attention.shape, attention.query_key_value
    q, k, v = g.split(_rows(g, matrix, x, slice(None)), shape.widths, -1)
    return (
        _split_heads(g, q, shape.heads, shape.d_k),
        _split_heads(g, k, shape.kv_heads, shape.d_k),
        _split_heads(g, v, shape.kv_heads, shape.d_v),
    )


def project_queries(g: Graph, attention: HeadedAttention, x: Value) -> Value:
    """Turn (B, L, D) into queries alone, (B, H, L, E)."""
    shape = attention.shape
    q = _rows(g, attention.query_key_value, x, slice(0, shape.widths[0]))
    return _split_heads(g, q, shape.heads, shape.d_k)


def project_keys(g: Graph, attention: HeadedAttention, memory: Value) -> tuple[Value, Value]:
    """Turn (B, L, D) into keys (B, G, L, E) and values (B, G, L, F) alone."""
    shape = attention.shape
    both = _rows(g, attention.query_key_value, memory, slice(shape.widths[0], None))
    k, v = g.split(both, shape.widths[1:], -1)
    return (
        _split_heads(g, k, shape.kv_heads, shape.d_k),
        _split_heads(g, v, shape.kv_heads, shape.d_v),
    )


def share(g: Graph, attention: HeadedAttention, x: Value, *, axes: int = 4) -> Value:
    """Give what the G groups know, (B, G, ...) of so many axes, to all heads."""
    shape = attention.shape
    times = shape.heads // shape.kv_heads
    if times == 1:
        return x
    one = [1] * (axes - 2)
    wide = g("Expand", g.unsqueeze(x, 2), g.integers(1, 1, times, *one))
    tail = g("Shape", x, start=2)
    return g("Reshape", wide, g.concat(0, g.integers(0, shape.heads), tail))


def output(g: Graph, attention: HeadedAttention, heads: Value) -> Value:
    """Put heads (B, H, L, F) side by side and map them to (B, L, D)."""
    width = attention.shape.heads * attention.shape.d_v
    joined = g.reshape(g.transpose(heads, 0, 2, 1, 3), 0, 0, width)
    return product(g, joined, attention.output.weight, attention.output.bias)


def _rows(g: Graph, matrix: nn.Linear, x: Value, rows: slice) -> Value:
    return product(g, x, matrix.weight, matrix.bias, rows=rows)


def _split_heads(g: Graph, x: Value, heads: int, width: int) -> Value:
    return g.transpose(g.reshape(x, 0, 0, heads, width), 0, 2, 1, 3)
