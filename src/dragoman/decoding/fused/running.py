"""The encoder and one step of the decoder, as products with kernels between them.

Shapes: S sentences, N source pieces of all of them one after the other (no padding), R rows of
hypotheses, D model width, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from dragoman.decoding.fused.attending import attend_past, attend_source, attend_within
from dragoman.decoding.fused.packing import (
    Join,
    PackedAttention,
    PackedModel,
    PackedNetwork,
    PackedStack,
)
from dragoman.decoding.fused.products import DTYPES, Product
from dragoman.decoding.fused.room import Room
from dragoman.decoding.fused.sublayers import activate, add_norm, embed, norm_only, unpack


@dataclass(frozen=True, slots=True)
class Sources:
    """What the decoder reads of S sources.

    Args:
        keys: of each layer, (N, G, E).
        values: of each layer, (N, G, F).
        starts: where each source begins, and N; int64, (S + 1,).
    """

    keys: tuple[Any, ...]
    values: tuple[Any, ...]
    starts: Any


class Pass:
    """Rows on their way through a stack: x and the input of the next product, with its scales.

    Args:
        model: tells the kind of numbers.
        room: what is computed in.
        rows: R or N.
    """

    def __init__(self, model: PackedModel, room: Room, rows: int) -> None:
        self.room, self.rows, self.dtype = room, rows, DTYPES[model.kind]
        self.scales = room.get("scales", rows, 1, torch.float32)[1].reshape(-1)

    def line(self, width: int) -> Any:
        """Give x, float32, (rows, width)."""
        return self.room.get("x", self.rows, width, torch.float32)[1]

    def input(self, width: int) -> Any:
        """Give the input of the next product, to be written."""
        return self.room.get("input", self.rows, width, self.dtype)[1]

    def product(self, by: Product, rows: slice | None = None) -> Any:
        """Multiply the input, or some of its rows."""
        x = self.room.get("input", self.rows, by.inputs, self.dtype)
        return by.multiply(x if rows is None else (x[0][rows], x[1][rows]), self.room)

    def parts(self, most: int) -> list[slice]:
        """Cut the rows into about equal parts of about so many, in fours, as products like it."""
        count = max(1, round(self.rows / max(most, 1)))
        size = -(-self.rows // (4 * count)) * 4
        return [slice(start, min(start + size, self.rows)) for start in range(0, self.rows, size)]

    def begin(self, stack: PackedStack, ids: Any, places: Any, positions: Any) -> None:
        """Embed ids (rows,) at their places.

        Raises:
            IndexError: one is outside the vocabulary.
        """
        width = stack.embedding.shape[1]
        x, to = self.line(width), self.input(width)
        if not embed(ids, places, stack.embedding, stack.scale, positions, x, to, self.scales):
            raise IndexError(f"ids: one is not from 0 to {len(stack.embedding) - 1}")
        if (norm := stack.first) is not None:
            norm_only(x, norm.gain, norm.shift, norm.eps, norm.rms, to, self.scales, self.rows)

    def join(self, by: Product, join: Join) -> None:
        """Multiply, add to x, and write the norm as the next input."""
        y = self.product(by)
        norm = join.norm
        add_norm(
            y,
            self.scales,
            by.columns,
            by.bias,
            self.line(by.outputs),
            join.factor,
            norm.gain,
            norm.shift,
            norm.eps,
            norm.rms,
            join.post,
            self.input(by.outputs),
            self.scales,
            self.rows,
        )

    def network(self, network: PackedNetwork, join: Join) -> None:
        """Run a position-wise network."""
        inner = network.inner
        y = self.product(inner)
        to = self.input(network.output.inputs)
        activate(
            y,
            self.scales,
            inner.columns,
            inner.bias,
            network.activation,
            network.gated,
            to,
            self.scales,
            self.rows,
        )
        self.join(network.output, join)


def encode(
    model: PackedModel, sources: Sequence[Sequence[int]], positions: Any, room: Room
) -> Sources:
    """Run the encoder over ids, end symbols included, and project what the decoder reads.

    Args:
        model: packed.
        sources: ids of each.
        positions: of the longest, (at least L, D).
        room: what is computed in.
    """
    lengths = np.array([len(source) for source in sources], np.int64)
    starts = np.concatenate((np.zeros(1, np.int64), lengths.cumsum()))
    ids = np.concatenate([np.asarray(source, np.int64) for source in sources])
    places = np.arange(ids.size) - np.repeat(starts[:-1], lengths)
    run = Pass(model, room, ids.size)
    run.begin(model.encoder, ids, places, positions)
    for layer in model.encoder.layers:
        _attend_within(run, layer.own, starts)
        run.join(layer.own.output, layer.joins[0])
        run.network(layer.network, layer.joins[1])
    keys: list[Any] = []
    values: list[Any] = []
    for layer in model.decoder.layers:
        attention = layer.source
        assert attention is not None
        assert attention.memory is not None
        by, (_, groups, e, f) = attention.memory, attention.shape
        y = run.product(by)
        for start, width, to in ((0, e, keys), (groups * e, f, values)):
            part = np.empty((ids.size, groups * width), np.float32)
            unpack(y, run.scales, by.columns, by.bias, start, part, ids.size)
            to.append(part.reshape(ids.size, groups, width))
    return Sources(tuple(keys), tuple(values), starts)


def _attend_within(run: Pass, attention: PackedAttention, starts: Any) -> None:
    first = attention.first
    y = run.product(first)
    heads, groups, e, f = attention.shape
    held = tuple(
        run.room.get(name, run.rows, count * width, torch.float32)[1].reshape(-1, count, width)
        for name, count, width in (("q", heads, e), ("k", groups, e), ("v", groups, f))
    )
    attend_within(
        y,
        run.scales,
        first.columns,
        first.bias,
        attention.shape,
        attention.scale,
        held,
        starts,
        run.input(attention.output.inputs),
        run.scales,
    )


class Past:
    """What hypotheses wrote: keys and values that stay in place, and where each row finds its own.

    Args:
        model: tells the shapes.
        room: what keys and values lie in; pages that are never written cost nothing.
        steps: positions that there is room for at first.
        slots: rows that there is room for at first.
    """

    def __init__(self, model: PackedModel, room: Room, steps: int, slots: int) -> None:
        self._room, self._steps, self._slots = room, steps, slots
        shapes = [layer.own.shape for layer in model.decoder.layers]
        self._key_shapes = [(groups, e) for _, groups, e, _ in shapes]
        self._value_shapes = [(groups, f) for _, groups, _, f in shapes]
        self.slots = np.zeros((slots, steps), np.int32)
        self.keys = self._take("keys", self._key_shapes)
        self.values = self._take("values", self._value_shapes)

    def room_for(self, steps: int, slots: int) -> None:
        """Grow if need be, to twice as many positions at least."""
        have_steps, have_slots = self._steps, self._slots
        if steps <= have_steps and slots <= have_slots:
            return
        self._steps = max(steps, 2 * have_steps) if steps > have_steps else have_steps
        self._slots = max(slots, have_slots)
        old = [each.copy() for each in (*self.keys, *self.values)]
        self.keys = self._take("keys", self._key_shapes)
        self.values = self._take("values", self._value_shapes)
        for before, after in zip(old, (*self.keys, *self.values), strict=True):
            shape = before.shape[1:]
            to = after.reshape(self._steps, self._slots, *shape)
            to[:have_steps, :have_slots] = before.reshape(have_steps, have_slots, *shape)
        table = np.zeros((self._slots, self._steps), np.int32)
        table[:have_slots, :have_steps] = self.slots
        self.slots = table

    def _take(self, name: str, shapes: Sequence[tuple[int, int]]) -> list[Any]:
        """Give (T slots, groups, width) of each layer: the slots of a position lie side by side."""
        rows = self._steps * self._slots
        return [
            self._room.get(f"{name} {layer}", rows, groups * width, torch.float32)[1].reshape(
                rows, groups, width
            )
            for layer, (groups, width) in enumerate(shapes)
        ]


def step(
    model: PackedModel,
    room: Room,
    sources: Sources,
    past: Past,
    ids: Any,
    source: Any,
    time: int,
    positions: Any,
) -> Pass:
    """Run the decoder over one piece of each row; its output is the input of the generator.

    Args:
        model: packed.
        room: what is computed in.
        sources: what is read.
        past: what was written, with room for one more position.
        ids: (R,), int64.
        source: which source each row reads, (R,).
        time: position of the pieces.
        positions: (at least time + 1, D).
    """
    run = Pass(model, room, ids.size)
    run.begin(model.decoder, ids, np.full(ids.size, time), positions)
    for number, layer in enumerate(model.decoder.layers):
        own, other = layer.own, layer.source
        assert other is not None
        y = run.product(own.first)
        attend_past(
            y,
            run.scales,
            own.first.columns,
            own.first.bias,
            own.shape,
            own.scale,
            past.keys[number],
            past.values[number],
            past.slots,
            time,
            run.input(own.output.inputs),
            run.scales,
            run.rows,
        )
        run.join(own.output, layer.joins[0])
        y = run.product(other.first)
        attend_source(
            y,
            run.scales,
            other.first.columns,
            other.first.bias,
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
