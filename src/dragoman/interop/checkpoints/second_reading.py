"""A second reading of a checkpoint: the trainer's formulas over its tensors, by their own names.

None of these trainers runs everywhere today, so this is the other side of a certificate. It shares
no code with the modules of ``dragoman.nn`` nor with the tables of names; tests hold it to logits
that the trainers' own code computed.

Shapes: Q query positions, K key positions, D model width, H heads, E width of a head.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float32]
Stack = Literal["encoder", "decoder"]
AddedPositions = Callable[[Stack, int], Tensor | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What a checkpoint calls its parts, and the choices that no tensor shows.

    Args:
        tables: of the pieces of sources, of targets and of scores.
        output_bias: of the scores.
        layers: names of the layers of both stacks, with ``{i}``.
        products: of an attention: query, key, value, output.
        attentions: to itself in both stacks, and to the source.
        norms: those around them and around the network, for both stacks.
        inner: the network's products: first, last, and the one that gates, if any.
        final: norms behind the stacks, if any.
        embedded: norms behind the inputs, if any.
        heads: how many H.
        pre: whether norms stand before what they belong to.
        eps: of norms.
        scale: factor on embeddings.
        activation: inside the networks.
        positions: what is added to the inputs of a stack of that many.
        relative: name of a table of offsets inside an attention, if any.
        alibi: whether scores fall with distance.
        before: what stands before a source.
        after: what stands behind it.
        start: what a target begins with.
        longest: pieces a text may have, symbols included.
    """

    tables: tuple[str, str, str]
    output_bias: str
    layers: Mapping[Stack, str]
    products: tuple[str, str, str, str]
    attentions: Mapping[Stack, tuple[str, ...]]
    norms: Mapping[Stack, tuple[str, ...]]
    inner: tuple[str, str, str | None]
    final: str
    embedded: str = ""
    heads: int
    pre: bool
    eps: float
    scale: float
    activation: Callable[[Tensor], Tensor]
    positions: AddedPositions
    relative: str = ""
    alibi: bool = False
    before: tuple[int, ...] = ()
    after: tuple[int, ...]
    start: int
    longest: int | None = None


