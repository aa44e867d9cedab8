"""Files and folders that appear whole or not at all: written aside, flushed, then renamed."""

import errno
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def new_file(path: Path) -> Generator[BinaryIO]:
    """Fill a file aside; it takes the name ``path`` only when all of it is on disk.

    Yields:
        The file to write. If the block raises, it is removed and ``path`` stays as it was.

    Raises:
        OSError: the folder cannot be written, or the disk is full.
    """
    if path.is_symlink():
        path = path.resolve()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():  # a device or a pipe keeps its place
        with path.open("wb") as device:
            yield device
        return
    aside = path.with_name(f".{path.name}.writing-{os.getpid()}")
    try:
        with aside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException as error:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(aside):
            error.filename = str(path)  # the name that whoever asked knows
        raise
    _flush_folder(path.parent)


def write_bytes(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path`` in one step; an error leaves what was there before."""
    with new_file(path) as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    """Put UTF-8 ``text`` with LF line ends at ``path`` in one step."""
    write_bytes(path, text.encode("utf-8"))


@contextmanager
def new_folder(path: Path) -> Generator[Path]:
    """Fill a folder aside; it takes the name ``path`` only when all of it is on disk.

    Yields:
        The folder to fill. If the block raises, it is removed and ``path`` stays as it was.

    Raises:
        OSError: the parent cannot be written, or the disk is full.
    """
    if path.is_symlink():
        path = path.resolve()
    aside = path.with_name(f".{path.name}.writing-{os.getpid()}")
    before = path.with_name(f".{path.name}.before.writing-{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        yield aside
        for file in aside.rglob("*"):
            if file.is_dir():
                _flush_folder(file)
                continue
            with file.open("rb+") as opened:
                os.fsync(opened.fileno())
        _flush_folder(aside)
        if path.is_dir():
            path.replace(before)
        aside.replace(path)
    except BaseException:
        if before.exists() and not path.exists():
            before.replace(path)
        shutil.rmtree(aside, ignore_errors=True)
        raise
    shutil.rmtree(before, ignore_errors=True)
    _flush_folder(path.parent)


def remove_folder(path: Path) -> None:
    """Remove a folder so that no part of it ever stands under its name."""
    aside = path.with_name(f".{path.name}.removed.writing-{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    path.replace(aside)
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def only_one(folder: Path) -> Generator[bool]:
    """Hold a folder against other processes, as long as the block runs or the process lives.

    Yields:
        Whether it is ours; False when another process holds it. Always True where the system has
        no such locks.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("wb") as file:
        try:
            import fcntl
        except ImportError:
            yield True
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def remove_leftovers(folder: Path) -> list[str]:
    """Remove what a killed process left half-written in ``folder``; give the names."""
    removed: list[str] = []
    for entry in sorted(folder.glob(".*.writing-*")):
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
        removed.append(entry.name)
    return removed


def _flush_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where the system allows folders to be flushed."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
