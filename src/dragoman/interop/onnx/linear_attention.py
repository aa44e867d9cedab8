"""Attention by feature maps, as operators (``dragoman.nn.linear_attention``; arXiv 2006.16236).

Shapes: B sentences, H heads, G groups of heads that share keys and values, Q query positions,
K key positions, E width of a query or key, F width of a value.
"""

from dragoman.interop.onnx.graph import Graph, Value
from dragoman.interop.onnx.heads import share
from dragoman.interop.onnx.places import Places
from dragoman.nn import LinearAttention

Sums = tuple[Value, Value]  # of phi(k) vᵀ, (B, G, E, F), and of phi(k), (B, G, E)


def feature_map(g: Graph, x: Value) -> Value:
    """Give phi(x) = elu(x) + 1, written as exp(x) below 0."""
    zero = g.constant(0.0)
    below = g("Exp", g("Min", x, zero))
    return g("Where", g("Greater", x, zero), g("Add", x, g.constant(1.0)), below)


def hide_keys(g: Graph, features: Value, visible: Value | None) -> Value:
    """Take keys out of all sums: features (B, G, K, E) become 0 where not ``visible``.

    Args:
        g: the graph.
        features: of the keys.
        visible: boolean, (B, 1, 1, K), or None for all.
    """
    if visible is None:
        return features
    return g("Where", g.transpose(visible, 0, 1, 3, 2), features, g.constant(0.0))


def sums_over(g: Graph, features: Value, v: Value, past: Sums | None = None) -> Sums:
    """Sum over keys (B, G, K, E) and values (B, G, K, F), after those of ``past``."""
    products = g("MatMul", g.transpose(features, 0, 1, 3, 2), v)
    keys = g("ReduceSum", features, g.integers(2), keepdims=0)
    if past is None:
        return products, keys
    return g("Add", past[0], products), g("Add", past[1], keys)


def read(g: Graph, attention: LinearAttention, q: Value, known: Sums) -> Value:
    """Answer queries (B, H, Q, E) from sums; (B, H, Q, F)."""
    return _divide(g, *_weigh(g, attention, feature_map(g, q), known))


def extend(
    g: Graph,
    attention: LinearAttention,
    qkv: tuple[Value, Value, Value],
    past: Sums,
    places: Places,
) -> tuple[Value, Sums]:
    """Let each new query see the past and the new keys up to its own; give the sums after."""
    q, features = feature_map(g, qkv[0]), feature_map(g, qkv[1])
    k, v = share(g, attention, features), share(g, attention, qkv[2])
    weights = g("MatMul", q, g.transpose(k, 0, 1, 3, 2))
    size = g.concat(0, places.queries, places.queries)
    causal = g("Trilu", g("Expand", g.constant(1.0), size), upper=0)
    weights = g("Mul", weights, causal)
    before, total_before = _weigh(g, attention, q, past)
    total = g("ReduceSum", weights, g.integers(3), keepdims=1)
    read = _divide(g, g("Add", before, g("MatMul", weights, v)), g("Add", total_before, total))
    return read, sums_over(g, features, qkv[2], past)


def _weigh(g: Graph, attention: LinearAttention, q: Value, known: Sums) -> Sums:
    """Give the values by their weights, summed, (B, H, Q, F), and the weights, (B, H, Q, 1)."""
    products = share(g, attention, known[0])
    keys = g.unsqueeze(share(g, attention, known[1], axes=3), 3)
    return g("MatMul", q, products), g("MatMul", q, keys)


def _divide(g: Graph, x: Value, total: Value) -> Value:
    """Divide by sums of weights; a query that saw nothing has x = 0."""
    nothing = g("Equal", total, g.constant(0.0))
    return g("Div", x, g("Where", nothing, g.constant(1.0), total))
