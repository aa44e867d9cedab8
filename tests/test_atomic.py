"""Whole or not at all (field report 21)."""

from pathlib import Path

import pytest

from dragoman.atomic import new_file, new_folder, remove_leftovers, write_bytes, write_text


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_bytes(file, b"old")
    write_text(file, "neu ü\n")
    assert file.read_bytes() == "neu ü\n".encode()
    assert list(tmp_path.iterdir()) == [file]


def test_an_error_while_writing_keeps_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_bytes(file, b"old")

    def fail() -> None:
        with new_file(file) as stream:
            stream.write(b"half of the new")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk"):
        fail()
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    with new_folder(folder) as aside:
        (aside / "a").write_text("1")
        assert not folder.exists()
    assert (folder / "a").read_text() == "1"


def test_an_error_while_filling_a_folder_keeps_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    with new_folder(folder) as aside:
        (aside / "a").write_text("old")

    def fail() -> None:
        with new_folder(folder) as aside:
            (aside / "a").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (folder / "a").read_text() == "old"
    assert list(tmp_path.iterdir()) == [folder]


def test_what_a_kill_left_is_removed_and_named(tmp_path: Path) -> None:
    (tmp_path / ".file.writing-7").write_text("half")
    (tmp_path / ".folder.writing-7").mkdir()
    (tmp_path / "kept").write_text("whole")
    assert remove_leftovers(tmp_path) == [".file.writing-7", ".folder.writing-7"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept"]
