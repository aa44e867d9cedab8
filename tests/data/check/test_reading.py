"""Reading on after faults: whatever the bytes, pairs and notes, or an error with its place."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data import CsvFile, Files, TsvFile
from dragoman.data.check.reading import Notes, read_on
from dragoman.errors import DataError

PACKINGS = {
    "": b"",
    ".gz": b"\x1f\x8b\x08",
    ".xz": b"\xfd7zXZ\x00",
    ".bz2": b"BZh9",
    ".zst": b"\x28\xb5\x2f\xfd",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reading")


@given(raw=st.binary(max_size=60) | st.text('ab\t\n\r,"é\x85', max_size=30).map(str.encode))
def test_any_bytes_are_pairs_and_notes_or_a_located_error(raw: bytes, folder: Path) -> None:
    path = folder / "a"
    path.write_bytes(raw)
    for corpus in (TsvFile(file=path), CsvFile(file=path), Files(source=path, target=path)):
        message = str(path)
        try:
            numbers = [pair.number for pair in read_on(corpus, Notes())]
            assert numbers == sorted({*numbers})
        except DataError as error:
            message = str(error)
        assert message.startswith(str(path))


@given(
    lines=st.lists(st.binary(max_size=6).map(lambda raw: raw.replace(b"\n", b"\xff")), max_size=8)
)
def test_bytes_that_are_not_utf8_cost_no_line(lines: list[bytes], folder: Path) -> None:
    # Slow twin: everything at once, split at LF, with one CR before it dropped.
    path = folder / "b"
    path.write_bytes(b"first line\n" + b"".join(line + b"\n" for line in lines))
    expected = [line.removesuffix(b"\r") for line in (b"first line", *lines)]
    pairs = list(read_on(Files(source=path, target=path), Notes()))
    assert [pair.source.encode("utf-8", "surrogateescape") for pair in pairs] == expected


@pytest.mark.parametrize("suffix", PACKINGS)
@given(raw=st.binary(max_size=60))
def test_any_bytes_with_the_name_of_a_packed_file_are_read_or_refused(
    suffix: str, raw: bytes, folder: Path
) -> None:
    path = folder / f"c.tsv{suffix}"
    for content in (raw, PACKINGS[suffix] + raw, gzip.compress(raw)[: len(raw)]):
        path.write_bytes(content)
        message = str(path)
        try:
            list(read_on(TsvFile(file=path), Notes()))
        except DataError as error:
            message = str(error)
        assert message.startswith(str(path))