class SecondReading:
    """Computes what a checkpoint says in float64, without a cache and one text at a time.

    Args:
        wording: what it calls its parts.
        state: its tensors.
    """

    def __init__(self, wording: Wording, state: Mapping[str, Tensor]) -> None:
        self.wording = wording
        self.state = {name: weight.double() for name, weight in state.items()}

    @torch.inference_mode()
    def encode(self, source: Sequence[int]) -> tuple[dict[str, Tensor], Tensor]:
        """Read ids with all symbols.

        Returns:
            What comes out of each part that reads a source, by our names, in order; and what
            targets read of it.
        """
        seen: dict[str, Tensor] = {}
        memory = self._stack("encoder", source, None, seen)
        return seen, memory

    @torch.inference_mode()
    def decode(
        self, target: Sequence[int], memory: Tensor, *, last: bool = False
    ) -> dict[str, Tensor]:
        """Read ids with all symbols, and score what follows each, or the ``last`` alone.

        Returns:
            What comes out of each part that reads a target, by our names, in order; the last,
            ``generator``, are the logits, (Q, V).
        """
        seen: dict[str, Tensor] = {}
        x = self._stack("decoder", target, memory, seen)
        _, target_table, output = self.wording.tables
        table = self.state.get(output, self._table(target_table))
        seen["generator"] = F.linear(
            x[-1:] if last else x, table, self.state.get(self.wording.output_bias)
        )
        return seen

    def _stack(
        self, stack: Stack, ids: Sequence[int], memory: Tensor | None, seen: dict[str, Tensor]
    ) -> Tensor:
        wording, decoder = self.wording, stack == "decoder"
        x = self._table(wording.tables[decoder])[torch.tensor([*ids], dtype=torch.long)]
        x = x * wording.scale
        added = wording.positions(stack, len(ids))
        x = x if added is None else x + added
        if f"{stack}.{wording.embedded}.weight" in self.state:
            x = self._norm(f"{stack}.{wording.embedded}", x)
        seen["target_input" if decoder else "source_input"] = x
        number = 0
        while any(name.startswith(self._layer(stack, number)) for name in self.state):
            x = self._one_layer(stack, number, x, memory)
            seen[f"{stack}.layers.{number}"] = x
            number += 1
        final = f"{stack}.{wording.final}"
        return self._norm(final, x) if f"{final}.weight" in self.state else x

    def _one_layer(self, stack: Stack, number: int, x: Tensor, memory: Tensor | None) -> Tensor:
        wording, layer = self.wording, self._layer(stack, number)
        *norms, last = (layer + name for name in wording.norms[stack])
        for name, norm, other in zip(
            wording.attentions[stack], norms, (None, memory), strict=False
        ):
            x = self._around(norm, x, self._attention(layer + name, stack, other))
        return self._around(last, x, lambda y: self._network(layer, y))

    def _around(self, norm: str, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        if self.wording.pre:
            return x + part(self._norm(norm, x))
        return self._norm(norm, x + part(x))

    def _attention(
        self, name: str, stack: Stack, memory: Tensor | None
    ) -> Callable[[Tensor], Tensor]:
        def attend(x: Tensor) -> Tensor:
            heads = self.wording.heads
            width = x.size(-1) // heads
            query, key, value, output = (f"{name}.{each}" for each in self.wording.products)
            read = x if memory is None else memory
            q = _by_head(self._linear(query, x), width)
            k = _by_head(self._linear(key, read), width)
            v = _by_head(self._linear(value, read), width)
            k, v = (each.repeat_interleave(heads // each.size(0), 0) for each in (k, v))
            scores = q @ k.transpose(1, 2) / math.sqrt(width)  # (H, Q, K)
            table = None
            if memory is None:
                scores, table = self._by_offset(name, q, scores)
                if stack == "decoder":
                    later = torch.ones(scores.shape[1:], dtype=torch.bool).triu(1)
                    scores = scores.masked_fill(later, -math.inf)
            weights = scores.softmax(-1)
            read_out = weights @ v  # (H, Q, E)
            if table is not None:
                read_out = read_out + torch.einsum("hqk,qke->hqe", weights, table)
            return self._linear(output, read_out.transpose(0, 1).flatten(1))

        return attend

    def _by_offset(self, name: str, q: Tensor, scores: Tensor) -> tuple[Tensor, Tensor | None]:
        """Add what scores owe to how far keys lie; give the vectors of the offsets, (Q, K, E)."""
        length = scores.size(-1)
        offsets = torch.arange(length)[None, :] - torch.arange(length)[:, None]
        if self.wording.alibi:
            slopes = alibi_slopes(scores.size(0))
            return scores - slopes[:, None, None] * offsets.abs(), None
        table = self.state.get(f"{name}.{self.wording.relative}")
        if table is None:
            return scores, None
        clip = table.size(0) // 2
        vectors = table[offsets.clamp(-clip, clip) + clip]
        return scores + torch.einsum("hqe,qke->hqk", q, vectors) / math.sqrt(q.size(-1)), vectors

    def _network(self, layer: str, x: Tensor) -> Tensor:
        first, last, gate = self.wording.inner
        inner = self.wording.activation(self._linear(layer + first, x))
        if gate is not None and f"{layer}{gate}.weight" in self.state:
            inner = inner * self._linear(layer + gate, x)
        return self._linear(layer + last, inner)

    def _linear(self, name: str, x: Tensor) -> Tensor:
        return F.linear(x, self.state[f"{name}.weight"], self.state.get(f"{name}.bias"))

    def _norm(self, name: str, x: Tensor) -> Tensor:
        gain, eps = self.state[f"{name}.weight"], self.wording.eps
        if f"{name}.bias" in self.state:
            return F.layer_norm(x, gain.shape, gain, self.state[f"{name}.bias"], eps)
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * gain

    def _layer(self, stack: Stack, number: int) -> str:
        return self.wording.layers[stack].format(i=number) + "."

    def _table(self, name: str) -> Tensor:
        """Give a table of pieces; one that was left out is that of sources."""
        return self.state[name] if name in self.state else self.state[self.wording.tables[0]]


def _by_head(x: Tensor, width: int) -> Tensor:
    """Cut vectors (L, H E) into heads (H, L, E)."""
    return x.view(x.size(0), x.size(1) // width, width).transpose(0, 1)


def wave_positions(
    length: int, width: int, *, first: int = 0, halves: bool = False, last_rate: int = 0
) -> Tensor:
    """Compute sinusoids in float64, (length, width).

    Args:
        length: how many positions.
        width: D.
        first: the first position.
        halves: sines before cosines, instead of by turns.
        last_rate: 1 where the slowest wave is the last one, as in tensor2tensor.
    """
    pairs = width // 2
    rates = 10_000.0 ** (-torch.arange(pairs, dtype=torch.float64) / (pairs - last_rate))
    angles = torch.arange(first, first + length, dtype=torch.float64)[:, None] * rates
    both = (angles.sin(), angles.cos())
    return torch.cat(both, 1) if halves else torch.stack(both, 2).flatten(1)


def alibi_slopes(heads: int) -> Tensor:
    """Give the slope of each head; those beyond a power of two lie between the others."""
    whole = 1 << (heads.bit_length() - 1)
    slopes = [2.0 ** (-8.0 * (head + 1) / whole) for head in range(whole)]
    between = [2.0 ** (-4.0 * (2 * head + 1) / whole) for head in range(heads - whole)]
    return torch.tensor(slopes + between, dtype=torch.float64)
