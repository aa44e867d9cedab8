"""Batches of sentence pairs as tensors, in an order that can be taken up anywhere (section 5.1).

Shapes: N pairs, B pairs of one batch, S longest source, T longest target. A source ends in the end
symbol, and so does what the decoder is to say, while what it reads begins with the start symbol;
unless the model has another frame (see ``framing.py``).
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.data.cells import Lengths
from dragoman.data.framing import Frame
from dragoman.data.planning import Dealt, Integers, Shapes
from dragoman.data.redrawing import Redraw
from dragoman.data.saved_plan import saved_plan
from dragoman.data.sharing import real_width
from dragoman.data.store import IdStore, PairLengths
from dragoman.errors import CheckpointError
from dragoman.tokenization import SpecialIds

B = TypeVar("B", covariant=True)  # what a batch is


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Pairs padded on the right; the decoder reads ``target_in`` to say ``target_out``."""

    pairs: Integers  # which, (B,)
    source: Tensor  # pieces, end; int64, (B, S)
    target_in: Tensor  # start, pieces; int64, (B, T)
    target_out: Tensor  # pieces, end; int64, (B, T)
    target_tokens: int  # of target_out, padding not counted
    padding: int  # its id

    @property
    def examples(self) -> Integers:
        """The pairs, (B,), by the name that every kind of batch has for its examples."""
        return self.pairs

    def rows(self, index: Integers) -> "Batch":
        """Choose rows, in the order of ``index``, without the columns that only others fill."""
        chosen = torch.as_tensor(index)
        source, target_in = self.source[chosen], self.target_in[chosen]
        width = real_width(self.target_out[chosen], self.padding)  # a start may be padding
        target_out = self.target_out[chosen, :width]
        return Batch(
            pairs=self.pairs[index],
            source=source[:, : real_width(source, self.padding)],
            target_in=target_in[:, :width],
            target_out=target_out,
            target_tokens=int((target_out != self.padding).sum()),
            padding=self.padding,
        )

    def unasked(self) -> "Batch":
        """Give the same rows with nothing to say."""
        nothing = torch.full_like(self.target_out, self.padding)
        return replace(self, target_out=nothing, target_tokens=0)


def collate(
    pairs: Integers, sources: IdStore, targets: IdStore, special: SpecialIds | Frame
) -> Batch:
    """Put the pairs of a batch into tensors, on the CPU."""
    frame = Frame.of(special)
    padding = frame.special.padding
    rows = pairs.tolist()
    target_pieces = [targets[pair].tolist() for pair in rows]
    return Batch(
        pairs=pairs,
        source=pad_rows([frame.source(sources[pair].tolist()) for pair in rows], padding),
        target_in=pad_rows([frame.target_in(pieces) for pieces in target_pieces], padding),
        target_out=pad_rows([frame.target_out(pieces) for pieces in target_pieces], padding),
        target_tokens=sum(len(pieces) + 1 for pieces in target_pieces),  # and the end symbol
        padding=padding,
    )


def pad_rows(rows: Sequence[Sequence[int] | NDArray[np.integer]], padding: int) -> Tensor:
    """Put rows of ids into one tensor, (B, longest), int64, padded on the right."""
    lengths = np.array([len(row) for row in rows])
    padded = np.full((len(rows), lengths.max()), padding, dtype=np.int64)
    padded[np.arange(lengths.max()) < lengths[:, None]] = np.concatenate(rows)
    return torch.as_tensor(padded)


class Plan(Protocol):
    """Which examples share a batch."""

    def __len__(self) -> int: ...

    def deal(self, rng: np.random.Generator | None = None) -> Dealt:
        """Give each batch of an epoch its examples; shuffled when there is an ``rng``."""
        ...

    def shapes(self) -> Shapes:
        """Bound the shape of each batch, whatever epoch it is dealt for."""
        ...

    def heaviest(self, number: int) -> Integers:
        """Choose examples that give batch ``number`` of ``shapes`` all of its size, (B,)."""
        ...


