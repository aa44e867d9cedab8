"""Translations of texts, each made as soon as the last of its parts has been found."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from threading import Lock

from dragoman.decoding import BrokenOff, Found, Waiter
from dragoman.translator.planning import Plan
from dragoman.translator.translation import Translation

Make = Callable[[int, Iterator[Found]], Translation]  # of a text, by what was found of its parts


class Settling:
    """Keeps what has been found of the parts of each text until it is all there.

    Args:
        plans: of the texts.
        make: makes the translation of one.
        waiter: waits for them, if anyone does; is given at once what needs no search.
    """

    def __init__(
        self, plans: Sequence[Plan], make: Make, waiter: Waiter[Translation] | None
    ) -> None:
        self._plans, self._make, self._waiter = plans, make, waiter
        self._made: list[Translation | None] = [None for _ in plans]
        self._places = [
            (text, part) for text, p in enumerate(plans) for part in range(len(p.parts))
        ]
        self._found: list[dict[int, Found]] = [{} for _ in plans]
        self._lock = Lock()  # several threads may search
        if waiter is not None:
            for text, plan in enumerate(plans):
                if not plan.parts:
                    self._settle(text, [])

    @property
    def waiter(self) -> Waiter[Found] | None:
        """Who waits for the parts of all texts, one after the other; None when nobody does."""
        waiter = self._waiter
        if waiter is None:
            return None
        return Waiter(lambda place: waiter.wants(self._places[place][0]), self._take, waiter.gone)

    def all(self, found: Sequence[Found]) -> list[Translation]:
        """Give the translations of all texts, by what was found of all parts."""
        supply = iter(found)
        for text, plan in enumerate(self._plans):
            parts = [*islice(supply, len(plan.parts))]
            if self._made[text] is None:
                self._settle(text, parts)
        return [made for made in self._made if made is not None]

    def _take(self, place: int, found: Found) -> None:
        text, part = self._places[place]
        with self._lock:
            parts = self._found[text]
            parts[part] = found
            if len(parts) < len(self._plans[text].parts):
                return
        self._settle(text, [parts[part] for part in sorted(parts)])

    def _settle(self, text: int, found: Sequence[Found]) -> None:
        self._made[text] = made = self._make(text, iter(found))
        if self._waiter is not None and not any(isinstance(each, BrokenOff) for each in found):
            self._waiter.take(text, made)
