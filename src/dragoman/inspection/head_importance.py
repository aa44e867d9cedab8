"""How much each head matters, by leaving it out (Michel et al. 2019, arXiv 1905.10650, section 3).

A head that is left out gives zeros, whatever it attends to; everything else stays.
"""

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.inspection.attention_maps import AttentionKind, replaced_kernel
from dragoman.inspection.run_picture import new_figure, save_picture
from dragoman.nn import AttentionKernel, EncoderDecoder, MultiHeadAttention


@dataclass(frozen=True, slots=True)
class Head:
    """A head of a model.

    Args:
        kind: where it is.
        layer: of its stack, from 0.
        head: from 0.
    """

    kind: AttentionKind
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.kind} layer {self.layer + 1} head {self.head + 1}"


@dataclass(frozen=True, slots=True)
class HeadEffect:
    """What becomes of a model without a head.

    Args:
        head: which.
        value: what is measured without it.
        worse: by how much that is worse than with it; below zero it is better.
    """

    head: Head
    value: float
    worse: float


def all_heads(model: nn.Module) -> list[Head]:
    """Name the heads of a model: encoder, decoder, cross, by layer.

    Raises:
        ModelError: it is no Transformer that translates, or its attention forms no weights.
    """
    if not isinstance(model, EncoderDecoder):
        raise ModelError("heads are left out of Transformers that translate, and this is none")
    found: list[Head] = []
    for kind in get_args(AttentionKind):
        stack = model.encoder if kind == "encoder" else model.decoder
        for layer in range(len(stack.layers)):
            attention = _attention(model, kind, layer)
            found += [Head(kind, layer, head) for head in range(attention.heads)]
    return found


@contextmanager
def without_head(model: nn.Module, head: Head) -> Generator[None]:
    """Leave a head out as long as the block runs.

    Raises:
        ModelError: as ``all_heads``.
    """
    attention = _attention(model, head.kind, head.layer)
    with replaced_kernel(attention, _muted(attention.kernel, head.head)):
        yield


def head_effects(
    model: nn.Module, measure: Callable[[], float], whole: float, *, lower_is_better: bool
) -> Iterator[HeadEffect]:
    """Measure a model without each of its heads, one after the other.

    Args:
        model: is as it was, after and between.
        measure: of the model as it stands, such as its loss on a test set.
        whole: what that gives for the whole model.
        lower_is_better: whether less is better, as of a loss.

    Raises:
        ModelError: as ``all_heads``.
    """
    for head in all_heads(model):
        with without_head(model, head):
            value = measure()
        yield HeadEffect(head, value, value - whole if lower_is_better else whole - value)


def effect_lines(effects: Sequence[HeadEffect], whole: float, measured: str) -> list[str]:
    """Write a table, those that matter most first.

    Args:
        effects: of all heads.
        whole: what was measured with all of them.
        measured: its name and unit.
    """
    lines = [f"with all heads: {measured} {whole:.4f}", ""]
    lines.append(f"{'left out':<26}  {'is then':>9}  {'worse by':>9}")
    for effect in sorted(effects, key=lambda each: -each.worse):
        lines.append(f"{effect.head!s:<26}  {effect.value:>9.4f}  {effect.worse:>+9.4f}")
    return lines


def draw_heads(effects: Sequence[HeadEffect], path: Path, measured: str) -> None:
    """Draw each kind as PNG, a row a layer and a column a head, with the numbers.

    Raises:
        MissingExtraError: matplotlib is not installed.
        DataError: the file cannot be written.
    """
    kinds = [kind for kind in get_args(AttentionKind) if any(e.head.kind == kind for e in effects)]
    heads = 1 + max(effect.head.head for effect in effects)
    layers = 1 + max(effect.head.layer for effect in effects)
    most = max(abs(effect.worse) for effect in effects) or 1.0
    digits = 3 if most < 0.1 else 2
    wide = max(3.4, 0.62 * heads + 1)
    figure = new_figure((wide * len(kinds) + 1, max(2.8, 0.5 * layers + 1.6)), "a picture of heads")
    panels = figure.subplots(1, len(kinds), squeeze=False).ravel()
    image = None
    for axes, kind in zip(panels, kinds, strict=True):
        table = np.full((layers, heads), math.nan)
        for effect in effects:
            if effect.head.kind == kind:
                table[effect.head.layer, effect.head.head] = effect.worse
        # Orange for worse, blue for better: told apart by all eyes, white is no change.
        image = axes.imshow(table, cmap="PuOr_r", vmin=-most, vmax=most, aspect="auto")
        for (layer, head), value in np.ndenumerate(table):
            if not math.isnan(value):
                dark = abs(value) > 0.7 * most
                ink = "white" if dark else "#1b1f24"
                shown = f"{round(float(value), digits) + 0.0:.{digits}f}"  # no minus before a zero
                axes.text(head, layer, shown, ha="center", va="center", fontsize=8, color=ink)
        axes.set_title(
            {"cross": "cross-attention"}.get(kind, f"{kind} self-attention"), fontsize=10
        )
        axes.set_xticks(range(heads), [str(head + 1) for head in range(heads)])
        axes.set_yticks(range(layers), [str(layer + 1) for layer in range(layers)])
        axes.set_xlabel("head")
        axes.set_ylabel("layer")
        axes.tick_params(length=0)
    scale = figure.colorbar(image, ax=list(panels), fraction=0.04)
    scale.set_label(f"{measured}, worse by", fontsize=8)
    save_picture(figure, path)


def _attention(model: nn.Module, kind: AttentionKind, layer: int) -> MultiHeadAttention:
    if not isinstance(model, EncoderDecoder):
        raise ModelError("heads are left out of Transformers that translate, and this is none")
    stack = model.encoder if kind == "encoder" else model.decoder
    name = "cross_attention" if kind == "cross" else "attention"
    attention = stack.layers[layer].get_submodule(name)
    if not isinstance(attention, MultiHeadAttention):
        raise ModelError("linear attention forms no weights, so its heads are not left out")
    return attention


def _muted(own: AttentionKernel, head: int) -> AttentionKernel:
    """Make a kernel that attends as ``own`` does, and silences one head."""

    def kernel(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        visible: Tensor | None = None,
        *,
        scale: float | None = None,
        bias: Tensor | None = None,
        dropout: float = 0.0,
    ) -> Tensor:
        said = own(q, k, v, visible, scale=scale, bias=bias, dropout=dropout).clone()
        said[:, head] = 0
        return said

    return kernel
