"""Sources being decoded together: feed ids, get log-probabilities, keep or drop rows.

A session is a value: ``step`` and ``select`` return the next one. Each is used once, so that the
next may take over the memory of the last.

Shapes: S sentences, W rows each, R = S·W rows, V vocabulary. Row w of sentence s is s·W + w. All
ids and indices are int64 and lie on the device of the session.
"""

from collections.abc import Iterable
from typing import Protocol, Self, TypeVar, runtime_checkable

import torch
from torch import Tensor

NO_COVERAGE = "this model forms no attention weights over the source to tell what was covered"


class Session(Protocol):
    """What a search needs to know of a model and the sources that it has read.

    A new session has one row per sentence and has been fed nothing.
    """

    @property
    def sentences(self) -> int:
        """How many sentences S are being decoded."""
        ...

    @property
    def device(self) -> torch.device:
        """Where ids and indices are expected."""
        ...

    def step(self, ids: Tensor) -> tuple[Tensor, Self]:
        """Feed one id to each row.

        Args:
            ids: (R,).

        Returns:
            Log-probabilities (natural, float32 or float64) of the piece that follows in each row,
            (R, V), which the caller may overwrite; and the session after the step.
        """
        ...

    def select(self, rows: Tensor, sentences: Tensor | None) -> Self:
        """Keep some rows and sentences, drop the others.

        Args:
            rows: old rows in their new order, repeated where a row goes on twice, (R',). With S'
                sentences kept, the new row i belongs to the kept sentence i // (R' / S').
            sentences: old sentences in their new order, (S',); None keeps all in their order.
        """
        ...


@runtime_checkable
class CoveringSession(Protocol):
    """What a session besides knows that has noted how its hypotheses attend to their sources."""

    def coverage(self, beta: float) -> Tensor:
        """Give the coverage penalty of each row fed in the last step, (R,) on the CPU."""
        ...


S = TypeVar("S", bound=Session)


def fed(session: S, ids: Iterable[int]) -> S:
    """Feed every row the same ids, whatever the model says of what should follow them."""
    for each in ids:
        _, session = session.step(torch.full((session.sentences,), each, device=session.device))
    return session
