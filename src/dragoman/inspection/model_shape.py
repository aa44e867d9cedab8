"""The boxes of a model's diagram (figure 1), and the diagram as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from dragoman.models import AnyConfig, ModelConfig, Positions

Role = Literal["plain", "table", "attention", "feed_forward", "norm", "output"]


@dataclass(frozen=True, slots=True)
class Block:
    """One box of the diagram.

    Args:
        text: what it says.
        role: decides its colour.
        reads_encoder: whether an arrow comes from the encoder.
    """

    text: str
    role: Role = "plain"
    reads_encoder: bool = False


@dataclass(frozen=True, slots=True)
class Stack:
    """One column of the diagram, in the order in which it is computed.

    Args:
        name: encoder or decoder.
        before: what comes before the layers.
        layer: what one layer consists of.
        times: how many layers.
        after: what comes after them.
    """

    name: str
    before: tuple[Block, ...]
    layer: tuple[Block, ...]
    times: int
    after: tuple[Block, ...]


def model_stacks(config: AnyConfig) -> list[Stack]:
    """Lay out the stacks of a model; one or two.

    Args:
        config: every choice; what only the data knows must be set.
    """
    if not isinstance(config, ModelConfig):
        return _other_stacks(config)
    stacks: list[Stack] = []
    source = "source pieces" if config.architecture == "encoder-decoder" else "pieces"
    if config.architecture != "decoder-only":
        after = [*_final(config), *_head(config)]
        if config.architecture == "encoder-decoder":
            after = _final(config)
        stacks.append(
            Stack(
                "encoder",
                _inputs(config, source, config.vocabulary, config.positions),
                _layer(config, config.positions, causal=False, cross=False),
                config.layers,
                tuple(after),
            )
        )
    if config.architecture != "encoder-only":
        both = config.architecture == "encoder-decoder"
        size = config.target_vocabulary or config.vocabulary
        named = "target pieces so far" if both else "pieces so far"
        stacks.append(
            Stack(
                "decoder",
                _inputs(config, named, size, config.target_positions),
                _layer(config, config.target_positions, causal=True, cross=both),
                config.decoder_layers or config.layers,
                (*_final(config), *_generator(size)),
            )
        )
    return stacks


def _inputs(
    config: ModelConfig, pieces: str, size: int | None, positions: Positions
) -> tuple[Block, ...]:
    width = config.embedding_width or config.d_model
    found = [Block(pieces), Block(f"embedding, {size or 0:,} x {width:,}", "table")]
    if config.images is not None:
        patches = f"{config.images.patches} patches, to {config.d_model:,}"
        found = [Block("image"), Block(patches, "table")]
    if positions.kind in ("sinusoidal", "learned"):
        found.append(Block(f"+ positions, {positions.kind}", "plain"))
    if config.embedding_norm:
        found.append(Block(f"{config.norm} norm", "norm"))
    return tuple(found)


def _layer(
    config: ModelConfig, positions: Positions, *, causal: bool, cross: bool
) -> tuple[Block, ...]:
    kind = "" if config.attention.kind == "softmax" else f"{config.attention.kind}, "
    within = "" if positions.kind in ("sinusoidal", "learned", "none") else f", {positions.kind}"
    masked = "masked " if causal else ""
    heads = f"{config.heads} heads"
    if config.kv_heads not in (None, config.heads):
        heads += f", {config.kv_heads} of keys"
    inner = f"{config.inner_width:,}, {_activation(config)}"
    parts = [Block(f"{masked}self-attention, {kind}{heads}{within}", "attention")]
    if cross:
        parts.append(Block(f"attention to encoder, {heads}", "attention", reads_encoder=True))
    parts.append(Block(f"feed-forward, {inner}", "feed_forward"))
    norm = f"{config.norm} norm"
    blocks: list[Block] = []
    for part in parts:
        post = config.norm_order == "post"
        blocks += (
            [part, Block(f"add, {norm}", "norm")]
            if post
            else [Block(norm, "norm"), part, Block("add", "norm")]
        )
    return tuple(blocks)


def _activation(config: ModelConfig) -> str:
    gated = config.feedforward == "gated"
    name = config.activation or ("silu" if gated else "relu")
    return f"gated {name}" if gated else name


def _final(config: ModelConfig) -> list[Block]:
    return [Block(f"{config.norm} norm", "norm")] if config.has_final_norm else []


def _head(config: ModelConfig) -> list[Block]:
    if config.head == "none":
        return []
    if config.head in ("class", "tags"):
        return [Block(f"{len(config.classes or ())} classes", "output")]
    if config.head == "pooled":
        return [Block("one vector", "output")]
    return list(_generator(config.vocabulary))


def _generator(size: int | None) -> tuple[Block, ...]:
    return (Block(f"linear, to {size or 0:,} pieces", "output"), Block("softmax", "output"))


def _other_stacks(config: Any) -> list[Stack]:  # Any: recurrent or convolutional
    """Lay out a recurrent or a convolutional model, with less detail."""
    if config.architecture == "recurrent":
        layer = (Block(f"{config.cell} of {config.d_model:,}", "feed_forward"),)
        both = (Block(f"{config.cell}, both directions", "feed_forward"),)
    else:
        kernel = f"convolution, kernel {config.kernel}"
        both = layer = (Block(f"gated {kernel}, {config.d_model:,}", "feed_forward"),)
    cross = Block("attention to encoder", "attention", reads_encoder=True)
    size = config.target_vocabulary or config.vocabulary
    per_layer = config.architecture == "convolutional"

    def before(pieces: str, count: int) -> tuple[Block, ...]:
        return Block(pieces), Block(f"embedding, {count:,} x {config.d_model:,}", "table")

    return [
        Stack("encoder", before("source pieces", config.vocabulary or 0), both, config.layers, ()),
        Stack(
            "decoder",
            before("target pieces so far", size or 0),
            (*layer, cross) if per_layer else layer,
            config.layers,
            (*(() if per_layer else (cross,)), *_generator(size)),
        ),
    ]


def stack_lines(stacks: Sequence[Stack]) -> list[str]:
    """Write the diagram, inputs at the bottom as in figure 1."""
    columns = [_column(stack) for stack in stacks]
    wide = [max(map(len, column)) for column in columns]
    rows = zip_longest(*(reversed(column) for column in columns), fillvalue="")
    return [
        "    ".join(text.ljust(size) for text, size in zip(row, wide, strict=True)).rstrip()
        for row in rows
    ][::-1]


def _column(stack: Stack) -> list[str]:
    """Draw a stack as text, its end at the top."""
    texts = [block.text for block in (*stack.before, *stack.layer, *stack.after)]
    wide = max(map(len, texts)) + 2
    inside = [f"│ {('> ' if b.reads_encoder else '') + b.text:^{wide}} │" for b in stack.layer]
    edge = "─" * (wide + 2)
    upper = [f"  {block.text:^{wide}}" for block in reversed(stack.after)]
    lower = [f"  {block.text:^{wide}}" for block in reversed(stack.before)]
    box = [f"┌{edge}┐ x {stack.times}", *reversed(inside), f"└{edge}┘"]
    return [f"  {stack.name.upper():^{wide}}", *upper, *box, *lower]
