"""The boxes of a model's diagram (figure 1), and the diagram as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from dragoman.models import AnyConfig, ConvolutionalConfig, ModelConfig, Positions, RecurrentConfig

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
    match config:
        case RecurrentConfig():
            return _recurrent_stacks(config)
        case ConvolutionalConfig():
            return _convolutional_stacks(config)
        case ModelConfig():
            return _transformer_stacks(config)


def _transformer_stacks(config: ModelConfig) -> list[Stack]:
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
    found = [*_embedded(pieces, size, width)]
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


def _recurrent_stacks(config: RecurrentConfig) -> list[Stack]:
    """Lay out the recurrent translator: its decoder reads the source before every step."""
    cell, size = f"{config.cell}, {config.d_model:,}", config.target_vocabulary
    source = _embedded("source pieces", config.vocabulary, config.d_model)
    target = _embedded("target pieces so far", size or config.vocabulary, config.d_model)
    reads = Block("attention to encoder, by the last state", "attention", reads_encoder=True)
    joined = Block("tanh layer of state, attention, embedding", "feed_forward")
    after = (joined, *_generator(size or config.vocabulary))
    both = (Block(f"{cell}, both directions", "feed_forward"),)
    return [
        Stack("encoder", source, both, config.layers, ()),
        Stack("decoder", (*target, reads), (Block(cell, "feed_forward"),), config.layers, after),
    ]


def _convolutional_stacks(config: ConvolutionalConfig) -> list[Stack]:
    """Lay out the convolutional translator: every layer of its decoder reads the source."""
    kind = "separable convolution" if config.separable else "convolution"
    dilated = ", dilated" if config.dilations == "doubling" else ""
    block = Block(f"gated {kind}, kernel {config.kernel}{dilated}", "feed_forward")
    reads = Block("attention to encoder", "attention", reads_encoder=True)
    positions, size = Block("+ positions, sinusoidal"), config.target_vocabulary
    source = _embedded("source pieces", config.vocabulary, config.d_model)
    target = _embedded("target pieces so far", size or config.vocabulary, config.d_model)
    after = _generator(size or config.vocabulary)
    return [
        Stack("encoder", (*source, positions), (block,), config.layers, ()),
        Stack("decoder", (*target, positions), (block, reads), config.layers, after),
    ]


def _embedded(pieces: str, size: int | None, width: int) -> tuple[Block, ...]:
    return Block(pieces), Block(f"embedding, {size or 0:,} x {width:,}", "table")


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
    """Draw a stack as text, its end at the top; what reads the encoder has an arrow before it."""
    blocks = (*stack.before, *stack.layer, *stack.after)
    texts = [f"> {block.text}" if block.reads_encoder else block.text for block in blocks]
    wide, edge = max(map(len, texts)), "─" * (max(map(len, texts)) + 2)
    first, last = len(stack.before), len(stack.before) + len(stack.layer)
    lower, inside, upper = texts[:first], texts[first:last], texts[last:]
    return [
        f"  {stack.name.upper():^{wide}}",
        *(f"  {text:^{wide}}" for text in reversed(upper)),
        f"┌{edge}┐ x {stack.times}",
        *(f"│ {text:^{wide}} │" for text in reversed(inside)),
        f"└{edge}┘",
        *(f"  {text:^{wide}}" for text in reversed(lower)),
    ]
