"""How much each head matters, by leaving it out (Michel et al. 2019, arXiv 1905.10650, section 3).

A head that is left out gives zeros, whatever it attends to; everything else stays.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import get_args

from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.inspection.attention_maps import AttentionKind, replaced_kernel
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
