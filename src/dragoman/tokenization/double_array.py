"""A double array: the form in which SentencePiece keeps its table of normalisation.

The layout is that of darts-clone (Yata et al. 2007). A trie over the bytes of the keys lies in one
array of units of 32 bits. A node knows the place ``base`` from which its children are found: the
child by byte ``c`` at ``base ^ c``, its own value, if a key ends there, at ``base``. A unit holds:

```
bits 0-7    the byte by which the node is reached; a value has bit 31 set instead
bit  8      whether a key ends here
bit  9      whether the offset is counted in steps of 256
bits 10-31  the offset: place of the unit XOR its ``base``
```
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

_BLOCK = 256  # ``base ^ c`` never leaves a block
_OPEN = 32  # blocks in which room is looked for
_ENDS = 1 << 8
_VALUE = 1 << 31


def double_array(values: Mapping[bytes, int]) -> bytes:
    """Write the trie of some keys.

    Args:
        values: from 0 to 2^31 - 1 by key; keys are not empty and hold no zero byte.

    Raises:
        ValueError: a key is empty or holds a zero byte, or there are none or too many of them.
    """
    if not values or any(not key or 0 in key for key in values):
        raise ValueError("values: a key is empty or holds a zero byte, or there is none")
    array = _Array()
    waiting = [(0, _trie(values))]
    while waiting:
        place, node = waiting.pop()
        labels = sorted(node.children)
        base = array.find_room([0, *labels] if node.value is not None else labels)
        offset = place ^ base
        if offset >= 1 << 21:
            raise ValueError("values: there are too many keys for one array")
        array.units[place] |= offset << 10
        if node.value is not None:
            array.units[place] |= _ENDS
            array.units[base] = node.value | _VALUE
        for label in labels:
            array.units[base ^ label] |= label
            waiting.append((base ^ label, node.children[label]))
    return struct.pack(f"<{len(array.units)}I", *array.units)


@dataclass(slots=True)
class _Node:
    children: dict[int, "_Node"] = field(default_factory=dict["int", "_Node"])
    value: int | None = None


def _trie(values: Mapping[bytes, int]) -> _Node:
    root = _Node()
    for key, value in values.items():
        node = root
        for byte in key:
            node = node.children.setdefault(byte, _Node())
        node.value = value
    return root


class _Array:
    """Units in blocks, and where there is room; the root takes the first."""

    def __init__(self) -> None:
        self.units: list[int] = []
        self._bases: set[int] = set()  # each used once, so that a byte tells whose child a unit is
        self._free: dict[int, list[int]] = {}  # places by block, of the blocks that are still open
        self._add_block()
        self._free[0].remove(0)

    def find_room(self, labels: list[int]) -> int:
        """Find and take a base from which all labels reach free places."""
        first = labels[0]
        for free in self._free.values():
            if len(free) < len(labels):
                continue
            known = set(free)
            for place in free:
                base = place ^ first
                if base not in self._bases and all(base ^ label in known for label in labels):
                    return self._take(base, labels)
        self._add_block()
        return self._take(len(self.units) - _BLOCK, labels)

    def _take(self, base: int, labels: list[int]) -> int:
        self._bases.add(base)
        block = base // _BLOCK
        taken = {base ^ label for label in labels}
        self._free[block] = [place for place in self._free[block] if place not in taken]
        if not self._free[block]:
            del self._free[block]
        return base

    def _add_block(self) -> None:
        block = len(self.units) // _BLOCK
        self.units += [0] * _BLOCK
        self._free[block] = list(range(block * _BLOCK, (block + 1) * _BLOCK))
        if len(self._free) > _OPEN:  # the oldest are nearly full
            del self._free[next(iter(self._free))]
