"""Who waits for the sentences of a search: told of each once it is done, and free to go."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

T_contra = TypeVar("T_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Waiter(Generic[T_contra]):
    """Waits for several results, each of which may come before the others.

    Args:
        wants: whether the one at a place, from 0, is still waited for. One that is not is broken
            off.
        take: is given the one at a place, once, as soon as it is there.
        gone: another number whenever another one is no longer waited for; asked before every step,
            so it must be quick. Unless it is known, ``wants`` is asked before every step for each.
            All are called by the threads that search.
    """

    wants: Callable[[int], bool]
    take: Callable[[int, T_contra], None]
    gone: Callable[[], int] = field(default_factory=lambda: count().__next__)

    def among(self, places: Sequence[int]) -> "Waiter[T_contra]":
        """Wait for some of the results, which are numbered from 0 there."""
        return Waiter(
            lambda place: self.wants(places[place]),
            lambda place, result: self.take(places[place], result),
            self.gone,
        )


class Asked(Generic[T_contra]):
    """Remembers what a waiter said before the last step.

    Args:
        waiter: None when nobody waits, and so nobody goes.
    """

    def __init__(self, waiter: Waiter[T_contra] | None) -> None:
        self._waiter, self._gone = waiter, -1

    def gone(self, places: Iterable[int]) -> set[int]:
        """Say which of the results still sought are no longer waited for; once in each step."""
        waiter = self._waiter
        if waiter is None or (gone := waiter.gone()) == self._gone:
            return set()
        self._gone = gone
        return {place for place in places if not waiter.wants(place)}


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """Why a sentence has no translation: its search was not ended."""

    def __str__(self) -> str:
        return "broken off, as nobody waited for it any more"
