"""A file of the catalogue onto the disk: resumed, retried, from any mirror, and verified.

Bytes go to ``NAME.part``. The file gets its name only when its digest is the published one, so a
file with a name is right. A part stays when the network or the disk fails, or a user interrupts;
the next try goes on from its end.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from dragoman.downloads.connection import Answer, GiveUp, TryAgain, Unresumable, ask
from dragoman.downloads.events import Event, Fetching, Received, Trouble, Verified
from dragoman.downloads.record import Archive, Copy
from dragoman.errors import DataError

_UNKNOWN_MOST = 1 << 30  # bytes, of a file whose size neither the catalogue nor the server knows


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to go on.

    Args:
        tries: in a row without a new byte, at one address.
        timeout_seconds: silence after which a connection is given up; also the time in which at
            least ``slowest_bytes`` have to come.
        wait_seconds: before the second try; doubled each time, at most a minute.
        slowest_bytes: fewer in ``timeout_seconds`` count as silence.
        sleep: how to wait.
        clock: seconds that only grow.
    """

    tries: int = 5
    timeout_seconds: float = 30.0
    wait_seconds: float = 1.0
    slowest_bytes: int = 1024
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


def fetch(archive: Archive, folder: Path, patience: Patience) -> Iterator[Event]:
    """Bring an archive into ``folder``; the last event is ``Verified`` and names the file.

    Raises:
        DataError: no copy could be had, each with its reason; or the disk is full.
    """
    for copy in archive.copies:
        path = folder / archive.file_name(copy)
        if path.is_file() and digest_of(path, copy) == copy.digest:
            yield _verified(archive, copy, path, "")
            return
    problems: list[str] = []
    for copy in archive.copies:
        path = folder / archive.file_name(copy)
        for url in copy.urls:
            try:
                yield from _fetch_from(url, copy, path, patience)
            except GiveUp as error:
                problems.append(f"{url}: {error}")
                yield Trouble(
                    file=path.name, url=url, problem=str(error), then="trying another address"
                )
                continue
            yield _verified(archive, copy, path, url)
            return
    reasons = "\n".join(f"  {problem}" for problem in problems)
    raise DataError(
        archive.name, "no copy could be fetched", f"try again later; the addresses said:\n{reasons}"
    )


def digest_of(path: Path, copy: Copy) -> str:
    """Hash a file the way that the catalogue knows its digest."""
    with path.open("rb") as file:
        return hashlib.file_digest(
            file, lambda: hashlib.new(copy.algorithm, usedforsecurity=False)
        ).hexdigest()


def part_of(path: Path) -> Path:
    """Name the file that holds what has come so far."""
    return path.with_name(path.name + ".part")


def _verified(archive: Archive, copy: Copy, path: Path, url: str) -> Verified:
    return Verified(file=archive.name, digest=f"{copy.algorithm} {copy.digest}", path=path, url=url)


def _fetch_from(url: str, copy: Copy, path: Path, patience: Patience) -> Iterator[Event]:
    """Fetch from one address, and verify.

    Raises:
        GiveUp: not to be had here, or not the right bytes.
    """
    part = part_of(path)
    resumed = _size(part) > 0
    yield from _fill(url, copy, part, patience)
    found = digest_of(part, copy)
    if found != copy.digest and resumed:  # the part may have been of another file
        part.unlink()
        yield Trouble(
            file=path.name,
            url=url,
            problem=f"what was resumed has {copy.algorithm} {found}, not {copy.digest}",
            then="starting over",
        )
        yield from _fill(url, copy, part, patience)
        found = digest_of(part, copy)
    if found != copy.digest:
        part.unlink()
        raise GiveUp(f"has {copy.algorithm} {found}, the catalogue {copy.digest}; removed")
    part.replace(path)


def _fill(url: str, copy: Copy, part: Path, patience: Patience) -> Iterator[Event]:
    """Make a part whole: ask again from its end until all bytes are there."""
    failures = 0
    while True:
        before = _size(part)
        if copy.size is not None and before > copy.size:
            part.unlink()
            before = 0
        if before == copy.size:
            return
        yield Fetching(file=_name(part), url=url, have_bytes=before, total_bytes=copy.size)
        try:
            with ask(url, before, patience.timeout_seconds) as answer:
                yield from _receive(answer, copy, part, patience)
            return
        except Unresumable:
            part.unlink(missing_ok=True)
            if before == 0:
                raise GiveUp("the server sends other bytes than it was asked for") from None
            problem, wait = "what is here does not fit the file there", 0.0
        except TryAgain as error:
            problem, wait = str(error), error.after_seconds
        failures = failures + 1 if _size(part) <= before else 1
        if failures >= patience.tries:
            raise GiveUp(f"{problem}, {failures} times")
        wait = min(max(wait, patience.wait_seconds * 2 ** (failures - 1)), 60.0)
        yield Trouble(
            file=_name(part), url=url, problem=problem, then=f"trying again in {wait:g} s"
        )
        patience.sleep(wait)


def _receive(answer: Answer, copy: Copy, part: Path, patience: Patience) -> Iterator[Event]:
    """Write what an answer brings.

    Raises:
        TryAgain: it ended early.
        GiveUp: it is longer than the file that is wanted.
        DataError: the disk is full.
    """
    total = copy.size or answer.total
    if copy.size is not None and answer.total not in (None, copy.size):
        raise GiveUp(f"has {answer.total:,} bytes, the catalogue {copy.size:,}")
    have, most = answer.start, total or _UNKNOWN_MOST
    _need_space(part, most - have if total else 0)
    slow_since, slow_from = patience.clock(), have
    with _open(part, have) as file:
        while chunk := answer.more():
            have += len(chunk)
            if have > most:
                raise GiveUp(f"sends more than {most:,} bytes")
            _write(file.write, chunk, part)
            if (now := patience.clock()) - slow_since >= patience.timeout_seconds:
                if have - slow_from < patience.slowest_bytes:
                    raise TryAgain("hardly any bytes come")
                slow_since, slow_from = now, have
            yield Received(file=_name(part), have_bytes=have, total_bytes=total)
    if total is not None and have < total:
        raise TryAgain(f"the connection ended early, at {have:,} of {total:,} bytes")


def _open(part: Path, start: int) -> FileIO:
    """Open a part without a buffer, so that all that has come is on disk."""
    file = part.open("r+b" if start else "wb", buffering=0)
    file.seek(start)
    file.truncate()
    return file


def _write(write: Callable[[memoryview], int | None], chunk: bytes, part: Path) -> None:
    rest = memoryview(chunk)
    try:
        while rest:
            rest = rest[write(rest) or 0 :]
    except OSError as error:
        raise DataError(
            part, error.strerror or str(error), "make room and run the same command again"
        ) from None


def _need_space(part: Path, wanted: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if wanted > free:
        raise DataError(
            part.parent,
            f"{wanted:,} bytes are still to come, {free:,} are free",
            "make room or choose another folder with --to",
        )


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _name(part: Path) -> str:
    return part.name.removesuffix(".part")
