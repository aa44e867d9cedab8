"""The double array, read by a second implementation of its description."""

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.tokenization.double_array import double_array


def prefixes(array: bytes, text: bytes) -> list[tuple[int, int]]:
    """Find the keys that a text begins with: their lengths and values, as darts-clone does."""
    units = struct.unpack(f"<{len(array) // 4}I", array)

    def offset(unit: int) -> int:
        return (unit >> 10) << ((unit & 1 << 9) >> 6)

    found: list[tuple[int, int]] = []
    place = offset(units[0])
    for length, byte in enumerate(text, 1):
        place ^= byte
        unit = units[place]
        if unit & 0x800000FF != byte:
            break
        place ^= offset(unit)
        if unit >> 8 & 1:
            found.append((length, units[place] & 0x7FFFFFFF))
    return found


KEYS = st.binary(min_size=1, max_size=5).filter(lambda key: 0 not in key)


TABLES = st.dictionaries(KEYS, st.integers(0, 2**31 - 1), min_size=1, max_size=60)


@given(TABLES, st.lists(KEYS, max_size=20))
def test_it_finds_the_keys_and_no_other(values: dict[bytes, int], others: list[bytes]) -> None:
    array = double_array(values)
    for text in [*values, *others, *(key + b"x" for key in values)]:
        begins = [(n, values[text[:n]]) for n in range(1, len(text) + 1) if text[:n] in values]
        assert prefixes(array, text) == begins


def test_many_keys_share_one_array() -> None:
    rng = random.Random(1)
    values = {bytes(rng.choices(range(1, 256), k=3)): number for number in range(2_000)}
    array = double_array(values)
    assert len(array) % 1024 == 0  # whole blocks, which SentencePiece asks for
    for key, value in values.items():
        assert (3, value) in prefixes(array, key)


@pytest.mark.parametrize("values", [{}, {b"": 1}, {b"a\0b": 1}])
def test_keys_that_the_format_cannot_hold_are_misuse(values: dict[bytes, int]) -> None:
    with pytest.raises(ValueError, match="a key is empty or holds a zero byte, or there is none"):
        double_array(values)
