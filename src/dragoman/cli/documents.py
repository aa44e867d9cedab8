"""Translating a document: its targets are filled, the rest is copied."""

import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import typer

import dragoman
from dragoman.atomic import write_bytes
from dragoman.cli.lines import say
from dragoman.configfile import similar_file
from dragoman.errors import ConfigError, DataError, DragomanError

FORMATS = ("text", "html", "po", "qt", "tmx", "xliff")
_SUFFIXES = {
    "html": (".html", ".htm", ".xhtml"),
    "po": (".po", ".pot"),
    "qt": (".ts",),
    "tmx": (".tmx",),
    "xliff": (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff"),
}
_PACKED = (".gz", ".xz", ".bz2", ".zst")
_MOST_REMARKS = 50
_MOST_BYTES = (1 << 28) + 1  # one more than a document may have


class Files(NamedTuple):
    """Where a document comes from and goes to; None is standard input or output."""

    input: Path | None
    output: Path | None
    format: str


def translate_document(
    files: Files,
    load: Callable[[], Any],  # Any: naming a translator loads torch
    search: Mapping[str, Any],  # options of translate_fragments
    filling: Mapping[str, Any],  # fields of FillOptions
) -> None:
    """Fill the targets of a document and say on standard error what was done.

    Args:
        files: where from, where to, and its format.
        load: gives the translator, once the document is understood.
        search: options of a translation.
        filling: what is filled.

    Raises:
        ConfigError: the format is none.
        DataError: the document is missing, broken or packed.
        typer.Exit: with status 2, when something could not be filled.
    """
    name = "standard input" if files.input is None else str(files.input)
    data = _read(files.input)
    loaded = cache(load)  # some documents are gone through twice

    def translate(fragments: list[Any]) -> Any:  # Any: as above
        translator = loaded()
        options = dict(search)
        if not translator.languages and files.format == "tmx":
            del options["target_language"]  # it chose among the languages of the file
        say(f"{name}: translating {len(fragments):,} texts")
        return dragoman.translate_fragments(translator, fragments, **options)

    made, filled = dragoman.fill_document(
        data,
        cast("Any", files.format),  # Any: checked by check_format
        translate,
        name=name,
        options=dragoman.FillOptions(**filling),
    )
    _write(files.output, made)
    for remark in filled.remarks[:_MOST_REMARKS]:
        say(f"{name}: line {remark.line}: {remark.text}")
    if len(filled.remarks) > _MOST_REMARKS:
        say(f"{name}: {len(filled.remarks) - _MOST_REMARKS:,} more of the like")
    left = [f"{count:,} {reason}" for reason, count in sorted(filled.left.items())]
    say(f"{name}: {filled.targets:,} filled; left as they were: {', '.join(left) or 'none'}")
    if "not written" in filled.left:
        raise typer.Exit(2)


def check_format(format: str, input: Path | None, *, n_best: int, json_lines: bool) -> None:
    """See that a format is one, and that nothing was asked that only lines of text have.

    Raises:
        ConfigError: it is not.
    """
    suffix = "" if input is None else input.suffix.lower()
    likely = next((format for format, known in _SUFFIXES.items() if suffix in known), "")
    if format not in FORMATS:
        hint = f"; for {suffix} it is {likely}" if likely else ""
        choice = f"choose from {', '.join(FORMATS)}{hint}"
        raise ConfigError("--format", f"{format!r} is not a format", choice)
    if format == "text" and likely:
        say(f"{input}: taken as lines of text; --format {likely} fills it as a document")
    if format != "text" and n_best > 1:
        raise ConfigError("--n-best", "a document holds one translation of a text", "leave it out")
    if format != "text" and json_lines:
        raise ConfigError("--json", "a document is written as it came", "leave it out")


def _read(path: Path | None) -> bytes:
    if path is None:
        return sys.stdin.buffer.read(_MOST_BYTES)
    if path.suffix.lower() in _PACKED:
        raise DataError(path, "packed documents are not filled", "unpack it first")
    try:
        with path.open("rb") as file:  # a device may have no end; too large is said later
            return file.read(_MOST_BYTES)
    except FileNotFoundError:
        raise DataError(path, "no such file", similar_file(path)) from None
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror or error}") from None


def _write(path: Path | None, data: bytes) -> None:
    if path is not None:
        write_bytes(path, data)
        return
    if cast("object", sys.stdout) is None:
        raise DragomanError("standard output is closed; give --output")
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