class Collate(Protocol[B]):
    """How examples become a batch."""

    def __call__(self, examples: Integers, rng: np.random.Generator) -> B:
        """Put examples into tensors; ``rng`` is for what is random in a batch, such as masks."""
        ...


class Batches(Generic[B]):
    """Training batches without end, epoch after epoch, each epoch in an order of its own.

    Order and content follow from the plan, the seed, the epoch and the place in it alone; they know
    nothing of processes or hashes. ``state`` and ``restore`` continue them exactly.

    Args:
        plan: which examples share a batch.
        collate: makes a batch of them.
        seed: 0 or more.
        shuffle: off for validation: every epoch is the same, similar lengths together.
        fill: makes a batch as large as its plan allows, for ``largest``; ``collate`` unless given.
    """

    def __init__(
        self,
        plan: Plan,
        collate: Collate[B],
        *,
        seed: int,
        shuffle: bool = True,
        fill: Collate[B] | None = None,
    ) -> None:
        self._plan, self._collate, self._fill = plan, collate, fill or collate
        self._seed, self._shuffle = seed, shuffle
        self._epoch, self._batch = 1, 0
        self._order = self._deal()

    @property
    def epoch(self) -> int:
        """The epoch of the next batch, from 1."""
        return self._epoch

    @property
    def batches_in_epoch(self) -> int:
        """Batches of an epoch, the same in each."""
        return len(self._plan)

    def next_batch(self) -> B:
        """Give the next batch."""
        batch = self._make(self._batch)
        self._batch += 1
        if self._batch == len(self._plan):
            self._epoch, self._batch = self._epoch + 1, 0
            self._order = self._deal()
        return batch

    def whole_epoch(self) -> Iterator[B]:
        """Give each batch of the current epoch once, without moving on; for validation."""
        return map(self._make, range(len(self._order)))

    def largest(self, count: int = 2) -> list[B]:
        """Make the batches that need most memory in any epoch, without moving on.

        In turn, that with the most slots, that with the most squares for attention, that with the
        most slots to be said, and the next of each. A batch dealt later is never larger than the
        largest here, but for a row above 64 that is alone: it may be longer by less than 1/32.

        Args:
            count: how many, all different; fewer when an epoch has no more.
        """
        numbers = self._plan.shapes().largest(count)
        rngs = (np.random.default_rng([self._seed, 0, number]) for number in numbers)
        examples = map(self._plan.heaviest, numbers)
        return [self._fill(chosen, rng) for chosen, rng in zip(examples, rngs, strict=True)]

    def at(self, state: Mapping[str, int]) -> "Batches[B]":
        """Give the same batches with a position of their own; two threads may read one each.

        Raises:
            CheckpointError: as ``restore`` does.
        """
        other = copy(self)
        other.restore(state)
        return other

    def state(self) -> dict[str, int]:
        """Say where the next batch is: its epoch, from 1, and its number in it, from 0."""
        return {"epoch": self._epoch, "batch": self._batch}

    def restore(self, state: Mapping[str, int]) -> None:
        """Go to where ``state`` was taken.

        Raises:
            CheckpointError: there is no such place, since the data or the budget was another.
        """
        epoch, batch = state.get("epoch", 0), state.get("batch", -1)
        if epoch < 1 or not 0 <= batch < len(self._plan):
            raise CheckpointError(
                f"no batch {batch} in epoch {epoch}, which has {len(self._plan)}; "
                "continue with the data and training.batch_tokens the run began with"
            )
        self._epoch, self._batch = epoch, batch
        self._order = self._deal()

    def _deal(self) -> Dealt:
        if not self._shuffle:
            return self._plan.deal()
        return self._plan.deal(np.random.default_rng([self._seed, self._epoch]))

    def _make(self, number: int) -> B:
        rng = np.random.default_rng([self._seed, self._epoch, number])
        return self._collate(self._order[number], rng)


