"""What tells positions apart, to look at (section 3.5 and its successors).

Shapes: L positions, D model width, E width of a query or key, H heads, R rows of offsets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.models import (
    T5,
    Alibi,
    AnyConfig,
    Learned,
    ModelConfig,
    NoPositions,
    Positions,
    Rotary,
    Shaw,
    Sinusoidal,
)
from dragoman.nn import (
    LearnedPositions,
    RelativePositions,
    T5Bias,
    alibi_slopes,
    rotate,
    sinusoids,
)

Floats = npt.NDArray[np.float64]
Part = TypeVar("Part", bound=nn.Module)
_TOLD = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


@dataclass(frozen=True, slots=True)
class PositionView:
    """One scheme as a picture and as curves over the distance.

    Args:
        title: names the scheme and where it stands.
        picture: numbers to be coloured.
        rows: what its rows are.
        columns: what its columns are.
        first: number of its first row.
        offsets: key minus query, of each point of a curve.
        curves: by name.
        value: what the curves show.
        first_column: number of the first column.
    """

    title: str
    picture: Floats
    rows: str
    columns: str
    first: int
    offsets: Sequence[int]
    curves: dict[str, Floats]
    value: str
    first_column: int = 0

    def lines(self) -> list[str]:
        """Write the curves as a table, for some distances to both sides."""
        at = {offset: place for place, offset in enumerate(self.offsets)}
        told = [offset for offset in sorted({*_TOLD, *(-each for each in _TOLD)}) if offset in at]
        names = list(self.curves)
        wide = [max(9, len(name)) for name in names]
        head = "  ".join(name.rjust(size) for name, size in zip(names, wide, strict=True))
        lines = [self.title, f"{self.value}, by offset of the key from the query"]
        lines.append(f"offset  {head}")
        for offset in told:
            values = (f"{round(self.curves[name][at[offset]], 4) + 0.0:.4f}" for name in names)
            row = "  ".join(each.rjust(size) for each, size in zip(values, wide, strict=True))
            lines.append(f"{offset:>+6}  {row}")
        return lines


def position_views(
    config: AnyConfig, model: nn.Module | None = None, *, length: int = 64
) -> list[PositionView]:
    """Look at what tells positions apart in each stack.

    Args:
        config: every choice.
        model: gives what is learned; without it first random values are shown, and said to be so.
        length: positions L.

    Raises:
        ModelError: nothing tells positions apart, or the model is no Transformer.
    """
    if not isinstance(config, ModelConfig):
        problem = f"its architecture, {config.architecture}, has none to look at"
        raise ModelError(f"positions are of Transformers: {problem}")
    sides = {"encoder": config.positions, "decoder": config.target_positions}
    if config.architecture != "encoder-decoder":
        sides = {config.architecture.replace("-only", ""): config.positions}
    fixed = Sinusoidal | Rotary | Alibi
    if len(set(map(repr, sides.values()))) == 1 and isinstance(config.positions, fixed):
        sides = {"": config.positions}  # the same in both, and nothing is learned
    found = [
        _view(config, positions, side, model, length)
        for side, positions in sides.items()
        if not isinstance(positions, NoPositions)
    ]
    if not found:
        raise ModelError("nothing tells positions apart in this model but the causal mask")
    return found


def _view(
    config: ModelConfig, positions: Positions, side: str, model: nn.Module | None, length: int
) -> PositionView:
    where = f"{side}: " if side else ""
    match positions:
        case Sinusoidal(layout=layout, first=first, rate=rate):
            places = torch.arange(first, first + length)
            table = sinusoids(places, config.input_width, layout=layout, rate=rate)
            return _added(f"{where}sinusoidal, {layout}, rate {rate}", table, first)
        case Learned(max_length=most):
            part, told = _part(model, side, LearnedPositions)
            table = (part or LearnedPositions(most, config.input_width)).table
            return _added(f"{where}learned{told}", table[:length], 0)
        case Rotary(layout=layout, base=base):
            return _rotary(f"{where}rotary, {layout}, base {base:g}", config, positions, length)
        case Shaw(clip=clip):
            shaw, told = _part(model, side, RelativePositions)
            keys = (shaw or RelativePositions(clip, config.head_width)).keys
            return _relative(f"{where}relative (Shaw et al.), clip {clip}{told}", keys, clip)
        case T5(buckets=buckets, max_distance=most):
            causal = side == "decoder"
            t5, told = _part(model, side, T5Bias)
            fresh = T5Bias(
                config.heads, bidirectional=not causal, buckets=buckets, max_distance=most
            )
            part = t5 or fresh
            bias = part.bias(1, length)[0, :, 0]  # of the last query, (H, L)
            if not causal:
                bias = part.bias(2 * length - 1, 2 * length - 1)[0, :, length - 1]
            name = f"{where}T5, {buckets} buckets to distance {most}{told}"
            return _biases(name, bias, 1 - length)
        case Alibi():
            offsets = torch.arange(1 - length, length)
            bias = -alibi_slopes(config.heads)[:, None] * offsets.abs()
            return _biases(f"{where}ALiBi", bias, 1 - length)
        case NoPositions():
            raise ValueError("no positions")


def _part(model: nn.Module | None, side: str, kind: type[Part]) -> tuple[Part | None, str]:
    """Find the first learned part of a stack, and say if there is none to find."""
    if model is None:
        return None, ", first random values"
    inputs = {"encoder": "source_input", "decoder": "target_input"}
    roots = [getattr(model, name, None) for name in (side, inputs[side], "input")]
    for root in roots:
        if isinstance(root, nn.Module):
            for part in root.modules():
                if isinstance(part, kind):
                    return part, ""
    raise ValueError(f"no {kind.__name__} in the {side}")


def _numbers(values: Tensor) -> Floats:
    return values.detach().double().cpu().numpy()


def _added(title: str, table: Tensor, first: int) -> PositionView:
    """Look at vectors (L, D) that are added to embeddings."""
    numbers = _numbers(table)
    products, length = numbers @ numbers.T, len(numbers)
    offsets = range(1 - length, length)
    curve = np.array([products.diagonal(offset).mean() for offset in offsets])
    return PositionView(
        *(title, numbers, "position", "feature", first, offsets),
        {"mean": curve},
        "dot product of the vectors of two positions",
    )


def _rotary(title: str, config: ModelConfig, choice: Rotary, length: int) -> PositionView:
    """Look at rotations: the cosine of each pair's angle, and q·k of two equal unit vectors."""
    width = config.head_width
    ones = torch.ones(2 * length - 1, width, dtype=torch.float64) / width**0.5
    offsets = range(1 - length, length)
    turned = rotate(ones, torch.arange(2 * length - 1), layout=choice.layout, base=choice.base)
    curve = _numbers(turned @ turned[length - 1])
    pairs = torch.arange(0, width, 2, dtype=torch.float64)
    angles = torch.arange(length)[:, None] * choice.base ** (-pairs / width)
    return PositionView(
        *(title, _numbers(angles.cos()), "position", "pair of features (cosine)", 0, offsets),
        {"equal q and k": curve},
        "q·k after rotation, of two equal vectors of length 1",
    )


def _relative(title: str, keys: Tensor, clip: int) -> PositionView:
    """Look at a vector per offset (R, E), and at how much each is like that of offset 0."""
    numbers = _numbers(keys)
    return PositionView(
        *(title, numbers, "offset", "feature of a head", -clip, range(-clip, clip + 1)),
        {"with offset 0": numbers @ numbers[clip]},
        "dot product of the vectors of two offsets",
    )


def _biases(title: str, bias: Tensor, first: int) -> PositionView:
    """Look at what is added to scores, (H, offsets), the first of them given."""
    numbers = _numbers(bias)
    heads, count = numbers.shape
    return PositionView(
        *(title, numbers, "head", "offset", 1, range(first, first + count)),
        {f"head {head + 1}": numbers[head] for head in range(heads)},
        "added to the score",
        first_column=first,
    )
