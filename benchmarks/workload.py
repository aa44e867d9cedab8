"""What every side trains: one model, one loss, one optimizer, on the same batches.

Shapes: B pairs, S source and T target positions. Sizes in FLOP count a multiply-add as two.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

PADDING, START, END, UNKNOWN = 0, 1, 2, 3  # as Dragoman's tokenizer numbers them


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The model and how it is trained; a size the sides cannot share is not here.

    All are post-norm without a norm after the stacks, with sinusoids, ReLU, scaled embeddings, one
    table for source, target and output, and biases in all layers but the output.
    """

    layers: int = 3
    d_model: int = 256
    d_ff: int = 1024
    heads: int = 4
    dropout: float = 0.1  # of sub-layer outputs and of embedding + position
    attention_dropout: float = 0.0
    smoothing: float = 0.1
    rate: float = 3e-4
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-9
    seed: int = 1
    vocabulary: int = 8_000
    precision: str = "fp32"  # of Dragoman's side


@dataclass(frozen=True, slots=True, eq=False)
class PlainBatch:
    """Ids padded on the right with ``PADDING``.

    Args:
        source: pieces, end; int64, (B, S).
        target_in: start, pieces; int64, (B, T).
        target_out: pieces, end; int64, (B, T).
    """

    source: Tensor
    target_in: Tensor
    target_out: Tensor

    @property
    def target_tokens(self) -> int:
        """Real targets, padding not counted."""
        return int((self.target_out != PADDING).sum())

    @property
    def counts(self) -> dict[str, int]:
        """Slots and real tokens of both sides."""
        return {
            "source_slots": self.source.numel(),
            "source_tokens": int((self.source != PADDING).sum()),
            "target_slots": self.target_out.numel(),
            "target_tokens": self.target_tokens,
        }


def useful_flop(setup: Setup, batch: PlainBatch) -> int:
    """Count what the matrix products of one update need for real tokens.

    Backward costs twice the forward pass: each product has one for either factor.
    """
    sources = (batch.source != PADDING).sum(1)
    targets = (batch.target_out != PADDING).sum(1)
    source, target = int(sources.sum()), int(targets.sum())
    d = setup.d_model
    projection, inner = 2 * d * d, 4 * d * setup.d_ff  # for each token
    pairs = int((sources * sources + targets * (targets + 1) // 2 + sources * targets).sum())
    encoder = source * (4 * projection + inner)
    decoder = target * (6 * projection + inner) + source * 2 * projection
    attention = pairs * 4 * d  # scores and mixtures; a target sees itself and what is before it
    output = target * 2 * d * setup.vocabulary
    return 3 * (setup.layers * (encoder + decoder + attention) + output)


def write_batches(path: Path, batches: list[PlainBatch]) -> None:
    """Keep batches for all sides."""
    arrays = {
        f"{number}.{name}": getattr(batch, name).numpy().astype(np.int32)
        for number, batch in enumerate(batches)
        for name in PlainBatch.__slots__
    }
    np.savez(path, **arrays)


def read_batches(path: Path) -> Iterator[PlainBatch]:
    """Read them again, in their order."""
    with np.load(path, allow_pickle=False) as arrays:
        for number in range(len(arrays.files) // len(PlainBatch.__slots__)):
            yield PlainBatch(
                *(
                    torch.from_numpy(arrays[f"{number}.{name}"].astype(np.int64))
                    for name in PlainBatch.__slots__
                )
            )


def as_table(setup: Setup) -> dict[str, object]:
    """Say it for a results file."""
    return asdict(setup)
