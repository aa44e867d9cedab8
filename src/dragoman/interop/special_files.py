"""Pipes, devices and sockets in a foreign folder: some of them never end when they are read."""

from pathlib import Path

from dragoman.errors import ModelError


def refuse_special_files(folder: Path) -> None:
    """See that a folder holds files and folders only, links to them included.

    Raises:
        ModelError: one is something else, named.
    """
    for path in folder.iterdir():
        refuse_special(path)


def refuse_special(path: Path) -> None:
    """See that what stands under a name is a file or a folder, if anything does.

    Raises:
        ModelError: it is a pipe, a device or a socket.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ModelError(f"{path}: is no file but a pipe, a device or a socket; remove it")
