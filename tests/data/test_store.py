import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.store import IdStore

sequences = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=6), max_size=8)


@given(sequences)
def test_sequences_come_back_as_they_went_in(written: list[list[int]]) -> None:
    store = IdStore.from_sequences(iter(written))
    assert [ids.tolist() for ids in store] == written
    assert store.rows() == written
    assert store.lengths.tolist() == [len(ids) for ids in written]
    assert store.ids.tolist() == [one for ids in written for one in ids]
    assert len(store) == len(written)


@given(sequences.filter(bool), st.lists(st.integers(0, 99)), st.none() | st.integers(0, 7))
def test_take_chooses_in_the_order_asked_and_cuts(
    written: list[list[int]], numbers: list[int], longest: int | None
) -> None:
    indices = [number % len(written) for number in numbers]
    taken = IdStore.from_sequences(written).take(np.array(indices, dtype=np.int64), longest)
    assert taken.rows() == [written[index][:longest] for index in indices]


def test_an_id_takes_four_bytes_and_a_sequence_is_a_view_of_all() -> None:
    store = IdStore.from_sequences([[1, 2], [3]])
    assert store.ids.nbytes == 12
    assert np.shares_memory(store[1], store.ids)


def test_nothing_in_a_store_can_be_changed() -> None:
    store = IdStore.from_sequences([[1, 2], [3]])
    with pytest.raises(ValueError, match="read-only"):
        store[0][0] = 9


@pytest.mark.parametrize("index", [-1, 2])
def test_an_index_outside_is_an_error(index: int) -> None:
    with pytest.raises(IndexError, match=f"sequence {index} of 2"):
        IdStore.from_sequences([[1], [2]])[index]


@pytest.mark.parametrize(
    ("written", "problem"), [([[1, -2]], "-2 is negative"), ([[2**31]], "more than 31 bits")]
)
def test_an_id_that_no_vocabulary_has_is_an_error(written: list[list[int]], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        IdStore.from_sequences(written)


@pytest.mark.parametrize("offsets", [[], [0, 2], [1, 3], [0, 2, 1, 3]])
def test_offsets_that_do_not_fit_the_ids_are_an_error(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets: must rise from 0 to 3"):
        IdStore(np.arange(3, dtype=np.int32), np.array(offsets, dtype=np.int64))
