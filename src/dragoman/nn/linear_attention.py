"""Attention in time linear in the length (Katharopoulos et al. 2020, arXiv 2006.16236).

The softmax of q·k is replaced by phi(q)·phi(k) with phi(x) = elu(x) + 1 > 0. Then what a query
reads, phi(q) Σ phi(k) vᵀ / phi(q) Σ phi(k), needs two sums over the keys and no weights, and a
decoder keeps these sums instead of keys and values.

Shapes: B sentences, H heads, G groups of heads that share keys and values, Q query positions,
K key positions, D model width, E width of a query or key, F width of a value.
"""

from torch import Tensor, nn

from dragoman.nn.attention import check_visible
from dragoman.nn.linear_state import (
    LinearState,
    attend_causally,
    divide,
    feature_map,
    full_precision,
    hide_keys,
)
from dragoman.nn.projections import HeadShape, join_heads


def linear_attention_weights(
    q: Tensor, k: Tensor, keys_visible: Tensor | None = None, *, causal: bool
) -> Tensor:
    """Say how much each query attends to each key: phi(q)·phi(k), divided by its sum over keys.

    Args:
        q: queries, (..., Q, E).
        k: keys, (..., K, E).
        keys_visible: boolean, broadcastable to (..., K), or None to allow all.
        causal: query i sees keys 0 .. i only; Q = K.

    Returns:
        Weights in [0, 1], (..., Q, K), in float32 at least; zeros for a query that sees nothing.

    Raises:
        TypeError: ``keys_visible`` is not boolean.
        ValueError: ``causal`` and there are not as many keys as queries.
    """
    check_visible(keys_visible)
    _check_lengths(q, k, causal=causal)
    q, k = feature_map(q), hide_keys(feature_map(k), keys_visible)
    scores = q @ k.transpose(-2, -1)  # (..., Q, K)
    scores = scores.tril() if causal else scores
    return divide(scores, scores.sum(-1))


def reference_linear_attention(
    q: Tensor, k: Tensor, v: Tensor, keys_visible: Tensor | None = None, *, causal: bool
) -> Tensor:
    """Attend by forming all weights. The slow twin of ``linear_attention``, with its arguments."""
    weights = linear_attention_weights(q, k, keys_visible, causal=causal)
    return (weights @ v.to(weights.dtype)).to(q.dtype)


def linear_attention(
    q: Tensor, k: Tensor, v: Tensor, keys_visible: Tensor | None = None, *, causal: bool
) -> Tensor:
    """Attend through sums over the keys (equations 5 and 9), in time and memory linear in K.

    The sums are in float32 at least. The causal form keeps sums once per chunk of 64 positions, and
    weights only inside a chunk.

    Args:
        q: queries, (..., Q, E).
        k: keys, (..., K, E).
        v: values, (..., K, F).
        keys_visible: boolean, broadcastable to (..., K), or None to allow all.
        causal: query i sees keys 0 .. i only; Q = K.

    Returns:
        (..., Q, F) in the dtype of ``q``; zeros, with finite gradients, for a query that sees
        nothing.

    Raises:
        TypeError: ``keys_visible`` is not boolean.
        ValueError: ``causal`` and there are not as many keys as queries.
    """
    check_visible(keys_visible)
    _check_lengths(q, k, causal=causal)
    with full_precision(q.device):
        features = hide_keys(feature_map(k), keys_visible)
        if causal:
            return attend_causally(feature_map(q), features, v).to(q.dtype)
        return LinearState.over(features, v).read(feature_map(q)).to(q.dtype)


