"""How far a stack of layers sees, as a sketch (section 4, table 1).

Every sketch asks how the last of n positions comes to know of the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.inspection.convolution_cost import (
    contiguous_layers_to_cover,
    dilated_layers_to_cover,
)
from dragoman.inspection.run_picture import new_figure, save_picture

Link = tuple[int, int]  # from this position of the layer below to this one of the layer


@dataclass(frozen=True, slots=True)
class FieldSketch:
    """What the last position of a stack depends on.

    Args:
        name: kind of layer.
        positions: n.
        links: of each layer, the lowest first, those that lead to the last position.
        steps: longest way that a signal takes to get from the first position to the last, in
            steps; for the layer of recurrence those along the sequence.
        along: whether the links of a layer run along it, as in a recurrent one.
    """

    name: str
    positions: int
    links: tuple[tuple[Link, ...], ...]
    steps: int
    along: bool = False

    @property
    def seen(self) -> list[int]:
        """How many input positions the last one sees after each layer from the bottom up."""
        if self.along:
            return [self.positions] * len(self.links)
        counts: list[int] = []
        for depth in range(1, len(self.links) + 1):
            reached = {self.positions - 1}
            for layer in reversed(self.links[:depth]):
                reached = {below for below, above in layer if above in reached}
            counts.append(len(reached))
        return counts


def field_sketches(n: int, *, k: int = 3, r: int = 7) -> list[FieldSketch]:
    """Sketch the kinds of layers of table 1 and section 4.

    Convolutions look back only, as in a decoder, so that n positions are covered as soon as they
    can be.

    Args:
        n: positions, at least 2.
        k: kernel of convolutions, at least 2.
        r: keys of restricted self-attention, odd, at least 3: (r - 1) / 2 on each side.

    Raises:
        ValueError: a number is out of its range.
    """
    if n < 2 or k < 2 or r < 3 or r % 2 == 0:
        raise ValueError(f"n {n}, k {k}, r {r}: at least 2, 2 and 3, and r odd")
    half = r // 2
    contiguous = [tuple(range(k))] * contiguous_layers_to_cover(n, k)
    dilations = [k**depth for depth in range(dilated_layers_to_cover(n, k))]
    dilated = [tuple(step * each for each in range(k)) for step in dilations]
    near = [tuple(range(half + 1))] * -(-(n - 1) // half)
    step_by_step = tuple((place, place + 1) for place in range(n - 1))
    return [
        FieldSketch("self-attention", n, (_cone(n, [tuple(range(n))])[0],), 1),
        FieldSketch(f"restricted self-attention, r = {r}", n, _cone(n, near), len(near)),
        FieldSketch("recurrent", n, (step_by_step,), n - 1, along=True),
        FieldSketch(f"convolution, k = {k}", n, _cone(n, contiguous), len(contiguous)),
        FieldSketch(f"dilated convolution, k = {k}", n, _cone(n, dilated), len(dilated)),
    ]


def _cone(n: int, looks_back: Sequence[Sequence[int]]) -> tuple[tuple[Link, ...], ...]:
    """Follow what each layer reads, so many positions back, from the last position down."""
    reached = {n - 1}
    layers: list[tuple[Link, ...]] = []
    for back in reversed(looks_back):
        links = [(above - each, above) for above in sorted(reached) for each in back]
        links = [link for link in links if link[0] >= 0]
        reached = {below for below, _ in links}
        layers.append(tuple(links))
    return tuple(reversed(layers))


def field_lines(sketches: Sequence[FieldSketch]) -> list[str]:
    """Write what each kind needs to connect all positions."""
    wide = max(len(sketch.name) for sketch in sketches)
    n = sketches[0].positions
    lines = [f"how the last of {n} positions comes to know of the first", ""]
    lines.append(f"{'kind of layer':<{wide}}  layers  steps  positions seen after each layer")
    for sketch in sketches:
        seen = sketch.seen
        shown = " ".join(map(str, seen[:8])) + (f" ... {seen[-1]}" if len(seen) > 8 else "")
        lines.append(f"{sketch.name:<{wide}}  {len(seen):>6}  {sketch.steps:>5}  {shown}")
    return lines


def draw_fields(sketches: Sequence[FieldSketch], path: Path) -> None:
    """Draw each sketch as PNG, a row of dots a layer, inputs at the bottom.

    Raises:
        MissingExtraError: matplotlib is not installed.
        DataError: the file cannot be written.
    """
    heights = [1.1 + 0.45 * len(sketch.links) for sketch in sketches]
    wide = max(7.0, 0.42 * sketches[0].positions + 1.5)
    figure = new_figure((wide, sum(heights)), "a picture of receptive fields")
    panels = figure.subplots(len(sketches), 1, height_ratios=heights, squeeze=False).ravel()
    for axes, sketch in zip(panels, sketches, strict=True):
        _draw(axes, sketch)
    save_picture(figure, path)


def _draw(axes: Any, sketch: FieldSketch) -> None:  # Any: half of matplotlib has no types
    depth, n = len(sketch.links), sketch.positions
    style: dict[str, Any] = {"color": "#0072B2", "linewidth": 1.0, "alpha": 0.7}
    reached: list[set[int]] = [set() for _ in range(depth + 1)]
    reached[depth].add(n - 1)
    for number, layer in enumerate(sketch.links, start=1):
        for below, above in layer:
            reached[number].add(above)
            if sketch.along:
                arrow = {"arrowstyle": "->", "color": "#0072B2", "linewidth": 1.2}
                axes.annotate("", (above - 0.12, 1), (below + 0.12, 1), arrowprops=arrow)
                axes.plot([below, below], [0, 1], **style)
                reached[1].add(below)
                reached[0] |= {below, above}
            else:
                axes.plot([below, above], [number - 1, number], **style)
                reached[number - 1].add(below)
    if sketch.along:
        axes.plot([n - 1, n - 1], [0, 1], **style)
    for number, places in enumerate(reached):
        idle = [place for place in range(n) if place not in places]
        axes.scatter(idle, [number] * len(idle), s=34, color="#DDDDDD", zorder=3)
        busy = sorted(places)
        axes.scatter(busy, [number] * len(busy), s=34, color="#0072B2", zorder=3)
    axes.scatter([n - 1], [depth], s=90, color="#D55E00", zorder=4)
    layers = f"{depth} layer{'s' if depth > 1 else ''}"
    steps = f"{sketch.steps} step{'s' if sketch.steps > 1 else ''}"
    axes.set_title(f"{sketch.name}: {layers}, longest way {steps}", fontsize=10, loc="left")
    axes.set_yticks(range(depth + 1), ["input", *(f"layer {each + 1}" for each in range(depth))])
    axes.set_xticks([])
    axes.tick_params(length=0, labelsize=8)
    axes.set_xlim(-0.6, n - 0.4)
    axes.set_ylim(-0.4, depth + 0.4)
    for spine in axes.spines.values():
        spine.set_visible(False)
