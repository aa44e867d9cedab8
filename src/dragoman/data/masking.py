"""Sequences with pieces taken out, for encoders that fill them in (arXiv 1810.04805, 3.1).

Shapes: B sequences, S positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.data.batching import Batches, pad_rows
from dragoman.data.planning import BatchPlan, Integers
from dragoman.data.sharing import real_width
from dragoman.data.store import IdStore
from dragoman.tokenization import SpecialIds

FRAME = 2  # a sequence begins with the start symbol and ends with the end symbol
HIDDEN, REPLACED = 0.8, 0.1  # of the chosen pieces; the others stay as they are


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaskedBatch:
    """Sequences to repair; the unknown symbol, which no text contains, stands for a gap."""

    examples: Integers  # which sequences, (B,)
    inputs: Tensor  # int64, (B, S)
    targets: Tensor  # int64, (B, S); padding where nothing is asked
    target_tokens: int  # pieces asked for
    padding: int  # its id

    def rows(self, index: Integers) -> "MaskedBatch":
        """Choose rows, in the order of ``index``, without the columns that only others fill."""
        inputs, targets = self.inputs[torch.as_tensor(index)], self.targets[torch.as_tensor(index)]
        width = real_width(inputs, self.padding)
        return MaskedBatch(
            examples=self.examples[index],
            inputs=inputs[:, :width],
            targets=targets[:, :width],
            target_tokens=int((targets != self.padding).sum()),
            padding=self.padding,
        )

    def unasked(self) -> "MaskedBatch":
        """Give the same rows with nothing to repair."""
        nothing = torch.full_like(self.targets, self.padding)
        return replace(self, targets=nothing, target_tokens=0)


def masked_batches(
    sequences: IdStore,
    *,
    share: float,
    vocabulary: int,
    budget: int,
    special: SpecialIds,
    seed: int,
    shuffle: bool = True,
) -> Batches[MaskedBatch]:
    """Make batches of sequences with gaps; each epoch has gaps of its own.

    Without shuffling, the gaps of a sequence depend on the seed and its number alone, so that a
    validation does not depend on the size of the batches.

    Args:
        sequences: bare pieces, (N,).
        share: of the pieces that are asked for; 0.15 in BERT.
        vocabulary: how many pieces there are, for those put in at random.
        budget: most rows x longest row, added symbols included.
        special: ids of the symbols.
        seed: 0 or more.
        shuffle: off for validation.
    """
    ones = np.ones(len(sequences), dtype=np.int64)
    plan = BatchPlan.of(sequences.lengths + FRAME, ones, budget=budget)

    def collate(examples: Integers, rng: np.random.Generator) -> MaskedBatch:
        rows = [sequences[int(example)] for example in examples]
        luck: np.random.Generator | list[np.random.Generator] = rng
        if not shuffle:
            luck = [np.random.default_rng([seed, int(example)]) for example in examples]
        batch = mask_pieces(rows, share=share, vocabulary=vocabulary, special=special, rng=luck)
        return replace(batch, examples=examples)

    return Batches(plan, collate, seed=seed, shuffle=shuffle)


def mask_pieces(
    rows: Sequence[NDArray[np.integer]],
    *,
    share: float,
    vocabulary: int,
    special: SpecialIds,
    rng: np.random.Generator | Sequence[np.random.Generator],
) -> MaskedBatch:
    """Choose pieces to ask for: most become gaps, some other pieces, some stay.

    Every sequence with a piece is asked for at least one, so that no batch is empty.

    Args:
        rows: bare pieces of each sequence.
        share: of the pieces that are asked for.
        vocabulary: how many pieces there are.
        special: ids of the symbols.
        rng: draws the gaps; of all, or one for each sequence.

    Returns:
        A batch whose examples are numbered from 0.
    """
    luck = [rng] * len(rows) if isinstance(rng, np.random.Generator) else rng
    inputs: list[NDArray[np.int64]] = []
    targets: list[NDArray[np.int64]] = []
    for row, draw in zip(rows, luck, strict=True):
        pieces = row.astype(np.int64)
        chosen = draw.random(pieces.size) < share
        if pieces.size and not chosen.any():
            chosen[int(draw.integers(pieces.size))] = True
        fate = draw.random(pieces.size)
        read = pieces.copy()
        read[chosen & (fate < HIDDEN)] = special.unknown
        other = chosen & (fate >= HIDDEN) & (fate < HIDDEN + REPLACED)
        read[other] = draw.integers(special.unknown + 1, vocabulary, int(other.sum()))
        asked = np.where(chosen, pieces, special.padding)
        inputs.append(framed(read, special.start, special.end))
        targets.append(framed(asked, special.padding, special.padding))
    padded = pad_rows(targets, special.padding)
    return MaskedBatch(
        examples=np.arange(len(rows)),
        inputs=pad_rows(inputs, special.padding),
        targets=padded,
        target_tokens=int((padded != special.padding).sum()),
        padding=special.padding,
    )


def framed(pieces: NDArray[np.int64], first: int, last: int) -> NDArray[np.int64]:
    """Put a symbol before and one after."""
    return np.concatenate(([first], pieces, [last]))


def frame(pieces: list[int], special: SpecialIds) -> list[int]:
    """Put the start symbol before pieces and the end symbol after."""
    return [special.start, *pieces, special.end]
