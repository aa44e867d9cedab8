"""Where queries and keys stand in a sequence, and what follows from that alone, as operators.

The queries are always the last Q of the K key positions. What the layers of a stack have in common
is computed once.

Shapes: Q query positions, K key positions, H heads, E width of a query or key, D model width.
"""

from collections.abc import Callable, Hashable

import torch

from dragoman.interop.onnx.graph import Graph, Value
from dragoman.interop.onnx.parts import unknown
from dragoman.nn import (
    AddedPositions,
    AlibiBias,
    Causal,
    LearnedPositions,
    Local,
    Pattern,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    Sparse,
    T5Bias,
    t5_bucket,
)


class Places:
    """The positions of one stack.

    Args:
        g: the graph.
        queries: how many, (1,).
        keys: how many, (1,).
        start: position of the first query, a scalar.
    """

    def __init__(self, g: Graph, queries: Value, keys: Value, start: Value) -> None:
        self.g, self.queries, self.keys, self.start = g, queries, keys, start
        self._known: dict[Hashable, Value] = {}

    def once(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """Give what ``make`` gave the first time."""
        if name not in self._known:
            self._known[name] = make()
        return self._known[name]

    def positions(self) -> Value:
        """List the positions of the queries, int64 (Q,)."""
        return self.once("positions", lambda: self._range(self.start, self.queries))

    def offsets(self) -> Value:
        """Give key minus query of each pair, int64 (Q, K)."""
        return self.once("offsets", self._offsets)

    def mask(self, pattern: Pattern) -> Value:
        """Say who may see whom by place, boolean (Q, K)."""
        return self.once(pattern, lambda: self._mask(pattern))

    def bias(self, positions: T5Bias | AlibiBias) -> Value:
        """Give what is added to the scores, (1, H, Q, K)."""
        return self.once(positions, lambda: self._bias(positions))

    def shaw_rows(self, positions: RelativePositions) -> Value:
        """Say which row of a table of Shaw belongs to each pair, int64 (1, 1, Q, K)."""
        clip = positions.clip
        return self.once(("shaw", clip), lambda: self.g.unsqueeze(self._clipped(clip), 0, 1))

    def turns(self, positions: RotaryPositions) -> tuple[Value, Value]:
        """Give cosines and sines of the angles of all queries, (Q, E / 2) each."""
        pairs = torch.arange(0, positions.width, 2, dtype=torch.float64)
        rates = positions.base ** (-pairs / positions.width)

        def side(operator: str) -> Value:
            angles = self.g("Mul", self._places(0), self.g.constant(rates.numpy(), "float64"))
            return self.g.cast(self.g(operator, angles), "float32")

        key = (positions.width, positions.base)
        return self.once(("cos", key), lambda: side("Cos")), self.once(
            ("sin", key), lambda: side("Sin")
        )

    def added(self, positions: AddedPositions) -> Value:
        """Give what is added to the embeddings of the queries, (Q, D)."""
        match positions:
            case LearnedPositions(table=table):
                # onnxruntime makes a slice of a range, which would cut off what has no vector in
                # silence; with another kind of integer between them it looks up, and refuses.
                index = self.g.cast(self.positions(), "int32")
                return self.g("Gather", self.g.weight(table), index, axis=0)
            case SinusoidalPositions():
                return self._sinusoids(positions)
            case _:
                raise unknown(positions)

    def _range(self, start: Value, count: Value) -> Value:
        g = self.g
        count = g("Squeeze", count, g.integers(0))
        return g("Range", start, g("Add", start, count), g.integer(1))

    def _offsets(self) -> Value:
        g = self.g
        keys = self._range(g.integer(0), self.keys)
        before = g("Squeeze", g("Sub", self.keys, self.queries), g.integers(0))
        queries = self._range(before, self.queries)
        return g("Sub", g.unsqueeze(keys, 0), g.unsqueeze(queries, 1))

    def _clipped(self, most: int) -> Value:
        """Number the offsets -most .. most from 0, those further off as the last."""
        g = self.g
        clipped = g("Clip", self.offsets(), g.integer(-most), g.integer(most))
        return g("Add", clipped, g.integer(most))

    def _mask(self, pattern: Pattern) -> Value:
        g = self.g
        match pattern:
            case Causal():
                return g("LessOrEqual", self.offsets(), g.integer(0))
            case Local(half_width=half, causal=causal):
                mask = self._near(half)
            case Sparse(half_width=half, global_positions=places, causal=causal):
                mask = self._near(half)
                key = self._range(g.integer(0), self.keys)
                for place in places:
                    everywhere = g("Equal", key, g.integer(place))
                    query = g("Equal", self.positions(), g.integer(place))
                    mask = g("Or", g("Or", mask, everywhere), g.unsqueeze(query, 1))
            case _:
                raise unknown(pattern)
        return g("And", mask, self.mask(Causal())) if causal else mask

    def _near(self, half_width: int) -> Value:
        return self.g("LessOrEqual", self.g("Abs", self.offsets()), self.g.integer(half_width))

    def _bias(self, positions: T5Bias | AlibiBias) -> Value:
        g = self.g
        if isinstance(positions, AlibiBias):
            distances = g.cast(g("Abs", self.offsets()), "float64")
            slopes = g.constant(-positions.slopes[None, :, None, None].cpu().numpy(), "float64")
            return g.cast(g("Mul", slopes, distances), "float32")
        # From this distance on all share a bucket, so that a list of them is enough.
        most = positions.max_distance
        bucket = t5_bucket(
            torch.arange(-most, most + 1),
            bidirectional=positions.bidirectional,
            buckets=positions.table.size(0),
            max_distance=most,
        )
        buckets = g("Gather", g.constant(bucket.numpy(), "int64"), self._clipped(most), axis=0)
        by_pair = g("Gather", g.weight(positions.table), buckets, axis=0)  # (Q, K, H)
        return g.unsqueeze(g.transpose(by_pair, 2, 0, 1), 0)

    def _sinusoids(self, positions: SinusoidalPositions) -> Value:
        g, width = self.g, positions.d_model
        pairs = torch.arange(width // 2, dtype=torch.float64)
        steps = width / 2 if positions.rate == "paper" else width / 2 - 1
        wavelengths = positions.base ** (pairs / steps)
        angles = g("Div", self._places(positions.first), g.constant(wavelengths.numpy(), "float64"))
        sines, cosines = g("Sin", angles), g("Cos", angles)
        if positions.layout == "halves":
            both = g.concat(1, sines, cosines)
        else:
            both = g.concat(2, g.unsqueeze(sines, 2), g.unsqueeze(cosines, 2))
            both = g.reshape(both, -1, width)
        return g.cast(both, "float32")

    def _places(self, first: int) -> Value:
        """Give the positions of the queries in float64, counted from ``first``, (Q, 1)."""
        places = self.g.unsqueeze(self.g.cast(self.positions(), "float64"), 1)
        return places if first == 0 else self.g("Add", places, self.g.constant(first, "float64"))