class LinearAttention(nn.Module):
    """Attend in several subspaces without a softmax; stands where ``MultiHeadAttention`` does.

    Args:
        d_model: model width D.
        heads: number of heads H.
        kv_heads: number G of key and value heads, each shared by H / G query heads; H unless given.
        d_k: width E of a query and key; D / H unless given.
        d_v: width F of a value; ``d_k`` unless given.
        bias: whether the projections add a bias.
        output_bias: the same of the last projection; as ``bias`` unless given.
        causal: a position of its own sequence sees itself and those before. Reading from a memory
            sees all of it.

    Raises:
        ValueError: ``heads`` does not divide ``d_model`` and no ``d_k`` is given, or ``kv_heads``
            does not divide ``heads``.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = False,
        output_bias: bool | None = None,
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.shape = HeadShape.of(d_model, heads, kv_heads=kv_heads, d_k=d_k, d_v=d_v)
        self.query_key_value = self.shape.matrix(d_model, bias=bias)
        last = bias if output_bias is None else output_bias
        self.output = nn.Linear(heads * self.shape.d_v, d_model, bias=last)
        self.causal = causal

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None = None) -> Tensor:
        """Read from ``memory`` (B, K, D) what each position of ``x`` (B, Q, D) asks for.

        Args:
            x: where queries come from.
            memory: where keys and values come from; self-attention is ``memory = x``.
            visible: boolean, broadcastable to (B, 1, 1, K): which keys all queries may see.

        Returns:
            (B, Q, D).

        Raises:
            ValueError: ``visible`` tells queries or heads apart, or has another number of keys.
        """
        if memory is not x:
            return self.read(x, self.project_memory(memory, visible))
        q, k, v = self.shape.project(self.query_key_value, x)
        k, v = self.shape.share(k), self.shape.share(v)
        keys_visible = _keys_only(visible, x.size(1))
        return self.output(join_heads(linear_attention(q, k, v, keys_visible, causal=self.causal)))

    def extend(
        self, x: Tensor, past: LinearState | None, visible: Tensor | None = None
    ) -> tuple[Tensor, LinearState]:
        """Self-attend from new positions ``x`` (B, Q, D) to all past ones and themselves.

        Args:
            x: the new positions only.
            past: sums over the positions before, or None at the start.
            visible: boolean, broadcastable to (B, 1, 1, past + Q). What it says of past positions
                was settled when they came.

        Returns:
            The output (B, Q, D), and the sums with Q more positions in them.

        Raises:
            ValueError: ``visible`` tells queries or heads apart, or has another number of keys.
        """
        length = (0 if past is None else past.length) + x.size(1)
        keys_visible = _keys_only(visible, length)
        if keys_visible is not None and keys_visible.size(-1) > 1:
            keys_visible = keys_visible[..., length - x.size(1) :]
        q, k, v = self.shape.project(self.query_key_value, x)
        with full_precision(x.device):
            features = hide_keys(feature_map(k), keys_visible)
            state = LinearState.over(features, v, past)
            if self.causal and x.size(1) > 1:
                k, v = self.shape.share(features), self.shape.share(v)
                past = None if past is None else self._shared(past)
                heads = attend_causally(feature_map(q), k, v, past)
            else:
                heads = self._shared(state).read(feature_map(q))
        return self.output(join_heads(heads.to(q.dtype))), state

    def read(self, x: Tensor, known: LinearState, visible: Tensor | None = None) -> Tensor:
        """Attend from ``x`` (B, Q, D) to a memory summed before; returns (B, Q, D).

        ``visible`` is not looked at: the sums are over the visible keys already.
        """
        q = self.shape.project_queries(self.query_key_value, x)
        with full_precision(x.device):
            heads = self._shared(known).read(feature_map(q)).to(q.dtype)
        return self.output(join_heads(heads))

    def project_memory(self, memory: Tensor, visible: Tensor | None = None) -> LinearState:
        """Sum over the visible keys of ``memory`` (B, K, D) once, for any number of reads.

        Raises:
            ValueError: ``visible`` tells queries or heads apart, or has another number of keys.
        """
        keys_visible = _keys_only(visible, memory.size(1))
        k, v = self.shape.project_memory(self.query_key_value, memory)
        with full_precision(memory.device):
            return LinearState.over(hide_keys(feature_map(k), keys_visible), v)

    def projection_blocks(self) -> tuple[Tensor, Tensor, Tensor]:
        """Give the query, key and value matrices as views, each (out, D), to initialise or name."""
        return self.shape.blocks(self.query_key_value)

    def _shared(self, state: LinearState) -> LinearState:
        """Give the sums of each group to all of its heads."""
        products, keys = self.shape.share(state.products), self.shape.share(state.keys)
        return LinearState(products, keys, state.length)


def _check_lengths(q: Tensor, k: Tensor, *, causal: bool) -> None:
    if causal and q.size(-2) != k.size(-2):
        raise ValueError(f"causal: there are {q.size(-2)} queries, but {k.size(-2)} keys")


def _keys_only(visible: Tensor | None, keys: int) -> Tensor | None:
    """Take the query axis from a mask of keys: (B, 1, 1, K) to (B, 1, K)."""
    if visible is None:
        return None
    check_visible(visible)
    visible = visible[(None,) * (4 - visible.dim())]
    if visible.shape[1:3] != (1, 1):
        raise ValueError(
            f"visible: {tuple(visible.shape)} tells queries or heads apart, but linear attention "
            "sums over keys once for all; give (B, 1, 1, K), and causal=True for causality"
        )
    if visible.size(-1) not in (1, keys):
        raise ValueError(f"visible: is for {visible.size(-1)} keys, not {keys}")
    return visible[:, 0]
