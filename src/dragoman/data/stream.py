"""Running text cut into windows, for language models.

All documents lie one after the other, each with a start and an end symbol. A window is ``context``
pieces to read and, one further on, as many to say. Where windows begin is drawn anew in each epoch,
so that pieces meet different pasts. Shapes: W windows, C pieces of context, B windows of a batch.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.data.batching import Batches
from dragoman.data.planning import Integers, Shapes
from dragoman.data.sharing import real_width
from dragoman.tokenization import SpecialIds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StreamBatch:
    """Windows of running text; a start symbol is read but never to be said."""

    examples: Integers  # the places in the stream where windows begin, (B,); below 0 if cut short
    inputs: Tensor  # int64, (B, C)
    targets: Tensor  # int64, (B, C); padding where nothing is to be said
    target_tokens: int  # of targets, padding not counted
    padding: int  # its id

    def rows(self, index: Integers) -> "StreamBatch":
        """Choose windows, in the order of ``index``, without the columns that only others fill."""
        inputs, targets = self.inputs[torch.as_tensor(index)], self.targets[torch.as_tensor(index)]
        width = real_width(inputs, self.padding)
        return StreamBatch(
            examples=self.examples[index],
            inputs=inputs[:, :width],
            targets=targets[:, :width],
            target_tokens=int((targets != self.padding).sum()),
            padding=self.padding,
        )

    def unasked(self) -> "StreamBatch":
        """Give the same windows with nothing to say."""
        nothing = torch.full_like(self.targets, self.padding)
        return replace(self, targets=nothing, target_tokens=0)


def text_stream(documents: Iterable[Sequence[int]], special: SpecialIds) -> NDArray[np.int32]:
    """Put documents one after the other: start, pieces, end; (I,)."""
    parts: list[NDArray[np.int32]] = []
    for pieces in documents:
        parts.append(np.array([special.start, *pieces, special.end], dtype=np.int32))
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)


class WindowPlan:
    """Which windows of a stream share a batch; examples are the places where windows begin.

    Args:
        length: pieces I in the stream.
        context: pieces C of a window.
        rows: windows B in a batch.

    Raises:
        ValueError: the stream is too short to say anything.
    """

    def __init__(self, length: int, *, context: int, rows: int) -> None:
        if length < 2:
            raise ValueError(f"a stream of {length} pieces has nothing to predict")
        self._length, self._context, self._rows = length, context, rows
        self._windows = -(-(length - 1) // context)

    def __len__(self) -> int:
        return -(-self._windows // self._rows)

    def deal(self, rng: np.random.Generator | None = None) -> list[Integers]:
        """Give each batch the places where its windows begin; every piece is said once.

        Args:
            rng: draws where the first window ends, and shuffles the windows; without it they lie
                side by side from the beginning.
        """
        starts = np.arange(self._windows, dtype=np.int64) * self._context
        if rng is not None:
            # Shifted back, the first window is shorter, and one more may come at the end, which
            # the last batch of the plan takes in.
            starts -= int(rng.integers(0, self._context))
            end = int(starts[-1]) + self._context
            if end < self._length - 1:
                starts = np.append(starts, end)
            starts = rng.permutation(starts)
        return np.array_split(starts, len(self))

    def shapes(self) -> Shapes:
        """Bound the shape of each batch: one window more than without shifting may come."""
        most = self._windows + ((self._windows - 1) * self._context + 1 < self._length - 1)
        rows = np.array([part.size for part in np.array_split(np.arange(most), len(self))])
        return Shapes(rows, np.full_like(rows, self._context), np.zeros_like(rows))

    def heaviest(self, number: int) -> Integers:
        """Choose as many full windows as batch ``number`` of ``shapes`` has, (B,)."""
        starts = np.arange(self.shapes().rows[number], dtype=np.int64) * self._context
        return np.minimum(starts, max(0, self._length - 1 - self._context))


def stream_batches(
    stream: NDArray[np.integer],
    *,
    context: int,
    budget: int,
    special: SpecialIds,
    seed: int,
    shuffle: bool = True,
) -> Batches[StreamBatch]:
    """Make batches of windows.

    Args:
        stream: as ``text_stream`` gives it.
        context: pieces of a window.
        budget: most pieces in a batch; at least one window.
        special: ids of the symbols.
        seed: 0 or more.
        shuffle: off for validation.

    Raises:
        ValueError: the stream is too short to say anything.
    """
    plan = WindowPlan(stream.size, context=context, rows=max(1, budget // context))
    return Batches(
        plan,
        lambda examples, rng: cut_windows(stream, examples, context=context, special=special),
        seed=seed,
        shuffle=shuffle,
    )


def cut_windows(
    stream: NDArray[np.integer], starts: Integers, *, context: int, special: SpecialIds
) -> StreamBatch:
    """Cut windows out of a stream; those that begin before or end behind it are shorter."""
    inputs = np.full((len(starts), context), special.padding, dtype=np.int64)
    targets = inputs.copy()
    for row, start in enumerate(starts):
        piece = stream[max(int(start), 0) : int(start) + context + 1]
        inputs[row, : piece.size - 1], targets[row, : piece.size - 1] = piece[:-1], piece[1:]
    targets[targets == special.start] = special.padding
    count = int((targets != special.padding).sum())
    return StreamBatch(
        examples=starts,
        inputs=torch.as_tensor(inputs),
        targets=torch.as_tensor(targets),
        target_tokens=count,
        padding=special.padding,
    )
