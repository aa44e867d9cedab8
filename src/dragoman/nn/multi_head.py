"""Multi-head attention (section 3.2.2), and what layers and positions ask of it.

Shapes: B sentences, H heads, G groups of heads that share keys and values (H unless asked),
Q query positions, K key positions, D model width, E width of a query or key, F width of a value.
``visible`` is boolean and broadcasts to (B, H, Q, K); True means "may attend".
"""

from typing import Any, Protocol

from torch import Tensor, nn

from dragoman.nn.attention import AttentionKernel, fused_attention
from dragoman.nn.cache import KeyValues
from dragoman.nn.masks import combine
from dragoman.nn.patterns import Pattern
from dragoman.nn.projections import HeadShape, join_heads


class AttentionPositions(Protocol):
    """How one attention module learns where keys lie from queries: rotary, relative, biases.

    The queries are always the last Q of the K key positions.
    """

    def turn(self, x: Tensor, start: int) -> Tensor:
        """Prepare new queries or keys (B, H, L, E) at positions start .. start + L - 1."""
        ...

    def attend(
        self,
        kernel: AttentionKernel,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        visible: Tensor | None,
        *,
        scale: float | None,
        dropout: float,
    ) -> Tensor:
        """Attend through ``kernel`` with positions taken into account; shapes are the kernel's."""
        ...


class Attention(Protocol):
    """What a layer asks of an attention module.

    Any: each module keeps what it knows of past positions in a ``Known`` of its own kind.
    """

    def __call__(self, x: Tensor, memory: Tensor | None, visible: Tensor | None = None) -> Tensor:
        """Read from ``memory`` (B, K, D), or from ``x`` itself, for each position of ``x``."""
        ...

    def extend(self, x: Tensor, past: Any, visible: Tensor | None = None) -> tuple[Tensor, Any]:
        """Self-attend from new positions to all past ones and themselves."""
        ...

    def read(self, x: Tensor, known: Any, visible: Tensor | None = None) -> Tensor:
        """Attend to a memory projected before."""
        ...

    def project_memory(self, memory: Tensor, visible: Tensor | None = None) -> Any:
        """Project a memory once, for any number of reads."""
        ...


class MultiHeadAttention(nn.Module):
    """Attend in several subspaces at once (section 3.2.2, figure 2 right).

    Args:
        d_model: model width D.
        heads: number of heads H.
        kv_heads: number G of key and value heads, each shared by H / G query heads (Shazeer 2019,
            arXiv 1911.02150; Ainslie et al. 2023, arXiv 2305.13245); H unless given.
        d_k: width E of a query and key; D / H unless given.
        d_v: width F of a value; ``d_k`` unless given.
        bias: whether the projections add a bias; not in the paper.
        output_bias: the same of the last projection; as ``bias`` unless given.
        scale: factor on the dot products; 1 / sqrt(E) unless given.
        dropout: chance in [0, 1) that a weight is dropped in training; 0, as in the paper.
        kernel: how a head attends; inspection injects one that records.
        pattern: which keys a position of its own sequence may see, such as ``Causal()``; all unless
            given. It is for self-attention; reading from a memory uses the mask alone.
        positions: how self-attention learns where keys lie; it does not unless given.

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
        scale: float | None = None,
        dropout: float = 0.0,
        kernel: AttentionKernel = fused_attention,
        pattern: Pattern | None = None,
        positions: AttentionPositions | None = None,
    ) -> None:
        super().__init__()
        self.shape = HeadShape.of(d_model, heads, kv_heads=kv_heads, d_k=d_k, d_v=d_v)
        self.heads, self.kv_heads = heads, self.shape.kv_heads
        self.d_k, self.d_v = self.shape.d_k, self.shape.d_v
        self.query_key_value = self.shape.matrix(d_model, bias=bias)
        last = bias if output_bias is None else output_bias
        self.output = nn.Linear(heads * self.d_v, d_model, bias=last)
        self.scale, self.dropout = scale, dropout
        self.kernel, self.pattern, self.positions = kernel, pattern, positions

    def forward(self, x: Tensor, memory: Tensor, visible: Tensor | None = None) -> Tensor:
        """Read from ``memory`` (B, K, D) what each position of ``x`` (B, Q, D) asks for.

        Returns:
            (B, Q, D). Self-attention is ``memory = x``.
        """
        if memory is x:
            return self._attend_to_self(x, None, visible)[0]
        return self.read(x, self.project_memory(memory), visible)

    def extend(
        self, x: Tensor, past: KeyValues | None, visible: Tensor | None = None
    ) -> tuple[Tensor, KeyValues]:
        """Self-attend from new positions ``x`` (B, Q, D) to all past ones and themselves.

        Args:
            x: the new positions only.
            past: keys and values of the positions before, or None at the start.
            visible: broadcastable to (B, H, Q, past + Q).

        Returns:
            The output (B, Q, D), and the past grown by Q positions, without those that the pattern
            lets no later position see.
        """
        y, known = self._attend_to_self(x, past, visible)
        window = None if self.pattern is None else self.pattern.window
        return y, known if window is None else known.last(window)

    def read(self, x: Tensor, known: KeyValues, visible: Tensor | None = None) -> Tensor:
        """Attend from ``x`` (B, Q, D) to a memory projected before; returns (B, Q, D)."""
        q = self.shape.project_queries(self.query_key_value, x)
        keys, values = self._shared(known)
        dropout = self.dropout if self.training else 0.0
        heads = self.kernel(q, keys, values, visible, scale=self.scale, dropout=dropout)
        return self.output(join_heads(heads))

    def project_memory(self, memory: Tensor, visible: Tensor | None = None) -> KeyValues:
        """Project ``memory`` (B, K, D) to keys and values once, for any number of reads.

        What is ``visible`` matters when it is read; here it is for modules that sum over keys.
        """
        return KeyValues(*self.shape.project_memory(self.query_key_value, memory))

    def projection_blocks(self) -> tuple[Tensor, Tensor, Tensor]:
        """Give the query, key and value matrices as views, each (out, D), to initialise or name."""
        return self.shape.blocks(self.query_key_value)

    def _attend_to_self(
        self, x: Tensor, past: KeyValues | None, visible: Tensor | None
    ) -> tuple[Tensor, KeyValues]:
        q, k, v = self.shape.project(self.query_key_value, x)
        if self.positions is not None:
            start = 0 if past is None else past.length
            q, k = self.positions.turn(q, start), self.positions.turn(k, start)
        new = KeyValues(k, v)
        known = new if past is None else past.append(new)
        keys, values = self._shared(known)
        if visible is not None and known.forgotten and visible.size(-1) == known.length:
            visible = visible[..., known.forgotten :]  # the pattern has let go of the oldest keys
        if self.pattern is not None:
            seen = self.pattern.mask(x.size(1), keys.size(2), device=x.device)
            visible = combine(visible, seen)
        dropout = self.dropout if self.training else 0.0
        if self.positions is None:
            heads = self.kernel(q, keys, values, visible, scale=self.scale, dropout=dropout)
        else:
            heads = self.positions.attend(
                self.kernel, q, keys, values, visible, scale=self.scale, dropout=dropout
            )
        return self.output(join_heads(heads)), known

    def _shared(self, known: KeyValues) -> tuple[Tensor, Tensor]:
        """Give keys and values to every query head: head i uses key head i // (H / G)."""
        return self.shape.share(known.keys), self.shape.share(known.values)
