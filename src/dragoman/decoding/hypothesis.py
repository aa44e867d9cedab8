"""What every search is told and gives back, as ids."""

import math
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from dragoman.data import Frame


@dataclass(frozen=True, slots=True)
class Symbols:
    """Ids that a search treats apart.

    Args:
        start: is fed first and never returned.
        end: ends a hypothesis.
        banned: are never chosen, such as padding; the other probabilities stay as they are.
        before: are fed before the start, what they say is not asked for.
    """

    start: int
    end: int
    banned: tuple[int, ...] = ()
    before: tuple[int, ...] = ()

    @classmethod
    def of(cls, frame: Frame) -> "Symbols":
        """Take those of a model."""
        *before, start = frame.target_before
        return cls(start, frame.special.end, frame.never_written, tuple(before))


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation as ids.

    Args:
        ids: generated pieces, a forced prefix included, start and end symbol not.
        log_probs: natural logarithms, one per piece; the end symbol's is the last unless truncated.
        score: their sum over the length penalty, with what the controls of a search change in it.
        truncated: it reached the limit before it ended.
    """

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    score: float
    truncated: bool

    @property
    def log_prob(self) -> float:
        """Log-probability of the whole."""
        return math.fsum(self.log_probs)


def items(numbers: Tensor) -> list[Any]:  # Any: integers or floats, as the tensor holds
    """List the numbers of a tensor, row by row."""
    return numbers.flatten().tolist()  # pyright: ignore  # torch does not say of what
