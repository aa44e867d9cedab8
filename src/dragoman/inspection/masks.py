"""Who may look at whom, as the attention of a model is told (section 3.2.3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.inspection.run_picture import new_figure, save_picture
from dragoman.models import AnyConfig, ModelConfig, build_model
from dragoman.nn import (
    Causal,
    LinearAttention,
    Local,
    MultiHeadAttention,
    Pattern,
    Sparse,
    combine,
    padding_mask,
)


@dataclass(frozen=True, slots=True)
class NamedMask:
    """One mask.

    Args:
        name: says which.
        visible: boolean, (Q, K); True means "may attend".
    """

    name: str
    visible: npt.NDArray[np.bool_]

    def lines(self) -> list[str]:
        """Draw it as text: a block where a row may look."""
        rows = [" ".join("█" if seen else "·" for seen in row) for row in self.visible.tolist()]
        return [self.name, *(f"  {row}" for row in rows)]


def mask_kinds(
    length: int, padded: int, *, keys: int = 5, global_positions: Sequence[int] = (0,)
) -> list[NamedMask]:
    """Show each kind of mask alone, over ``length`` positions.

    Args:
        length: positions, those of padding included.
        padded: how many at the end are padding.
        keys: window of the local ones, centred on the query.
        global_positions: of the sparse one.
    """
    places = tuple(global_positions)
    named = ", ".join(str(place) for place in places)
    masks = {
        "padding: no row sees it": None,
        "causal: itself and those before": Causal(),
        f"local: {keys} keys around": Local(keys // 2),
        f"local and causal: {keys // 2} before and itself": Local(keys // 2, causal=True),
        f"sparse: {keys} keys around, global {named}": Sparse(keys // 2, places),
        f"sparse and causal, global {named}": Sparse(keys // 2, places, causal=True),
    }
    return [
        NamedMask(name, _visible(pattern, length, length, 0 if pattern else padded))
        for name, pattern in masks.items()
    ]


def model_masks(config: AnyConfig, length: int, padded: int) -> list[NamedMask]:
    """Show what the attention of a model may see in a batch, layer by layer the same.

    Args:
        config: every choice; what only the data knows must be set.
        length: positions of source and target, those of padding included.
        padded: how many at the end are padding.

    Raises:
        ModelError: it is no Transformer, which alone has masks.
    """
    if not isinstance(config, ModelConfig):
        raise ModelError(f"masks are of Transformers, and this model is {config.architecture}")
    with torch.device("meta"):
        model = build_model(config)
    found: list[NamedMask] = []
    said = f", {padded} of padding" if padded else ""
    for name in ("encoder", "decoder"):
        stack = getattr(model, name, None)
        if stack is None:
            continue
        pattern = _pattern(stack.layers[0].attention)
        seen = _visible(pattern, length, length, padded)
        found.append(NamedMask(f"{name} self-attention: {_named(pattern)}{said}", seen))
        if getattr(stack.layers[0], "cross_attention", None) is not None:
            seen = _visible(None, length, length, padded)
            found.append(NamedMask(f"cross-attention: all of the source{said}", seen))
    return found


def draw_masks(masks: Sequence[NamedMask], path: Path) -> None:
    """Draw masks as PNG: dark where a row may look.

    Raises:
        MissingExtraError: matplotlib is not installed.
        DataError: the file cannot be written.
    """
    across = min(3, len(masks))
    down = math.ceil(len(masks) / across)
    figure = new_figure((3.6 * across, 3.7 * down + 0.3), "a picture of masks")
    for panel, mask in zip(
        figure.subplots(down, across, squeeze=False).ravel(),
        [*masks, *[None] * (across * down - len(masks))],
        strict=True,
    ):
        if mask is None:
            panel.axis("off")
            continue
        panel.imshow(mask.visible, cmap="Blues", vmin=0, vmax=1.3, interpolation="nearest")
        panel.set_title(mask.name.replace(": ", ":\n", 1), fontsize=9)
        length = len(mask.visible)
        step = max(1, length // 8)
        panel.set_xticks(range(0, length, step))
        panel.set_yticks(range(0, length, step))
        panel.set_xticks(np.arange(0.5, length - 1), minor=True)
        panel.set_yticks(np.arange(0.5, length - 1), minor=True)
        panel.grid(which="minor", color="#CCCCCC", linewidth=0.5)
        panel.tick_params(which="both", length=0, labelsize=8)
        panel.set_ylabel("position that looks", fontsize=8)
        panel.set_xlabel("position looked at; dark: may be seen", fontsize=8)
    save_picture(figure, path)


def _pattern(attention: nn.Module) -> Pattern | None:
    if isinstance(attention, LinearAttention):
        return Causal() if attention.causal else None
    assert isinstance(attention, MultiHeadAttention)
    return attention.pattern


def _named(pattern: Pattern | None) -> str:
    match pattern:
        case Local(half_width=half, causal=causal):
            return f"{half} before and itself" if causal else f"{2 * half + 1} keys around"
        case Sparse(half_width=half, global_positions=places):
            return f"{2 * half + 1} keys around, global {', '.join(map(str, places))}"
        case None:
            return "all positions"
        case _:
            return "itself and those before"


def _visible(
    pattern: Pattern | None, queries: int, keys: int, padded: int
) -> npt.NDArray[np.bool_]:
    """Join the masks as attention joins them."""
    ids = torch.ones(1, keys, dtype=torch.int64)
    ids[:, keys - padded :] = 0
    by_place = None if pattern is None else pattern.mask(queries, keys, device=ids.device)
    seen = combine(padding_mask(ids, 0)[0, 0], by_place)
    assert isinstance(seen, Tensor)
    return np.broadcast_to(seen.numpy(), (queries, keys))
