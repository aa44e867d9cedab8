"""An endless supply in windows of bounded size, so that memory does not grow with it."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

CHARACTERS = 1_000_000  # of a window, unless its last item alone has more

Item = TypeVar("Item")


def windows(
    supply: Iterable[Item], at_most: int, *, size: Callable[[Item], int]
) -> Iterator[list[Item]]:
    """Cut a supply into lists of consecutive items, none of them empty.

    Args:
        supply: is read as far as the window at hand.
        at_most: items of a window, at least 1.
        size: says how many characters an item has; ``CHARACTERS`` close a window.
    """
    window: list[Item] = []
    characters = 0
    for item in supply:
        window.append(item)
        characters += size(item)
        if len(window) >= at_most or characters >= CHARACTERS:
            yield window
            window, characters = [], 0
    if window:
        yield window
