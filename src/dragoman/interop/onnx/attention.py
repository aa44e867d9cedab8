"""Every kind of attention as a layer uses it, as operators (``dragoman.nn.Attention``).

Shapes: B sentences, G groups of heads that share keys and values, L positions, D model width,
E width of a key, F width of a value. ``visible`` is boolean, (B, 1, 1, L).
"""

from dragoman.interop.onnx import linear_attention as linear
from dragoman.interop.onnx import softmax_attention as softmax
from dragoman.interop.onnx.graph import Graph, Port, Value
from dragoman.interop.onnx.heads import output, project, project_keys, project_queries
from dragoman.interop.onnx.parts import unknown
from dragoman.interop.onnx.places import Places
from dragoman.nn import LinearAttention, MultiHeadAttention

Known = tuple[Value, Value]
"""Keys (B, G, L, E) and values (B, G, L, F), or sums (B, G, E, F) and (B, G, E)."""


def attend_to_self(
    g: Graph, attention: object, x: Value, visible: Value | None, places: Places
) -> Value:
    """Read from all positions of (B, L, D); what comes out is (B, L, D)."""
    match attention:
        case MultiHeadAttention():
            q, k, v = project(g, attention, x)
            q, k = (softmax.turn(g, attention.positions, each, places) for each in (q, k))
            heads = softmax.attend(g, attention, (q, k, v), visible, places)
        case LinearAttention(causal=False):
            q, k, v = project(g, attention, x)
            features = linear.hide_keys(g, linear.feature_map(g, k), visible)
            heads = linear.read(g, attention, q, linear.sums_over(g, features, v))
        case _:
            raise unknown(attention)
    return output(g, attention, heads)


def extend(
    g: Graph, attention: object, x: Value, past: Known, places: Places
) -> tuple[Value, Known]:
    """Read from the past and from new positions (B, L, D); give the past after them, too."""
    match attention:
        case MultiHeadAttention():
            q, k, v = project(g, attention, x)
            q, k = (softmax.turn(g, attention.positions, each, places) for each in (q, k))
            k, v = (g.concat(2, old, new) for old, new in zip(past, (k, v), strict=True))
            heads = softmax.attend(g, attention, (q, k, v), None, places)
            known = _last(g, attention, (k, v), places)
        case LinearAttention(causal=True):
            qkv = project(g, attention, x)
            heads, known = linear.extend(g, attention, qkv, past, places)
        case _:
            raise unknown(attention)
    return output(g, attention, heads), known


def project_memory(g: Graph, attention: object, memory: Value, visible: Value) -> Known:
    """Project a memory (B, L, D) once, for any number of reads."""
    match attention:
        case MultiHeadAttention():
            return project_keys(g, attention, memory)
        case LinearAttention():
            k, v = project_keys(g, attention, memory)
            features = linear.hide_keys(g, linear.feature_map(g, k), visible)
            return linear.sums_over(g, features, v)
        case _:
            raise unknown(attention)


def read(g: Graph, attention: object, x: Value, known: Known, visible: Value) -> Value:
    """Attend from (B, L, D) to a memory projected before."""
    match attention:
        case MultiHeadAttention():
            qkv = (project_queries(g, attention, x), *known)
            heads = softmax.attend(g, attention, qkv, visible, None)
        case LinearAttention():
            heads = linear.read(g, attention, project_queries(g, attention, x), known)
        case _:
            raise unknown(attention)
    return output(g, attention, heads)


def known_ports(attention: object, prefix: str, rows: str, length: str) -> tuple[Port, Port]:
    """Describe what is known of ``length`` positions in each of ``rows``."""
    match attention:
        case MultiHeadAttention(shape=shape):
            names, meanings = ("keys", "values"), ("keys of", "values of")
            shapes = (length, shape.d_k), (length, shape.d_v)
        case LinearAttention(shape=shape):
            names, meanings = ("products", "keys"), ("keys by values, summed over", "sums of keys")
            shapes = (shape.d_k, shape.d_v), (shape.d_k,)
        case _:
            raise unknown(attention)
    first, second = (
        Port(f"{prefix}.{name}", "float32", (rows, shape.kv_heads, *sizes), f"{meaning} {prefix}")
        for name, sizes, meaning in zip(names, shapes, meanings, strict=True)
    )
    return first, second


def _last(g: Graph, attention: MultiHeadAttention, known: Known, places: Places) -> Known:
    """Leave out positions that the pattern lets no later one see."""
    window = None if attention.pattern is None else attention.pattern.window
    if window is None:
        return known
    surplus = g("Max", g("Sub", places.keys, g.integers(window)), g.integers(0))
    k, v = (g.slice(each, surplus, places.keys, 2) for each in known)
    return k, v
