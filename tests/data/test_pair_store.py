"""Stores of pairs: what is written comes back, and broken writing goes on to the same bytes."""

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.pair_store import PairStore, PairStoreWriter, open_pair_store
from dragoman.tokenization import Packed

KEY = "what and how"
FILES = ("numbers", "source.ids", "source.offsets", "target.ids", "target.offsets")
Pairs = list[tuple[list[int], list[int]]]
Rows = list[list[int]]


def packed(rows: Rows) -> Packed:
    flat = [number for row in rows for number in row]
    return Packed(np.array(flat, np.int32), np.array([len(row) for row in rows], np.int32))


def append(writer: PairStoreWriter, pairs: Pairs, first: int) -> None:
    numbers = np.arange(first, first + len(pairs), dtype=np.int64)
    sources, targets = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    writer.append(packed(sources), packed(targets), numbers)


PARTS: list[Pairs] = [
    [([number, 7], list(range(number))) for number in range(start, start + 3)]
    for start in range(0, 18, 3)
]
ALL = [pair for part in PARTS for pair in part]


def write(
    folder: Path,
    *,
    sizes: tuple[int, int] = (100, 100),
    stop: int | None = None,
    unkept: int = 0,
    key: str = KEY,
) -> int:
    """Write ``PARTS`` from where the folder is, with ``keep`` after each.

    Args:
        folder: of the store.
        sizes: of the vocabularies.
        stop: leave off after so many parts, the last ``unkept`` without ``keep``.
        unkept: see there.
        key: of the store.

    Returns:
        With which part it began.
    """
    with PairStoreWriter(folder, key, sizes) as writer:
        begin = writer.taken // 3
        assert (writer.taken, writer.pairs) == (3 * begin, 3 * begin)
        stop_at = len(PARTS) if stop is None else stop
        for number in range(begin, stop_at):
            append(writer, PARTS[number], 3 * number)
            if number < stop_at - unkept:
                writer.keep(3 * number + 3, {"dropped": number})
        if stop is None:
            writer.finish({"lines": 18})
    return begin


def rows(store: PairStore) -> Pairs:
    return list(zip(store.sources.rows(), store.targets.rows(), strict=True))


def contents(folder: Path) -> dict[str, bytes]:
    assert not (folder / "progress.json").exists()
    return {name: (folder / name).read_bytes() for name in (*FILES, "store.json")}


