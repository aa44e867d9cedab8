"""A public corpus in a folder: fetched, verified, joined, and labelled with where it comes from.

```
train.de train.en             plain text, line N of one translates line N of the other
validation.de validation.en
test.de test.en
SOURCE                        origin, licence, citation, addresses, digests, date
recipe.toml                   the [data] table, to start a recipe from
checksums.sha256              of the text; ``sha256sum -c`` reads it
downloads/                    the archives as they came; may be deleted
```
The text appears only when all of it is there. What is interrupted goes on where it stopped.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import date
from pathlib import Path

from dragoman.atomic import only_one, remove_leftovers, write_text
from dragoman.downloads.events import Event, Joined, Joining, Ready, TextFile, Verified
from dragoman.downloads.fetching import Patience, fetch, part_of
from dragoman.downloads.joining import Members, Part, Writer, check_count, held_out, join
from dragoman.downloads.label import (
    CHECKSUMS,
    complete_files,
    digest_and_lines,
    file_names,
    recipe_text,
    source_text,
    written_files,
)
from dragoman.downloads.record import Archive, Piece, PublicCorpus, archives_of
from dragoman.downloads.unpacking import unpack
from dragoman.errors import DataError

DEFAULT_PATIENCE = Patience()


def get_corpus(
    corpus: PublicCorpus,
    folder: Path,
    *,
    patience: Patience = DEFAULT_PATIENCE,
    today: date | None = None,
) -> Iterator[Event]:
    """Bring a public corpus into ``folder``; the last event is ``Ready``.

    Nothing is fetched when the text is there and whole. Whoever calls has shown the licence.

    Args:
        corpus: from the catalogue.
        folder: made if missing.
        patience: with servers.
        today: for the label; the day of the call unless given.

    Raises:
        DataError: no copy could be fetched, an archive is not what was published, there is not
            enough room, or ``folder`` holds other text under the same names.
        OSError: the folder cannot be written.
    """
    with only_one(folder) as ours:
        if not ours:
            raise DataError(folder, "another process works on it", "wait for it to end")
        remove_leftovers(folder)
        there = complete_files(corpus, folder)
        if there:
            yield Ready(folder=folder, files=there, was_there=True)
            return
        downloads = folder / "downloads"
        downloads.mkdir(exist_ok=True)
        need_room(corpus, folder)
        verified: dict[str, Verified] = {}
        try:
            for archive in corpus.archives:
                for event in fetch(archive, downloads, patience):
                    yield event
                    if isinstance(event, Verified):
                        verified[archive.name] = event
        finally:
            with suppress(OSError):
                downloads.rmdir()  # empty: nothing has come
        yield from _join(corpus, folder, verified, today or date.today())


def need_room(corpus: PublicCorpus, folder: Path) -> None:
    """Hold what is still to come and to be written against the room on the disk.

    Raises:
        DataError: it will not fit.
    """
    to_come = sum(_to_come(archive, folder / "downloads") for archive in corpus.archives)
    text = 2 * corpus.text_bytes  # a piece is unpacked beside the text that it becomes
    free = shutil.disk_usage(folder).free
    if to_come + text > free:
        raise DataError(
            folder,
            f"{corpus.name} needs about {to_come + text:,} bytes ({to_come:,} to fetch, {text:,} "
            f"to unpack), {free:,} are free",
            "make room or choose another folder with --to",
        )


def _to_come(archive: Archive, downloads: Path) -> int:
    paths = [downloads / archive.file_name(copy) for copy in archive.copies]
    if any(path.is_file() for path in paths):
        return 0
    part = part_of(paths[0])
    have = part.stat().st_size if part.is_file() else 0
    return max((archive.copies[0].size or 0) - have, 0)


def _join(
    corpus: PublicCorpus, folder: Path, verified: dict[str, Verified], today: date
) -> Iterator[Event]:
    """Make the text aside, then give all files their names."""
    aside = folder / f".text.writing-{os.getpid()}"
    aside.mkdir()
    try:
        parts: dict[str, list[Part]] = {}
        writers: dict[str, Writer] = {}
        with ExitStack() as stack:
            for name in corpus.sets:
                left, right = (aside / file for file in file_names(corpus, name))
                writers[name] = Writer(stack, left, right)
            for name, (pieces, known) in corpus.sets.items():
                if pieces:
                    yield Joining(name=name)
                    parts[name] = _join_set(corpus, name, writers, verified, aside)
                    check_count(
                        f"{corpus.name}, {name}", sum(part.pairs for part in parts[name]), known
                    )
        for name, writer in writers.items():
            yield Joined(name=name, pairs=writer.pairs)
        files = written_files(corpus, folder, writers)
        _publish(corpus, aside, files, source_text(corpus, verified, parts, writers, today))
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    archives = tuple(event.path for event in verified.values())
    yield Ready(folder=folder, files=files, archives=archives)


def _join_set(
    corpus: PublicCorpus,
    name: str,
    writers: dict[str, Writer],
    verified: dict[str, Verified],
    aside: Path,
) -> list[Part]:
    def write(source: bytes) -> Writer:
        return writers[held_out(source, corpus.one_in) if corpus.one_in else name]

    def members(piece: Piece) -> Members:
        return _unpack_piece(corpus, piece, verified, aside / "members")

    return list(join(corpus.sets[name][0], members, write))


def _unpack_piece(
    corpus: PublicCorpus, piece: Piece, verified: dict[str, Verified], folder: Path
) -> Members:
    """Unpack the two sides of a piece; those of the piece before give way."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    unpacked: dict[tuple[str, str], Path] = {}
    sides = list(zip(archives_of(piece), (piece.source, piece.target), strict=True))
    for archive in corpus.archives:
        wanted = {
            member: f"{archive.name}-{number}"
            for number, (of, member) in enumerate(sides)
            if of == archive.name
        }
        if wanted:
            path = verified[archive.name].path
            packed = archive.copy_named(path.name)
            for member, file in unpack(path, packed.packing, wanted, folder).items():
                unpacked[archive.name, member] = file
    return unpacked


def _publish(corpus: PublicCorpus, aside: Path, files: tuple[TextFile, ...], source: str) -> None:
    """Move the text to its names; the checksums come last and say that all is there."""
    folder = files[0].path.parent
    for file in files:
        if file.path.exists() and digest_and_lines(file.path)[0] != file.sha256:
            raise DataError(
                file.path,
                "is there already and holds something else",
                "move it away, or choose another folder with --to",
            )
    (folder / CHECKSUMS).unlink(missing_ok=True)
    for file in files:
        (aside / file.path.name).replace(file.path)
    write_text(folder / "SOURCE", source)
    digests = {file.path.name: file.sha256 for file in files}
    digests["SOURCE"] = digest_and_lines(folder / "SOURCE")[0]
    if not (folder / "recipe.toml").exists():
        write_text(folder / "recipe.toml", recipe_text(corpus))
    write_text(
        folder / CHECKSUMS, "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    )
