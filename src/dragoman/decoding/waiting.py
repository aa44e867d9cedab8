"""Who waits for the sentences of a search: told of each once it is done, and free to go."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T_contra = TypeVar("T_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Waiter(Generic[T_contra]):
    """Waits for several results, each of which may come before the others.

    Args:
        wants: whether the one at a place, from 0, is still waited for; asked before every step, so
            it must be quick. One that is not is broken off.
        take: is given the one at a place, once, as soon as it is there. Both are called by the
            thread that searches, of which there may be several.
    """

    wants: Callable[[int], bool]
    take: Callable[[int, T_contra], None]

    def among(self, places: Sequence[int]) -> "Waiter[T_contra]":
        """Wait for some of the results, which are numbered from 0 there."""
        return Waiter(
            lambda place: self.wants(places[place]),
            lambda place, result: self.take(places[place], result),
        )


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """Why a sentence has no translation: its search was not ended."""

    def __str__(self) -> str:
        return "broken off, as nobody waited for it any more"