@pytest.fixture(scope="module", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """What is on disk after a power cut is not what is tested here."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("straight")
    write(folder)
    return contents(folder)


# Two bytes hold 0 to 65,535, the ids of 65,536 pieces.
@pytest.mark.parametrize(
    ("sizes", "widths"),
    [
        ((2**16, 2**16), (2, 2)),
        ((2**16 + 1, 100), (4, 2)),
        ((100, 2**31), (2, 4)),
    ],
)
def test_what_is_written_comes_back_in_both_widths(
    sizes: tuple[int, int], widths: tuple[int, int], tmp_path: Path
) -> None:
    highest = sizes[0] - 1, sizes[1] - 1
    pairs: Pairs = [([0, highest[0]], []), ([], [highest[1], 5, 0]), ([3], [4])]
    with PairStoreWriter(tmp_path, KEY, sizes) as writer:
        append(writer, pairs[:2], 11)
        append(writer, pairs[2:], 2**40)
        writer.keep(7, {})
        writer.finish({"lines": 9})
    store = open_pair_store(tmp_path, KEY)
    assert store is not None
    assert rows(store) == pairs
    assert store.numbers[:].tolist() == [11, 12, 2**40]
    assert store.counts == {"lines": 9}
    assert (store.sources.ids.itemsize, store.targets.ids.itemsize) == widths
    assert (tmp_path / "source.ids").stat().st_size == 3 * widths[0]


@given(
    st.lists(
        st.lists(
            st.tuples(*[st.lists(st.integers(0, 99), max_size=4)] * 2), min_size=1, max_size=3
        ),
        min_size=1,
        max_size=3,
    ),
    st.lists(st.booleans(), max_size=4),
)
@settings(max_examples=30)
def test_parts_follow_each_other_however_often_writing_breaks(
    tmp_path_factory: pytest.TempPathFactory, parts: list[Pairs], broken: list[bool]
) -> None:
    folder = tmp_path_factory.mktemp("store")
    number = taken = 0
    while number < len(parts):
        with PairStoreWriter(folder, KEY, (100, 100)) as writer:
            assert writer.taken == taken
            append(writer, parts[number], taken)
            if not (broken and broken.pop()):
                taken += len(parts[number])
                number += 1
                writer.keep(taken, {})
            if number == len(parts):
                writer.finish({})
    store = open_pair_store(folder, KEY)
    assert store is not None
    assert rows(store) == [(list(a), list(b)) for part in parts for a, b in part]
    assert store.numbers[:].tolist() == [*range(taken)]


@pytest.mark.parametrize("stop", range(7))
@pytest.mark.parametrize("unkept", [0, 1, 2])
def test_a_writing_left_off_anywhere_goes_on_to_the_same_bytes(
    stop: int, unkept: int, straight: dict[str, bytes], tmp_path: Path
) -> None:
    write(tmp_path, stop=stop, unkept=unkept)
    assert open_pair_store(tmp_path, KEY) is None  # it is not whole
    assert write(tmp_path) == max(0, stop - unkept)
    assert contents(tmp_path) == straight


@pytest.mark.parametrize("name", FILES)
def test_files_cut_at_any_byte_or_with_more_behind_go_on_to_the_same_bytes(
    name: str, straight: dict[str, bytes], tmp_path: Path
) -> None:
    write(tmp_path / "whole", stop=3)
    good = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    for size in range(len(good[name]) + 1):
        folder = tmp_path / str(size)
        folder.mkdir()
        for other, data in good.items():
            (folder / other).write_bytes(data)
        (folder / name).write_bytes(good[name][:size])
        assert write(folder) == (3 if size == len(good[name]) else 0)
        assert contents(folder) == straight
    with (tmp_path / "whole" / name).open("ab") as file:
        file.write(b"half of a part")
    assert write(tmp_path / "whole") == 3
    assert contents(tmp_path / "whole") == straight


BAD_TABLES = (b"", b"{", b"[]", b"null", b'{"format": 1}', b"\xff", b"[" * 3_000)


@pytest.mark.parametrize("bad", BAD_TABLES, ids=range(len(BAD_TABLES)))
def test_a_damaged_account_of_progress_begins_anew(
    bad: bytes, straight: dict[str, bytes], tmp_path: Path
) -> None:
    write(tmp_path, stop=3)
    (tmp_path / "progress.json").write_bytes(bad)
    assert write(tmp_path) == 0
    assert contents(tmp_path) == straight


@pytest.mark.parametrize("value", [None, "7", -1, 1.5, [], {}, 10**30])
@pytest.mark.parametrize("name", ["taken", "pairs", "ids", "lengths"])
def test_an_account_of_progress_with_an_odd_value_begins_anew(
    name: str, value: object, straight: dict[str, bytes], tmp_path: Path
) -> None:
    if name == "lengths" and value == {}:
        pytest.skip("nothing was counted: no odd value")
    if name == "taken" and value == 10**30:
        pytest.skip("the files fit it; nobody writes such a number")
    write(tmp_path, stop=3)
    table = json.loads((tmp_path / "progress.json").read_bytes())
    (tmp_path / "progress.json").write_text(json.dumps(table | {name: value}), encoding="utf-8")
    assert write(tmp_path) == 0
    assert contents(tmp_path) == straight


@pytest.mark.parametrize("bad", BAD_TABLES, ids=range(len(BAD_TABLES)))
def test_a_store_whose_table_is_damaged_is_none_and_begins_anew(
    bad: bytes, straight: dict[str, bytes], tmp_path: Path
) -> None:
    write(tmp_path)
    (tmp_path / "store.json").write_bytes(bad)
    assert open_pair_store(tmp_path, KEY) is None
    assert write(tmp_path) == 0
    assert contents(tmp_path) == straight


@pytest.mark.parametrize("name", ["format", "key", "pairs", "types", "fingerprint", "counts"])
def test_a_store_whose_table_lacks_something_is_none(name: str, tmp_path: Path) -> None:
    write(tmp_path)
    table = json.loads((tmp_path / "store.json").read_bytes())
    del table[name]
    (tmp_path / "store.json").write_text(json.dumps(table), encoding="utf-8")
    assert open_pair_store(tmp_path, KEY) is None


@pytest.mark.parametrize("types", [None, [], ["<u2"], ["<u2", "O"], ["<u2", "huge"], ["<i4"] * 2])
def test_a_store_with_odd_types_is_none(types: object, tmp_path: Path) -> None:
    write(tmp_path)
    table = json.loads((tmp_path / "store.json").read_bytes())
    (tmp_path / "store.json").write_text(json.dumps(table | {"types": types}), encoding="utf-8")
    assert open_pair_store(tmp_path, KEY) is None


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_or_made_longer_after_the_end_is_noticed(name: str, tmp_path: Path) -> None:
    write(tmp_path)
    data = (tmp_path / name).read_bytes()
    for other in (*(data[:size] for size in range(len(data))), data + b"12345678"):
        (tmp_path / name).write_bytes(other)
        assert open_pair_store(tmp_path, KEY) is None
    (tmp_path / name).unlink()
    assert open_pair_store(tmp_path, KEY) is None


def test_another_key_is_another_store(straight: dict[str, bytes], tmp_path: Path) -> None:
    write(tmp_path, stop=3, key="other")
    assert write(tmp_path) == 0
    assert contents(tmp_path) == straight
    assert open_pair_store(tmp_path, "other") is None
    (tmp_path / "plan-stored-400.npz").write_bytes(b"of the old store")
    assert write(tmp_path, stop=2, key="other") == 0
    assert open_pair_store(tmp_path, KEY) is None  # from the first moment on
    assert not [*tmp_path.glob("plan-*")]


def test_the_counts_of_the_rule_for_long_pairs_are_kept(tmp_path: Path) -> None:
    write(tmp_path, stop=3)
    with PairStoreWriter(tmp_path, KEY, (100, 100)) as writer:
        assert writer.lengths == {"dropped": 2}


def test_ids_of_other_numbers_have_another_fingerprint(tmp_path: Path) -> None:
    found: set[str] = set()
    many: list[Pairs] = [[([1, 2], [3])], [([1], [2, 3])], [([1, 2], [4])], [([3], [1, 2])]]
    for number, pairs in enumerate(many):
        with PairStoreWriter(tmp_path / str(number), KEY, (9, 9)) as writer:
            append(writer, pairs, 1)
            writer.keep(1, {})
            writer.finish({})
        store = open_pair_store(tmp_path / str(number), KEY)
        assert store is not None
        found.add(store.fingerprint)
    assert len(found) == 4


def write_much(folder: Path) -> None:
    with PairStoreWriter(folder, KEY, (100, 100)) as writer:
        for number in range(3, 40):
            append(writer, PARTS[5], 3 * number)
            writer.keep(3 * number, {})


def test_a_full_disk_is_an_error_and_what_was_kept_stays(
    straight: dict[str, bytes], tmp_path: Path
) -> None:
    write(tmp_path, stop=3)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            write_much(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert open_pair_store(tmp_path, KEY) is None
    with PairStoreWriter(tmp_path, KEY, (100, 100)) as writer:
        assert writer.taken >= 9


@pytest.mark.parametrize("name", ["source.ids", "numbers"])
def test_a_file_that_cannot_be_opened_is_an_error_and_leaves_none_open(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(OSError, match=name):
        PairStoreWriter(tmp_path, KEY, (100, 100))


@pytest.mark.parametrize("name", FILES)
def test_a_bit_that_flipped_between_sittings_begins_anew(
    name: str, straight: dict[str, bytes], tmp_path: Path
) -> None:
    write(tmp_path, stop=4)
    damaged = bytearray((tmp_path / name).read_bytes())
    damaged[len(damaged) // 2] ^= 4
    (tmp_path / name).write_bytes(damaged)
    assert write(tmp_path) == 0
    assert contents(tmp_path) == straight


@pytest.mark.parametrize("name", FILES[1:])
def test_a_bit_that_flipped_in_a_whole_store_is_noticed(name: str, tmp_path: Path) -> None:
    write(tmp_path)
    assert open_pair_store(tmp_path, KEY) is not None
    damaged = bytearray((tmp_path / name).read_bytes())
    damaged[len(damaged) // 2] ^= 4
    (tmp_path / name).write_bytes(damaged)
    assert open_pair_store(tmp_path, KEY) is None
