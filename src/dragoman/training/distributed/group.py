"""The processes of one run, as each of them sees it; a run of one process needs no others.

Processes share the work of an update: each sums the gradients of its part, the sums are added over
all, and every process then makes the same update.
"""

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, Protocol

import torch
from torch import Tensor


class Group(Protocol):
    """The processes of a run, as each of them sees it. All must call the same things in order."""

    @property
    def rank(self) -> int:
        """Number of this process, from 0."""
        ...

    @property
    def size(self) -> int:
        """Number of processes."""
        ...

    @property
    def leader(self) -> bool:
        """Whether this is process 0, which alone writes files and lines of progress."""
        ...

    @property
    def device(self) -> torch.device:
        """Where this process computes."""
        ...

    def sum_(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors, of the same shapes everywhere, by their sums over all processes."""
        ...

    def copy_(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors by those of the leader."""
        ...

    def agree(self, values: Tensor, by: Literal["sum", "max"] = "sum") -> Tensor:
        """Give the sums or the largest of a few numbers over all processes."""
        ...

    def tell(self, text: str) -> str:
        """Give the leader's text to all; that of the others is not looked at."""
        ...

    def collect(self, text: str) -> list[str]:
        """Give everyone's text to all, in the order of ranks."""
        ...

    def wait(self) -> None:
        """Go on when all have come here."""
        ...

    def guard(self) -> AbstractContextManager[None, bool | None]:
        """Make a context that ends every process soon after one ends with an error."""
        ...

    def leave(self) -> None:
        """Take leave of the others, when the work is done."""
        ...


class Alone:
    """The group of a run with one process: everything is true already.

    Args:
        device: where it computes.
    """

    rank, size, leader = 0, 1, True

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)

    def sum_(self, tensors: Sequence[Tensor]) -> None:
        """Leave them."""

    def copy_(self, tensors: Sequence[Tensor]) -> None:
        """Leave them."""

    def agree(self, values: Tensor, by: Literal["sum", "max"] = "sum") -> Tensor:
        """Give them back."""
        return values.clone()

    def tell(self, text: str) -> str:
        """Give it back."""
        return text

    def collect(self, text: str) -> list[str]:
        """Give the one there is."""
        return [text]

    def wait(self) -> None:
        """Go on."""

    @contextmanager
    def guard(self) -> Generator[None]:
        """Let errors pass."""
        yield

    def leave(self) -> None:
        """Do nothing."""
