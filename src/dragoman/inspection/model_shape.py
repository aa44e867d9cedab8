"""A model as a diagram (figure 1) and as a table of what its parts learn."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import torch

from dragoman.inspection.run_picture import new_figure, save_picture
from dragoman.models import AnyConfig, ModelConfig, Positions, build_model

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


@dataclass(frozen=True, slots=True)
class PartCount:
    """One row of the table.

    Args:
        part: names it.
        times: in how many layers it is.
        each: learned numbers in one of them.
    """

    part: str
    times: int
    each: int

    @property
    def total(self) -> int:
        """In all layers."""
        return self.times * self.each


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


def part_counts(config: AnyConfig) -> list[PartCount]:
    """Count what each part learns, layers of one kind together; a shared table counts once.

    Args:
        config: every choice; what only the data knows must be set.
    """
    with torch.device("meta"):
        model = build_model(config)
    found: dict[str, dict[str, int]] = {}
    for name, weight in model.named_parameters():
        part, layer = _part(name.split("."))
        layers = found.setdefault(part, {})
        layers[layer] = layers.get(layer, 0) + weight.numel()
    counts: list[PartCount] = []
    for part, layers in found.items():
        for size in dict.fromkeys(layers.values()):  # as a rule all layers are alike
            times = sum(1 for each in layers.values() if each == size)
            counts.append(PartCount(part, times, size))
    return counts


def _part(path: list[str]) -> tuple[str, str]:
    """Name a parameter's part, and the layer it is in, if any."""
    numbers = [each for each in path if each.isdigit()]
    words = [each for each in path[:-1] if not each.isdigit() and each != "layers"]
    if not numbers:
        return " ".join(words[:2]).replace("_", " ") or path[-1], ""
    second = words[1] if len(words) > 1 else ""
    if second.endswith("residual"):
        second = "norms"
    if second == "attention":
        second = "self-attention"
    return " ".join(filter(None, (words[0], second))).replace("_", " "), numbers[0]


def shape_lines(stacks: Sequence[Stack], counts: Sequence[PartCount]) -> list[str]:
    """Write the diagram, inputs at the bottom as in figure 1, and the table."""
    columns = [_column(stack) for stack in stacks]
    wide = [max(map(len, column)) for column in columns]
    rows = zip_longest(*(reversed(column) for column in columns), fillvalue="")
    lines = [
        "    ".join(text.ljust(size) for text, size in zip(row, wide, strict=True)).rstrip()
        for row in rows
    ][::-1]
    total = sum(count.total for count in counts)
    name = max(len("part"), *(len(count.part) for count in counts))
    lines += ["", f"{'part':<{name}}  layers  {'each':>13}  {'parameters':>13}  share"]
    for count in counts:
        share = count.total / total
        lines.append(
            f"{count.part:<{name}}  {count.times:>6}  {count.each:>13,}  {count.total:>13,}  "
            f"{share:>5.1%}"
        )
    lines.append(f"{'all':<{name}}  {'':>6}  {'':>13}  {total:>13,}")
    return lines


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


_FILLS: dict[Role, str] = {
    "plain": "#FFFFFF",
    "table": "#FBE3C8",
    "attention": "#CFE3F5",
    "feed_forward": "#D5EBDC",
    "norm": "#F3F0D2",
    "output": "#E6DDF0",
}


_WIDE, _HIGH, _GAP, _COLUMN = 3.7, 0.66, 0.25, 4.7  # of a box and between them
_INK, _ARROW, _CROSS = "#1b1f24", "#444444", "#0072B2"
Point = tuple[float, float]


