"""Known members out of an archive, and nothing else.

Only members that the catalogue names are read, and they are written under names of our own, so no
name in an archive ever reaches the disk. Even so an archive that holds a name or a link leading out
of its folder, a member twice, or far more than its size allows is refused before anything is
written: it is not what the catalogue means.
"""

import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast

from dragoman.downloads.record import Packing
from dragoman.errors import DataError

MOST_MEMBERS = 100_000
MOST_EXPANSION = 40  # text packs about 1 to 4, at best 1 to 10; a bomb 1 to 1,000
LEAST_ROOM = 1 << 24  # bytes that any archive may unpack to, however small it is
_CHUNK = 1 << 20


class Member(NamedTuple):
    """What an archive says of a member, before it is read."""

    name: str
    size: int  # bytes when unpacked
    link: str | None  # where it points, for a link
    file: bool  # a plain file: no folder, link, device or pipe


def unpack(
    archive: Path, packing: Packing, wanted: Mapping[str, str], folder: Path
) -> dict[str, Path]:
    """Write members of an archive into ``folder``.

    Args:
        archive: the file.
        packing: what it is; of ``gz`` and ``plain`` the only member has any name.
        wanted: names in the archive, and the names they get in ``folder``.
        folder: an existing folder.

    Returns:
        Paths by name in the archive.

    Raises:
        DataError: the archive is damaged, lacks a member, or is not to be trusted.
    """
    room = max(MOST_EXPANSION * archive.stat().st_size, LEAST_ROOM)
    try:
        if packing in ("tar", "zip"):
            _inspect(archive, _members(archive, packing), wanted, room)
        written: dict[str, Path] = {}
        for name, file in _open_members(archive, packing, wanted):
            written[name] = folder / wanted[name]
            room -= _copy(archive, file, written[name], room)
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        gzip.BadGzipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        NotImplementedError,  # a zip packed in a way that Python cannot undo
        RuntimeError,  # a zip that needs a password
    ) as error:
        raise _refused(archive, f"damaged: {error}") from None
    return written


def _inspect(
    archive: Path, members: Iterable[Member], wanted: Mapping[str, str], room: int
) -> None:
    """Look at all that an archive says it holds, before any of it is written."""
    seen: set[str] = set()
    for count, member in enumerate(members, start=1):
        name = member.name
        if count > MOST_MEMBERS:
            raise _refused(archive, f"holds more than {MOST_MEMBERS:,} members")
        if _leads_out(name):
            raise _refused(archive, f"member {name!r} would be written outside the folder")
        if member.link is not None and _leads_out(member.link):
            raise _refused(archive, f"member {name!r} is a link to {member.link!r}")
        if name in wanted and not member.file:
            raise _refused(archive, f"member {name!r} is a link or no plain file")
        if member.file and name in seen:
            raise _refused(archive, f"holds {name!r} twice")
        seen.add(name)
        room -= max(member.size, 0)
        if room < 0 or member.size < 0:
            raise _refused(archive, "would unpack to far more than its size allows")
    missing = sorted(set(wanted) - seen)
    if missing:
        raise _refused(archive, f"does not hold {', '.join(missing)}")


def _leads_out(name: str) -> bool:
    r"""Say whether a path is absolute, on a drive (``C:\x``) or climbs with ``..``."""
    parts = name.replace("\\", "/").split("/")
    return not parts[0] or "\0" in name or parts[0][1:2] == ":" or ".." in parts


def _members(archive: Path, packing: Packing) -> Iterator[Member]:
    if packing == "zip":
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                kind = stat.S_IFMT(entry.external_attr >> 16)
                plain = not entry.is_dir() and kind in (0, stat.S_IFREG)
                link = ".." if kind == stat.S_IFLNK else None  # no link in a zip is good
                yield Member(_bare(entry.orig_filename), entry.file_size, link, plain)
        return
    with tarfile.open(archive, "r|*") as packed:
        for entry in packed:
            link = entry.linkname if entry.issym() or entry.islnk() else None
            plain = entry.isreg() and not entry.issparse()
            yield Member(_bare(entry.name), entry.size, link, plain)


def _open_members(
    archive: Path, packing: Packing, wanted: Mapping[str, str]
) -> Iterator[tuple[str, IO[bytes]]]:
    match packing:
        case "plain":
            with archive.open("rb") as file:
                yield from ((name, file) for name in wanted)
        case "gz":
            with gzip.open(archive, "rb") as file:
                yield from ((name, cast("IO[bytes]", file)) for name in wanted)
        case "zip":
            with zipfile.ZipFile(archive) as packed:
                for entry in packed.infolist():
                    if _bare(entry.orig_filename) in wanted:
                        with packed.open(entry) as file:
                            yield _bare(entry.orig_filename), file
        case "tar":
            with tarfile.open(archive, "r|*") as packed:
                for entry in packed:
                    file = packed.extractfile(entry) if _bare(entry.name) in wanted else None
                    if file is not None:
                        with closing(file):
                            yield _bare(entry.name), file


def _copy(archive: Path, source: IO[bytes], path: Path, room: int) -> int:
    """Write a member, and stop one that is larger than it may be."""
    written = 0
    with path.open("xb") as file:
        while chunk := source.read(_CHUNK):
            written += len(chunk)
            if written > room:
                raise _refused(archive, "unpacks to far more than its size allows")
            file.write(chunk)
    return written


@contextmanager
def open_text(path: Path, name: str) -> Generator[IO[bytes]]:
    """Open a member that may itself be packed, as its name in the archive says."""
    if name.endswith(".gz"):
        with gzip.open(path, "rb") as file:
            yield cast("IO[bytes]", file)
    else:
        with path.open("rb") as file:
            yield file


def _bare(name: str) -> str:
    return name.removeprefix("./")


def _refused(archive: Path, problem: str) -> DataError:
    return DataError(archive, problem, "nothing was taken from it; remove it and fetch it again")
