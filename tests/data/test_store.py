import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.store import ArrayFile, IdStore, PairLengths

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


@pytest.mark.parametrize("dtype", ["<u2", "<i4"])
@given(written=sequences)
def test_files_give_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, dtype: str, written: list[list[int]]
) -> None:
    folder = tmp_path_factory.mktemp("store")
    small = [[number % 2**16 for number in row] for row in written]
    flat = [number for row in small for number in row]
    (folder / "ids").write_bytes(np.array(flat, dtype).tobytes())
    ends = np.cumsum([0, *map(len, small)])
    (folder / "offsets").write_bytes(ends.astype("<i8").tobytes())
    store = IdStore.from_files(folder / "ids", folder / "offsets", dtype)
    assert store.rows() == small
    with pytest.raises(ValueError, match="read-only"):
        store.ids[...] = 0


@pytest.mark.parametrize(("ids", "offsets"), [(5, 16), (6, 9), (6, 0), (4, 16)])
def test_files_that_do_not_fit_each_other_are_an_error(
    ids: int, offsets: int, tmp_path: Path
) -> None:
    (tmp_path / "ids").write_bytes(bytes(ids))
    (tmp_path / "offsets").write_bytes(np.array([0, 3], "<i8").tobytes()[:offsets])
    with pytest.raises(ValueError, match=r"offsets|bytes too many"):
        IdStore.from_files(tmp_path / "ids", tmp_path / "offsets", "<u2")


def test_a_file_cut_short_while_it_is_in_use_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "ids").write_bytes(np.arange(9, dtype="<u2").tobytes())
    file = ArrayFile(tmp_path / "ids", "<u2")
    (tmp_path / "ids").write_bytes(bytes(4))
    with pytest.raises(OSError, match="cut short"):
        file[2:5]


@given(numbers=st.lists(st.integers(0, 2**31 - 1), max_size=40), data=st.data())
def test_an_array_on_disk_gives_what_one_in_memory_does(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("array") / "numbers"
    known = np.array(numbers, "<i4")
    path.write_bytes(known.tobytes())
    file = ArrayFile(path, "<i4")
    start, stop = data.draw(st.integers(-50, 50)), data.draw(st.integers(-50, 50))
    assert file.size == len(numbers)
    assert file[start:stop].tolist() == known[start:stop].tolist()
    places = np.array(data.draw(st.lists(st.integers(0, max(0, len(numbers) - 1)))), np.int64)
    if numbers:
        assert file[places].tolist() == known[places].tolist()


def test_a_few_of_many_numbers_are_read_one_by_one(tmp_path: Path) -> None:
    known = np.arange(20_000, dtype="<i4") * 3
    (tmp_path / "numbers").write_bytes(known.tobytes())
    places = np.array([19_999, 0, 7])
    assert ArrayFile(tmp_path / "numbers", "<i4")[places].tolist() == [59_997, 0, 21]


@given(sequences.filter(bool), st.lists(st.integers(0, 99), min_size=1))
def test_lengths_of_pairs_count_the_added_symbols(
    written: list[list[int]], numbers: list[int]
) -> None:
    turned = written[::-1]
    lengths = PairLengths(*map(IdStore.from_sequences, (written, turned)), added=1)
    expected = np.array([[len(row) + 1 for row in side] for side in (written, turned)])
    indices = np.array(numbers, dtype=np.int64) % len(written)
    assert len(lengths) == len(written)
    assert lengths.block(0, len(written)).tolist() == expected.tolist()
    assert lengths.block(1, len(written)).tolist() == expected[:, 1:].tolist()
    assert lengths.at(indices).tolist() == expected[:, indices].tolist()


def test_sides_of_different_numbers_make_no_lengths() -> None:
    stores = IdStore.from_sequences([[1]]), IdStore.from_sequences([[1], [2]])
    with pytest.raises(ValueError, match="1 sources and 2 targets"):
        PairLengths(*stores, added=1)


def resident_bytes() -> int:
    """Memory of this process, mapped files counted as far as they are in it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_reading_a_large_store_in_random_order_takes_no_memory(tmp_path: Path) -> None:
    pairs, length = 1_000_000, 50  # 100 MB of ids and 8 MB of offsets
    with (tmp_path / "ids").open("wb") as file:
        for _ in range(10):
            file.write(np.arange(pairs * length // 10, dtype="<u2").tobytes())
    ends = np.arange(0, pairs * length + 1, length, dtype="<i8")
    (tmp_path / "offsets").write_bytes(ends.tobytes())
    del ends
    before = resident_bytes()
    store = IdStore.from_files(tmp_path / "ids", tmp_path / "offsets", "<u2")
    for number in np.random.default_rng(1).integers(pairs, size=100_000).tolist():
        assert store[number].size == length
    # The rows touch nearly every page of 108 MB.
    assert resident_bytes() - before < 6e6
