import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

import pytest

from dragoman.data.formats import encodings, opening, text_lines
from dragoman.data.formats.opening import format_of, open_bytes
from dragoman.errors import DataError, MissingExtraError

TEXT = b"".join(b"line %d\n" % number for number in range(5000))


def zstd_of(content: bytes) -> bytes:
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return import_module(name).compress(content)


PACKERS: list[tuple[str, Callable[[bytes], bytes]]] = [
    (".gz", gzip.compress),
    (".xz", lzma.compress),
    (".bz2", bz2.compress),
    (".zst", zstd_of),
]
each_packer = pytest.mark.parametrize(
    ("suffix", "pack"), PACKERS, ids=[name for name, _ in PACKERS]
)


def content_of(path: Path) -> bytes:
    with open_bytes(path) as stream:
        return stream.read()


@each_packer
@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
def test_a_packed_file_is_unpacked_by_its_name(
    suffix: str, pack: Callable[[bytes], bytes], upper: bool, tmp_path: Path
) -> None:
    path = tmp_path / f"text{suffix.upper() if upper else suffix}"
    path.write_bytes(pack(TEXT))
    assert content_of(path) == TEXT


@each_packer
def test_files_packed_one_after_the_other_are_one_text(
    suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(pack(b"a\n") + pack(b"b\n"))
    assert content_of(path) == b"a\nb\n"


@each_packer
def test_a_packed_file_cut_short_is_an_error_not_a_shorter_text(
    suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / f"text{suffix}"
    whole = pack(TEXT)
    for size in (len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"text.*: damaged .*; pack or copy it again"):
            content_of(path)


@each_packer
def test_a_packed_file_that_is_something_else_is_a_located_error(
    suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    pack(b"")  # skips where the library is missing
    path = tmp_path / f"text{suffix}"
    path.write_bytes(b"plain text\n" * 100)
    with pytest.raises(DataError, match=rf"text\{suffix}: damaged "):
        content_of(path)


@each_packer
def test_a_packed_file_that_does_not_say_so_is_told_its_name(
    suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "text.tsv"
    path.write_bytes(pack(TEXT))
    with pytest.raises(DataError, match=rf"packed \(\{suffix}\).*; call it text.tsv\{suffix}"):
        content_of(path)
    renamed = path.rename(tmp_path / f"text.tsv{suffix}")  # the hint works
    assert content_of(renamed) == TEXT


def test_a_zip_archive_is_to_be_unpacked_first(tmp_path: Path) -> None:
    path = tmp_path / "text.tsv"
    path.write_bytes(b"PK\x03\x04rest")
    with pytest.raises(DataError, match=r"packed \(.zip\).*; unpack it first"):
        content_of(path)


def test_zst_without_its_library_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "backports", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    path = tmp_path / "text.zst"
    path.write_bytes(b"")
    with pytest.raises(MissingExtraError, match=r"reading .zst needs .*dragoman\[formats\]"):
        content_of(path)


def test_a_missing_file_and_a_folder_are_located_errors(tmp_path: Path) -> None:
    (tmp_path / "corpus.tsv").write_bytes(b"")
    with pytest.raises(DataError, match=r"corpsu.tsv: no such file; did you mean .*corpus.tsv\?"):
        content_of(tmp_path / "corpsu.tsv")
    with pytest.raises(DataError, match=r"is a folder; name a file in it"):
        content_of(tmp_path)


def test_an_open_stream_is_passed_on_and_stays_open() -> None:
    stream: BinaryIO = io.BytesIO(b"a\nb\n")
    with open_bytes(stream) as same:
        assert same is stream
    assert not stream.closed


def test_a_file_without_line_ends_is_an_error_and_fills_no_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opening, "LONGEST_LINE", 2**20)  # for the message
    monkeypatch.setattr(encodings, "LONGEST_LINE", 2**20)
    stream = io.BytesIO(b"a\n" + b"x" * 2**22 + b"\n")
    with pytest.raises(DataError, match=r"it: line 2: line longer than 1 MiB; write one segment"):
        list(text_lines(stream, "it"))
    assert stream.tell() <= 2**20 + 2**17


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.tsv", "tsv"),
        ("a.b.CSV.gz", "csv"),
        ("a.jsonl.zst", "json-lines"),
        ("a.parquet", "parquet"),
        ("de.po", "po"),
        ("a.xlf.xz", "xliff"),
        ("app_de.ts", "qt"),
        ("a.txt.bz2", "text"),
    ],
)
def test_a_name_says_what_a_file_holds(name: str, expected: str) -> None:
    assert format_of(Path(name)) == expected


@pytest.mark.parametrize("name", ["film.srt", "terms.tbx", "corpus", "corpus.gz"])
def test_a_name_of_no_format_is_a_located_error_with_the_choices(name: str) -> None:
    with pytest.raises(DataError, match=rf"^{name}: .*; convert it to one of .*\.jsonl"):
        format_of(Path(name))