def draw_shape(stacks: Sequence[Stack], title: str, path: Path) -> None:
    """Draw the diagram as PNG, inputs at the bottom as in figure 1.

    Raises:
        MissingExtraError: matplotlib is not installed.
        DataError: the file cannot be written.
    """
    most = max(len(each.before) + len(each.layer) + len(each.after) for each in stacks)
    top = most * (_HIGH + _GAP) + 1.1
    figure = new_figure((_COLUMN * len(stacks) * 0.95 + 0.4, 0.56 * top + 0.4), "a diagram")
    axes = figure.subplots()
    memory: Point | None = None
    for column, stack in enumerate(stacks):
        memory = _draw_stack(axes, stack, _COLUMN * column, memory)
    axes.set_xlim(-0.4, _COLUMN * len(stacks) - 0.1)
    axes.set_ylim(-0.2, top)
    axes.axis("off")
    axes.set_title(title, fontsize=11, parse_math=False)
    save_picture(figure, path)


def _draw_stack(axes: Any, stack: Stack, x: float, memory: Point | None) -> Point:
    """Draw one column; give the place where its output leaves to the right.

    Any: half of matplotlib has no types.
    """
    first, last = len(stack.before), len(stack.before) + len(stack.layer)
    middle, step = x + _WIDE / 2, _HIGH + _GAP
    height = 0.0
    for place, block in enumerate((*stack.before, *stack.layer, *stack.after)):
        # The frame of the layers takes room of its own below and above them.
        y = place * step + 0.25 * (place >= first) + 0.25 * (place >= last)
        if place:
            arrow = {"arrowstyle": "-|>", "color": _ARROW, "linewidth": 1.1}
            axes.annotate("", (middle, y), (middle, height), arrowprops=arrow, zorder=5)
        _draw_block(axes, block, x, y)
        if block.reads_encoder and memory is not None:
            _draw_memory(axes, memory, (x, y + _HIGH / 2))
        height = y + _HIGH
    _draw_frame(axes, stack, x, first * step + 0.25, last * step - _GAP + 0.25)
    extra = 0.3 if stack.after else 0.5
    axes.text(middle, height + extra, stack.name, ha="center", fontsize=11, fontweight="bold")
    return x + _WIDE, height - _HIGH / 2


def _draw_block(axes: Any, block: Block, x: float, y: float) -> None:
    from matplotlib.patches import FancyBboxPatch  # optional; whoever comes so far has it

    patch = FancyBboxPatch(
        *((x, y), _WIDE, _HIGH),
        boxstyle="round,pad=0,rounding_size=0.1",
        edgecolor="#FFFFFF" if block.role == "plain" else "#555555",
        facecolor=_FILLS[block.role],
        linewidth=0.9,
        zorder=3,
    )
    axes.add_patch(patch)
    style = {"ha": "center", "va": "center", "fontsize": 9, "color": _INK, "zorder": 4}
    axes.text(x + _WIDE / 2, y + _HIGH / 2, block.text, **style)


def _draw_memory(axes: Any, start: Point, end: Point) -> None:
    """Lead what the encoder says, between the columns, to where the decoder reads it."""
    between = end[0] - 0.45
    corners = [start, (between, start[1]), (between, end[1])]
    style = {"color": _CROSS, "linewidth": 1.6, "zorder": 6}
    axes.plot([x for x, _ in corners], [y for _, y in corners], **style)
    arrow = {"arrowstyle": "-|>", "color": _CROSS, "linewidth": 1.6, "shrinkA": 0}
    axes.annotate("", end, corners[-1], arrowprops=arrow, zorder=6)


def _draw_frame(axes: Any, stack: Stack, x: float, bottom: float, top: float) -> None:
    """Draw the frame around one layer, and how many there are."""
    from matplotlib.patches import Rectangle  # optional; whoever comes so far has it

    corner, size = (x - 0.15, bottom - 0.15), (_WIDE + 0.3, top - bottom + 0.3)
    frame = Rectangle(corner, *size, facecolor="#F6F8FA", edgecolor="#888888", zorder=1)
    axes.add_patch(frame)
    style = {"fontsize": 10, "va": "bottom", "color": _INK}
    axes.text(x + _WIDE + 0.2, bottom - 0.15, f"x {stack.times}", **style)
