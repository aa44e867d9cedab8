import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.downloads import unpacking
from dragoman.downloads.record import Packing
from dragoman.downloads.unpacking import unpack
from dragoman.errors import DataError
from tests.downloads.corpora import MEMBERS, gzipped, tar, zipped

WANTED = {"dev.de": "left", "dev.en": "right"}


def try_to_unpack(folder: Path, data: bytes, packing: Packing) -> dict[str, Path]:
    archive = folder / "archive"
    archive.write_bytes(data)
    (folder / "out").mkdir()
    return unpack(archive, packing, WANTED, folder / "out")


def refused(folder: Path, data: bytes, packing: Packing, message: str) -> None:
    with pytest.raises(DataError, match=message):
        try_to_unpack(folder, data, packing)
    assert sorted(path.name for path in folder.iterdir()) == ["archive", "out"]


@pytest.mark.parametrize(
    ("packing", "pack"),
    [
        ("tar", tar),
        ("tar", lambda members: tar(members, "w")),
        ("tar", lambda members: tar(members, "w:xz")),
        ("zip", zipped),
    ],
)
def test_the_known_members_come_out_under_our_names(
    tmp_path: Path, packing: Packing, pack: Callable[[dict[str, str]], bytes]
) -> None:
    written = try_to_unpack(tmp_path, pack(MEMBERS), packing)
    assert written == {"dev.de": tmp_path / "out/left", "dev.en": tmp_path / "out/right"}
    assert (tmp_path / "out/left").read_text() == "Gut.\n"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["left", "right"]


def test_a_leading_dot_and_slash_is_no_part_of_a_name(tmp_path: Path) -> None:
    members = {f"./{name}": text for name, text in MEMBERS.items()}
    assert set(try_to_unpack(tmp_path, tar(members), "tar")) == set(WANTED)


def test_one_packed_file_has_whatever_name(tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(gzipped("Text.\n"))
    unpack(tmp_path / "archive", "gz", {"train.de": "left"}, tmp_path)
    assert (tmp_path / "left").read_text() == "Text.\n"


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "C:\\x", "..\\x", "a\\..\\..\\x"])
@pytest.mark.parametrize(("packing", "pack"), [("tar", tar), ("zip", zipped)])
def test_a_name_that_leads_out_is_refused_before_anything_is_written(
    tmp_path: Path, packing: Packing, pack: Callable[[dict[str, str]], bytes], name: str
) -> None:
    refused(tmp_path, pack({**MEMBERS, name: "x"}), packing, "outside the folder")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(("packing", "pack"), [("tar", tar), ("zip", zipped)])
def test_a_missing_member_is_named(
    tmp_path: Path, packing: Packing, pack: Callable[[dict[str, str]], bytes]
) -> None:
    refused(tmp_path, pack({"dev.de": "x"}), packing, r"does not hold dev\.en")


def with_entry(entry: tarfile.TarInfo, data: bytes = b"") -> bytes:
    stream = io.BytesIO(tar(MEMBERS, "w"))
    with tarfile.open(fileobj=stream, mode="a") as archive:
        archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "C:\\secret"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, kind: bytes, target: str) -> None:
    entry = tarfile.TarInfo("folder/link")
    entry.type, entry.linkname = kind, target
    refused(tmp_path, with_entry(entry), "tar", "is a link to")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE]
)
def test_a_wanted_member_has_to_be_a_plain_file(tmp_path: Path, kind: bytes) -> None:
    entry = tarfile.TarInfo("dev.de")
    entry.type, entry.linkname = kind, "test.de.sgm"
    members = {name: text for name, text in MEMBERS.items() if name != "dev.de"}
    stream = io.BytesIO(tar(members, "w"))
    with tarfile.open(fileobj=stream, mode="a") as archive:
        archive.addfile(entry)
    refused(tmp_path, stream.getvalue(), "tar", "no plain file")


def test_a_link_inside_a_zip_is_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        entry = zipfile.ZipInfo("dev.de")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
        archive.writestr("dev.en", "x")
    refused(tmp_path, stream.getvalue(), "zip", "is a link")


def test_two_members_with_one_name_are_refused_in_a_tar(tmp_path: Path) -> None:
    entry = tarfile.TarInfo("./dev.de")
    refused(tmp_path, with_entry(entry), "tar", r"holds 'dev\.de' twice")


def test_two_members_with_one_name_are_refused_in_a_zip(tmp_path: Path) -> None:
    stream = io.BytesIO(zipped(MEMBERS))
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("dev.de", "another")
    refused(tmp_path, stream.getvalue(), "zip", r"holds 'dev\.de' twice")


def test_a_bomb_is_refused_by_what_it_says_of_itself(tmp_path: Path) -> None:
    bomb = gzip.compress(tar({**MEMBERS, "zeros": "0" * (1 << 25)}, "w"))
    refused(tmp_path, bomb, "tar", "far more than its size allows")


def test_a_sparse_member_of_ten_gigabytes_is_refused(tmp_path: Path) -> None:
    entry = tarfile.TarInfo("dev.de")  # the header alone promises it
    entry.size = 10 << 30
    data = tar({}, "w")[:0] + entry.tobuf() + b"\0" * 1024
    refused(tmp_path, data, "tar", "far more than its size allows")


def test_a_packed_file_is_stopped_when_it_grows_too_large(tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(gzip.compress(b"0" * (1 << 25)))
    with pytest.raises(DataError, match="far more than its size allows"):
        unpack(tmp_path / "archive", "gz", {"x": "left"}, tmp_path)
    assert (tmp_path / "left").stat().st_size <= unpacking.LEAST_ROOM


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_MEMBERS", 3)
    refused(tmp_path, tar(MEMBERS), "tar", "holds more than 3 members")


@pytest.mark.parametrize(
    ("packing", "data"),
    [
        ("tar", b"no archive"),
        ("tar", tar(MEMBERS)[:200]),
        ("zip", b"no archive"),
        ("zip", zipped(MEMBERS)[:-40]),
        ("gz", b"no archive"),
        ("gz", gzipped("text" * 100)[:-12]),
    ],
)
def test_a_damaged_archive_is_an_error_with_its_name(
    tmp_path: Path, packing: Packing, data: bytes
) -> None:
    refused(tmp_path, data, packing, "archive: (damaged|does not hold)")


def test_a_zip_with_a_password_is_an_error(tmp_path: Path) -> None:
    data = bytearray(zipped(MEMBERS))
    place = 0
    while (place := data.find(b"PK\x01\x02", place + 1)) >= 0:
        data[place + 8] |= 1  # the flag that a member is encrypted
    refused(tmp_path, bytes(data), "zip", "damaged")
