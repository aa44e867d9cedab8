import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn.positions.offsets import offset_range, spread


def test_offsets_of_two_queries_after_two_past_keys() -> None:
    # By hand: the queries stand at 2 and 3 of four places; key minus query.
    assert offset_range(2, 4).tolist() == [-3, -2, -1, 0, 1]
    assert spread(offset_range(2, 4), 2).tolist() == [[-2, -1, 0, 1], [-3, -2, -1, 0]]


@given(queries=st.integers(1, 9), past=st.integers(0, 9))
def test_every_pair_gets_the_offset_of_its_places(queries: int, past: int) -> None:
    keys = past + queries
    expected = [[j - (past + i) for j in range(keys)] for i in range(queries)]
    assert spread(offset_range(queries, keys), queries).tolist() == expected


def test_fewer_keys_than_queries_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^keys: 2 is less than queries 3$"):
        offset_range(3, 2)
