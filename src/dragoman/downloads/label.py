"""What stands beside the text: where it comes from, how to use it, and whether it is whole."""

import hashlib
import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from dragoman.downloads.events import TextFile, Verified
from dragoman.downloads.joining import Part, Writer
from dragoman.downloads.record import PublicCorpus

CHECKSUMS = "checksums.sha256"


def file_names(corpus: PublicCorpus, name: str) -> tuple[str, str]:
    """Name the two files of a set."""
    return f"{name}.{corpus.source_language}", f"{name}.{corpus.target_language}"


def data_table(corpus: PublicCorpus, folder: Path = Path()) -> str:
    """Write the ``[data]`` table of a recipe that trains on the corpus."""
    lines = ["[data]"]
    for name in corpus.sets:
        source, target = (
            json.dumps((folder / file).as_posix(), ensure_ascii=False)
            for file in file_names(corpus, name)
        )
        lines.append(f"{name} = {{ source = {source}, target = {target} }}")
    return "\n".join(lines) + "\n"


def recipe_text(corpus: PublicCorpus) -> str:
    """Write the beginning of a recipe."""
    return (
        f"# {corpus.title}; see SOURCE for the licence.\n"
        "# Exchange source and target everywhere to translate the other way.\n"
        f"{data_table(corpus)}"
    )


def source_text(
    corpus: PublicCorpus,
    verified: Mapping[str, Verified],
    parts: Mapping[str, list[Part]],
    writers: Mapping[str, Writer],
    today: date,
) -> str:
    """Write where the text comes from."""
    lines = [
        f"{corpus.name}: {corpus.title}",
        f"Licence: {corpus.licence}",
        f"         {corpus.licence_url}",
        f"Described at: {corpus.homepage}",
        f"Please cite: {corpus.citation}",
        f"Made by dragoman get on {today.isoformat()}.",
        "",
        "Fetched files, and who published their digests:",
    ]
    for archive in corpus.archives:
        event = verified[archive.name]
        copy = archive.copy_named(event.path.name)
        lines += [
            f"  {event.path.name}",
            f"    {event.url or f'already here; lies at {copy.urls[0]}'}",
            f"    {event.digest} ({copy.digest_from})",
        ]
    lines += [*_made_of(corpus, parts), "", "Text:"]
    for file in written_files(corpus, Path(), writers):
        lines.append(f"  {file.path}: {file.pairs:,} lines, sha256 {file.sha256}")
    lines += [
        "",
        "Lines are as published: nothing is normalised, filtered or left out; character references",
        "(&amp;) of test sets in SGML or XML are undone.",
    ]
    return "\n".join(lines) + "\n"


def _made_of(corpus: PublicCorpus, parts: Mapping[str, list[Part]]) -> list[str]:
    """Say which lines came from where."""
    lines: list[str] = []
    for name, pieces in parts.items():
        lines += ["", f"{name} is made of:"]
        if corpus.one_in:
            lines[-1] = (
                f"Of {corpus.one_in} different source sentences about one went to validation and "
                "one to test, by the SHA-256 of the sentence; made of:"
            )
        for part in pieces:
            where = f"pairs {part.first:,} to {part.first + part.pairs - 1:,}"
            lines.append(f"  {where}: {part.source}, {part.target}")
    return lines


def written_files(
    corpus: PublicCorpus, folder: Path, writers: Mapping[str, Writer]
) -> tuple[TextFile, ...]:
    """Give the text files that were just written."""
    return tuple(
        TextFile(set_name=name, path=folder / file, pairs=writer.pairs, sha256=digest.hexdigest())
        for name, writer in writers.items()
        for file, digest in zip(file_names(corpus, name), writer.hashes, strict=True)
    )


def complete_files(corpus: PublicCorpus, folder: Path) -> tuple[TextFile, ...]:
    """Give the text files if all are there and as they were written, otherwise nothing."""
    try:
        lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
        source = (folder / "SOURCE").read_text(encoding="utf-8")
        known = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
        if not source.startswith(f"{corpus.name}: "):
            return ()
        found: list[TextFile] = []
        for set_name in corpus.sets:
            for name in file_names(corpus, set_name):
                digest, count = digest_and_lines(folder / name)
                if known.get(name) != digest:
                    return ()
                found.append(
                    TextFile(set_name=set_name, path=folder / name, pairs=count, sha256=digest)
                )
    except (OSError, ValueError):
        return ()
    return tuple(found)


def digest_and_lines(path: Path) -> tuple[str, int]:
    """Hash a file and count its lines."""
    digest, lines = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
            lines += chunk.count(b"\n")
    return digest.hexdigest(), lines
