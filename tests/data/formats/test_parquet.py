import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.data.formats.parquet import ROWS_AT_ONCE, read_parquet
from dragoman.errors import DataError, MissingExtraError

ROWS = [
    {"en": "a\n\u2028", "de": "x", "fr": "."},
    {"en": None, "de": "y", "fr": "."},
    None,
    {"en": "é", "de": "", "fr": "."},
]


@pytest.fixture(scope="module")
def library() -> Any:
    return import_module("pyarrow")


def write(library: Any, path: Path, columns: dict[str, Any], **options: Any) -> Path:
    import_module("pyarrow.parquet").write_table(library.table(columns), path, **options)
    return path


def pairs_of(path: Path, source: str, target: str) -> list[tuple[int, str, str]]:
    return [each[:3] for each in read_parquet(path, "it", source, target)]


def test_columns_within_structs_are_read_as_hugging_face_writes_them(
    library: Any, tmp_path: Path
) -> None:
    path = write(library, tmp_path / "a.parquet", {"translation": ROWS, "id": [1, 2, 3, 4]})
    assert pairs_of(path, "translation.en", "translation.de") == [
        (1, "a\n\u2028", "x"),
        (2, "", "y"),
        (3, "", ""),
        (4, "é", ""),
    ]


def test_plain_columns_and_lists_are_read(library: Any, tmp_path: Path) -> None:
    texts = library.array(["a", "b", "a"]).dictionary_encode()
    columns = {"src.text": texts, "all": [["p", "q"]] * 3}
    path = write(library, tmp_path / "a.parquet", columns)
    assert pairs_of(path, "src.text", "all.1") == [(1, "a", "q"), (2, "b", "q"), (3, "a", "q")]


def test_rows_are_numbered_across_row_groups(library: Any, tmp_path: Path) -> None:
    count = 3 * ROWS_AT_ONCE + 7
    texts = [f"line {row}" for row in range(1, count + 1)]
    columns = {"source": texts, "target": texts}
    path = write(library, tmp_path / "a.parquet", columns, row_group_size=ROWS_AT_ONCE + 5)
    found = pairs_of(path, "source", "target")
    assert found == [(row, f"line {row}", f"line {row}") for row in range(1, count + 1)]


def test_a_missing_column_and_one_that_is_no_text_are_located(library: Any, tmp_path: Path) -> None:
    path = write(library, tmp_path / "a.parquet", {"source": ["a"], "id": [1], "raw": [b"b"]})
    with pytest.raises(DataError, match=r"^it: no column 'sorce'; did you mean source\?"):
        pairs_of(path, "sorce", "source")
    with pytest.raises(DataError, match=r"^it: line 1: id is a number, not text"):
        pairs_of(path, "source", "id")
    with pytest.raises(DataError, match=r"^it: line 1: raw is bytes, not text"):
        pairs_of(path, "source", "raw")


def test_a_text_that_is_not_utf_8_is_located(library: Any, tmp_path: Path) -> None:
    raw = library.array([b"a", b"b", b"caf\xe9"])
    text = library.StringArray.from_buffers(3, *raw.buffers()[1:])
    path = write(library, tmp_path / "a.parquet", {"source": text, "target": ["x", "y", "z"]})
    with pytest.raises(DataError, match=r"^it: line 3: not UTF-8 \(byte 0xe9 of the text\)"):
        pairs_of(path, "source", "target")


def test_a_missing_file_a_folder_and_another_format_are_located(
    library: Any, tmp_path: Path
) -> None:
    assert library
    with pytest.raises(DataError, match=r"^it: no such file"):
        pairs_of(tmp_path / "nothing.parquet", "source", "target")
    with pytest.raises(DataError, match=r"^it: "):
        pairs_of(tmp_path, "source", "target")
    path = tmp_path / "a.parquet"
    path.write_bytes(b"source\ttarget\n")
    with pytest.raises(DataError, match=r"^it: not Parquet, or damaged \(.*\); write it again"):
        pairs_of(path, "source", "target")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_damage_gives_segments_or_a_located_error(
    data: st.DataObject, library: Any, tmp_path: Path
) -> None:
    path = tmp_path / "whole.parquet"
    if not path.exists():
        write(library, path, {"t": ROWS}, write_page_checksum=True)
    content = bytearray(path.read_bytes())
    for place, byte in data.draw(
        st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=4)
    ):
        content[place] = byte
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(content[: data.draw(st.integers(0, len(content)) | st.just(len(content)))])
    message = "it: "
    try:
        pairs_of(damaged, "t.en", "t.de")
    except DataError as error:
        message = str(error)
    assert message.startswith("it: ")


def test_a_damaged_name_of_a_column_is_located(library: Any, tmp_path: Path) -> None:
    path = write(library, tmp_path / "a.parquet", {"source": ["a"], "target": ["b"]})
    path.write_bytes(path.read_bytes().replace(b"target", b"t\x96rget"))
    with pytest.raises(DataError, match=r"^it: "):
        pairs_of(path, "source", "target")


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"reading Parquet needs .*dragoman\[parquet\]"):
        pairs_of(tmp_path / "a.parquet", "source", "target")
