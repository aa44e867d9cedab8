"""Choices that exclude each other, found before anything is built."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dragoman.errors import Mistake
from dragoman.models.choices import (
    T5,
    Additive,
    Alibi,
    Learned,
    Linear,
    Rotary,
    Shaw,
    Sinusoidal,
)

if TYPE_CHECKING:
    from dragoman.models.config import ModelConfig


def impossible_choices(config: "ModelConfig") -> list[Mistake]:
    """Find every combination of choices that cannot work, each at its place."""
    return [
        *_widths(config),
        *_positions(config),
        *_attention(config),
        *_tables(config),
        *_stacks(config),
        *_frames(config),
        *_heads_of_encoders(config),
    ]


def nearest_divisors(number: int, near: int) -> list[int]:
    """Find the divisors of ``number`` just below and just above ``near``."""
    divisors = [n for n in range(1, number + 1) if number % n == 0]
    below = [n for n in divisors if n < near][-1:]
    above = [n for n in divisors if n > near][:1]
    return below + above


def _near(number: int, near: int) -> str:
    return "try " + " or ".join(map(str, nearest_divisors(number, near)))


def _widths(config: "ModelConfig") -> Iterator[Mistake]:
    heads, d_model = config.heads, config.d_model
    if config.d_k is None and d_model % heads:
        problem = f"{heads} does not divide d_model {d_model}"
        yield Mistake("heads", problem, _near(d_model, heads))
    if config.kv_heads is not None and heads % config.kv_heads:
        problem = f"{config.kv_heads} does not divide heads {heads}"
        yield Mistake("kv_heads", problem, _near(heads, config.kv_heads))
    if config.multiple_of is not None and config.feedforward == "plain":
        yield Mistake(
            "multiple_of", "is for gated networks", 'set feedforward = "gated" or d_ff itself'
        )


def _positions(config: "ModelConfig") -> Iterator[Mistake]:
    if config.decoder_positions is not None and config.architecture != "encoder-decoder":
        problem = f"{config.architecture} has one stack"
        yield Mistake("decoder_positions", problem, "say it by positions")
    for name, positions in (
        ("positions", config.positions),
        ("decoder_positions", config.decoder_positions),
    ):
        if isinstance(positions, Sinusoidal) and config.input_width != config.d_model:
            if config.input_width % 2:
                problem = f"{config.input_width} is odd, and sinusoids come in pairs"
                yield Mistake("embedding_width", problem, f"try {config.input_width + 1}")
        elif isinstance(positions, Sinusoidal) and config.d_model % 2:
            problem = f"{config.d_model} is odd, and sinusoids come in pairs"
            # Even, and shared evenly by the heads.
            step = math.lcm(2, config.heads if config.d_k is None else 1)
            below = config.d_model // step * step
            near = " or ".join(str(width) for width in (below, below + step) if width)
            yield Mistake("d_model", problem, f"try {near}")
        elif isinstance(positions, Sinusoidal) and config.d_model < 4 and positions.rate != "paper":
            problem = f"{positions.rate} needs two pairs, and d_model is {config.d_model}"
            yield Mistake(f"{name}.rate", problem, "set it to paper")
        elif isinstance(positions, Rotary) and config.head_width % 2:
            problem = f"rotary positions turn pairs, and a head is {config.head_width} wide"
            yield Mistake(name, problem, f"set d_k = {config.head_width + 1}")
        if isinstance(config.attention, Linear) and isinstance(
            positions, Shaw | T5 | Rotary | Alibi
        ):
            problem = f"{positions.kind} changes scores, and linear attention has none"
            yield Mistake(name, problem, "try sinusoidal or learned")
        if isinstance(config.attention, Additive) and isinstance(positions, Shaw | Rotary):
            problem = f"{positions.kind} needs dot products, and additive attention has none"
            yield Mistake(name, problem, "try t5 or alibi")


def _attention(config: "ModelConfig") -> Iterator[Mistake]:
    if isinstance(config.attention, Linear) and config.attention_dropout:
        problem = "linear attention has no weights to drop"
        yield Mistake("attention_dropout", problem, "set it to 0")


def _tables(config: "ModelConfig") -> Iterator[Mistake]:
    if config.target_vocabulary is not None and config.tied in ("all", "input"):
        problem = f"{config.tied} needs one vocabulary for both sides"
        yield Mistake("tied", problem, "set tokenizer.joint = true, or try output")
    if config.embedding_projection == "last":
        if config.architecture != "encoder-only" or config.images is not None:
            problem = "last is for encoder-only models of text"
            yield Mistake("embedding_projection", problem, "leave it out")
        if config.embedding_width is None:
            problem = "last projects tables of a width of their own"
            yield Mistake("embedding_projection", problem, "set embedding_width")
    if config.images is None:
        return
    if config.segments:
        yield Mistake("segments", "are for text, and images is set", "leave one out")
    limit = config.positions.max_length if isinstance(config.positions, Learned) else None
    needed = config.images.patches + 1
    if limit is not None and limit < needed:
        problem = f"{limit} positions are less than the {needed} of an image's patches and class"
        yield Mistake("positions.max_length", problem, f"set it to {needed}")


def _stacks(config: "ModelConfig") -> Iterator[Mistake]:
    if config.architecture != "encoder-decoder":
        if config.decoder_layers is not None:
            problem = f"{config.architecture} has one stack"
            yield Mistake("decoder_layers", problem, "say it by layers")
        if config.target_vocabulary is not None:
            problem = f"{config.architecture} has one vocabulary"
            yield Mistake("target_vocabulary", problem, "leave it out")
        if config.tied == "input":
            yield Mistake("tied", f"{config.architecture} has one input", "try all or none")
    if config.initialization == "deepnorm" and config.norm_order == "pre":
        problem = "deepnorm is for norms after the sum"
        yield Mistake("initialization", problem, 'set norm_order = "post", or try depth-scaled')


def _frames(config: "ModelConfig") -> Iterator[Mistake]:
    vocabularies = {
        "source_before": config.vocabulary,
        "source_after": config.vocabulary,
        "target_before": config.target_vocabulary or config.vocabulary,
    }
    for name, size in vocabularies.items():
        ids: tuple[int, ...] | None = getattr(config, name)
        if ids is None:
            continue
        if config.architecture != "encoder-decoder":
            yield Mistake(name, "is for encoder-decoder", "leave it out")
        elif size is not None and max(ids, default=0) >= size:
            problem = f"{max(ids)} is no id of a vocabulary of {size:,}"
            yield Mistake(name, problem, f"ids are 0 to {size - 1}")


def _heads_of_encoders(config: "ModelConfig") -> Iterator[Mistake]:
    if config.architecture == "encoder-only":
        if config.images is not None and config.head in ("pieces", "tags"):
            problem = f"{config.head} is for text, and images is set"
            yield Mistake("head", problem, 'set head = "class"')
        return
    for name, value, default in (
        ("head", config.head, "pieces"),
        ("images", config.images, None),
        ("segments", config.segments, 0),
        ("classes", config.classes, None),
    ):
        if value != default:
            yield Mistake(name, "is for encoder-only", 'set architecture = "encoder-only"')
