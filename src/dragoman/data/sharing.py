"""The batches of one update divided over processes: each example is in exactly one share."""

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

import numpy as np
from torch import Tensor

from dragoman.data.planning import Integers


class Divisible(Protocol):
    """A batch whose rows can be told apart; every kind of batch is one."""

    @property
    def examples(self) -> Integers:
        """Which example each row is, (B,); enough to name it in a message."""
        ...

    @property
    def target_tokens(self) -> int:
        """What is asked of all rows."""
        ...

    def rows(self, index: Integers) -> Self:
        """Choose rows, in the order of ``index``, without the columns that only others fill."""
        ...

    def unasked(self) -> Self:
        """Give the same rows with nothing asked of them."""
        ...


D = TypeVar("D", bound=Divisible)


def share(window: Sequence[D], rank: int, ranks: int) -> list[D]:
    """Give one of several processes its part of an update.

    Whole batches go round in turn when there are as many for each process; otherwise every batch is
    divided by rows, and a process gets nothing of a batch that has too few.

    Args:
        window: the batches of the update, the same in every process.
        rank: which process, from 0.
        ranks: how many there are.

    Raises:
        ValueError: there is no such process.
    """
    if not 0 <= rank < ranks:
        raise ValueError(f"rank: there is no process {rank} of {ranks}")
    if len(window) % ranks == 0:
        return list(window[rank::ranks])
    parts = ((batch, np.arange(rank, batch.examples.size, ranks)) for batch in window)
    return [batch.rows(index) for batch, index in parts if index.size]


def placeholder(batch: D) -> D:
    """Give one row with nothing asked, for a process without a share that must keep step.

    The summed loss and its gradients are 0, and so is ``target_tokens``.
    """
    return batch.rows(np.zeros(1, dtype=np.int64)).unasked()


def real_width(rows: Tensor, padding: int) -> int:
    """Count the columns up to the last one that holds more than padding.

    Args:
        rows: ids, (B, S), padded on the right, each with at least one that is real.
        padding: id of the padding.
    """
    return int((rows != padding).any(0).nonzero().max()) + 1
