"""Shuffles without a list of who goes where: the place of each element is computed when asked for.

A shuffle of any number of elements takes no memory, and can be taken up anywhere. Places are
written with two digits, to which functions of each other are added in turn: a Feistel network over
a grid (Black and Rogaway 2002, "Ciphers with arbitrary finite domains", method FE), which is a
permutation whatever the functions are. The few places of the grid that are too many are walked
through until one is not (their "cycle walking").
"""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_ROUNDS = 8
# The steps of splitmix64 (Steele, Lea and Flood 2014), which makes any number look like chance.
_STEP, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


def shuffled(places: Integers, sizes: Integers, keys: NDArray[np.uint64]) -> Integers:
    """Give what stands at places of shuffles.

    Args:
        places: where to look, each in [0, size), (N,).
        sizes: elements of the shuffle that each place is in, 1 or more, (N,).
        keys: which shuffle of that size, (N,); the same key, the same shuffle.

    Returns:
        The element at each place, in [0, size), (N,).
    """
    columns = np.ceil(np.sqrt(sizes)).astype(np.int64)
    rows = -(-sizes // columns)
    found = places
    waiting = np.arange(places.size)
    while waiting.size:
        grid = rows[waiting], columns[waiting]
        moved = _moved(found[waiting], *grid, keys[waiting])
        found = found.copy() if found is places else found
        found[waiting] = moved
        waiting = waiting[moved >= sizes[waiting]]
    return found


def _moved(
    places: Integers, rows: Integers, columns: Integers, keys: NDArray[np.uint64]
) -> Integers:
    """Permute all places of a grid once."""
    row, column = np.divmod(places, columns)
    for turn in range(_ROUNDS):
        if turn % 2:
            column = (column + _noise(row, keys, turn)) % columns
        else:
            row = (row + _noise(column, keys, turn)) % rows
    return row * columns + column


def _noise(digits: Integers, keys: NDArray[np.uint64], turn: int) -> Integers:
    """Draw a number in [0, 2^62) from a digit, a key and a turn."""
    state = (keys + digits.astype(np.uint64) * np.uint64(_ROUNDS) + np.uint64(turn + 1)) * _STEP
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return ((state ^ (state >> np.uint64(31))) >> np.uint64(2)).astype(np.int64)