def pair_batches(
    sources: IdStore,
    targets: IdStore,
    *,
    budget: int,
    special: SpecialIds | Frame,
    seed: int,
    shuffle: bool = True,
    redraw: Redraw | None = None,
    first: int = 0,
    folder: Path | None = None,
) -> Batches[Batch]:
    """Make batches of sentence pairs.

    Args:
        sources: pieces of each source, without special symbols, (N,).
        targets: the same of each target, (N,).
        budget: the most rows x longest row of each side, added symbols included.
        special: ids of the symbols to add, or the frame that they make.
        seed: 0 or more.
        shuffle: off for validation.
        redraw: makes each pair anew when it enters a batch.
        first: what batches call the first pair, where it is not the first of all.
        folder: where the plan is kept, for a store on disk.

    Raises:
        ValueError: there is no pair, or the sides differ in number.
    """
    frame = Frame.of(special)
    added = np.array([[frame.source_added], [frame.target_added]])
    lengths: Lengths = PairLengths(sources, targets, added=added)
    ending = "" if added.max() == 1 else "-{}-{}".format(*added.flat)

    def stored(examples: Integers, rng: np.random.Generator) -> Batch:
        batch = collate(examples, sources, targets, frame)
        return replace(batch, pairs=examples + first)

    if redraw is None:
        plan = saved_plan(lengths, budget=budget, folder=folder, name=f"stored{ending}")
        return Batches(plan, stored, seed=seed, shuffle=shuffle)
    lengths = _Planned(lengths, redraw, added)
    name = f"redrawn-{redraw.name}{ending}"
    plan = saved_plan(lengths, budget=budget, folder=folder, name=name)
    made = _Redrawn((sources, targets), frame, redraw, lengths, first)
    return Batches(plan, made, seed=seed, shuffle=shuffle, fill=made.fill)


class _Redrawn:
    """Makes batches of pairs that are made anew."""

    def __init__(
        self,
        stores: tuple[IdStore, IdStore],
        frame: Frame,
        redraw: Redraw,
        planned: Lengths,
        first: int,
    ) -> None:
        self._stores, self._frame, self._redraw = stores, frame, redraw
        self._planned, self._first = planned, first

    def __call__(self, examples: Integers, rng: np.random.Generator) -> Batch:
        drawn = [
            self._redraw(source.tolist(), target.tolist(), rng, pair=pair)
            for pair, source, target in self._stored(examples)
        ]
        return self._batch(examples, drawn)

    def fill(self, examples: Integers, rng: np.random.Generator) -> Batch:
        """Make pairs as long as planned, whatever they say: a batch to try whether it fits."""
        added = np.array([self._frame.source_added, self._frame.target_added])
        room = (self._planned.at(examples).T - added).tolist()
        long = [
            (self._repeated(source, most[0]), self._repeated(target, most[1]))
            for (_, source, target), most in zip(self._stored(examples), room, strict=True)
        ]
        return self._batch(examples, long)

    def _stored(
        self, examples: Integers
    ) -> Iterator[tuple[int, NDArray[np.integer], NDArray[np.integer]]]:
        sources, targets = self._stores
        return ((pair, sources[pair], targets[pair]) for pair in examples.tolist())

    def _repeated(self, ids: NDArray[np.integer], length: int) -> list[int]:
        return np.resize(ids if ids.size else self._frame.special.end, length).tolist()

    def _batch(self, examples: Integers, drawn: Sequence[tuple[list[int], list[int]]]) -> Batch:
        sources, targets = (IdStore.from_sequences(side) for side in zip(*drawn, strict=True))
        batch = collate(np.arange(examples.size), sources, targets, self._frame)
        return replace(batch, pairs=examples + self._first)


class _Planned:
    """Lengths that pairs may have once they are made anew."""

    def __init__(self, stored: Lengths, redraw: Redraw, added: Integers) -> None:
        self._stored, self._redraw, self._added = stored, redraw, added

    def __len__(self) -> int:
        return len(self._stored)

    def block(self, start: int, stop: int) -> Integers:
        return self._room(self._stored.block(start, stop), np.arange(start, stop))

    def at(self, pairs: Integers) -> Integers:
        return self._room(self._stored.at(pairs), pairs)

    def _room(self, lengths: Integers, pairs: Integers) -> Integers:
        bare = lengths - self._added
        return np.stack([self._redraw.planned(side, pairs) for side in bare]) + self._added
