"""Files as streams of bytes: packed or plain, each fault located, no line without bound."""

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from dragoman.configfile import similar_file
from dragoman.errors import DataError, MissingExtraError

LONGEST_LINE = 64 * 2**20  # bytes; no sentence, but what a file without line ends would take

FormatName = Literal[
    "tsv", "csv", "json-lines", "parquet", "tmx", "po", "mo", "xliff", "qt", "text"
]

PACKED = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2", ".zst": "zstd"}  # by suffix
_SIGNATURES = {
    b"\x1f\x8b": ".gz",
    b"\xfd7zXZ\x00": ".xz",
    b"BZh91AY&SY": ".bz2",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"PK\x03\x04": ".zip",
}
_SUFFIXES: dict[str, FormatName] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".jsonl": "json-lines",
    ".ndjson": "json-lines",
    ".json": "json-lines",
    ".parquet": "parquet",
    ".tmx": "tmx",
    ".po": "po",
    ".pot": "po",
    ".mo": "mo",
    ".gmo": "mo",
    ".xlf": "xliff",
    ".xliff": "xliff",
    ".sdlxliff": "xliff",
    ".mqxliff": "xliff",
    ".mxliff": "xliff",
    ".poxliff": "xliff",
    ".ts": "qt",
    ".txt": "text",
}


def format_of(path: Path) -> FormatName:
    """Say by its name what a file holds; ``.gz`` and its kin are looked through.

    Raises:
        DataError: the name says nothing, or names a format that is not read.
    """
    inner = path.with_suffix("") if path.suffix.lower() in PACKED else path
    suffix = inner.suffix.lower()
    if suffix not in _SUFFIXES:
        problem = f"not a format that is read ({suffix})" if suffix else "its name has no suffix"
        raise DataError(path, problem, f"convert it to one of {', '.join(_SUFFIXES)}")
    return _SUFFIXES[suffix]


@contextmanager
def open_bytes(where: Path | BinaryIO) -> Generator[BinaryIO]:
    """Open a file for reading, unpacked if its name ends in ``.gz``, ``.xz``, ``.bz2`` or ``.zst``.

    A stream that is open already is passed on and stays open.

    Raises:
        DataError: on entry or inside the block: the file is missing, is a folder, may not be read,
            is damaged or cut short, or is packed without saying so in its name.
        MissingExtraError: a name in ``.zst``, before Python 3.14 and without the extra.
    """
    if not isinstance(where, Path):
        yield where
        return
    kind = PACKED.get(where.suffix.lower(), "")
    try:
        with _unpacked(where, kind) as stream:
            yield stream
    except FileNotFoundError:
        raise DataError(where, "no such file", similar_file(where)) from None
    except IsADirectoryError:
        raise DataError(where, "is a folder", "name a file in it") from None
    except _signs_of_damage(kind) as error:
        raise DataError(where, f"damaged {kind} ({error})", "pack or copy it again") from None
    except OSError as error:
        if kind and error.errno is None:  # bzip2 has no error of its own
            raise DataError(where, f"damaged {kind} ({error})", "pack or copy it again") from None
        raise DataError(where, f"cannot be read: {error.strerror or error}") from None


def too_long(name: str, number: int) -> DataError:
    """Make the error of a line without end."""
    problem = f"line longer than {LONGEST_LINE // 2**20} MiB"
    return DataError(name, problem, "write one segment a line, ended by LF or CRLF", line=number)


def _unpacked(path: Path, kind: str) -> BinaryIO:
    match kind:
        case "gzip":
            return cast("BinaryIO", gzip.open(path))
        case "xz":
            return cast("BinaryIO", lzma.open(path))
        case "bzip2":
            return cast("BinaryIO", bz2.open(path))
        case "zstd":
            return _zstd().open(path)
        case _:
            stream = path.open("rb")
    # Of a pipe this waits for its first bytes, which the reader would do next.
    head = stream.peek(16)[:16]
    for signature, suffix in _SIGNATURES.items():
        if head.startswith(signature):
            stream.close()
            hint = f"call it {path.name}{suffix}" if suffix in PACKED else "unpack it first"
            raise DataError(path, f"packed ({suffix}), but its name does not say so", hint)
    return stream


def _signs_of_damage(kind: str) -> tuple[type[Exception], ...]:
    signs = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)
    return (*signs, _zstd().ZstdError) if kind == "zstd" else signs if kind else ()


def _zstd() -> Any:  # Any: two modules with the same names, and only one has types
    # Not the zstandard package: its reader takes a file cut short for a whole one.
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd  # pyright: ignore  # optional
    except ImportError:
        raise MissingExtraError("reading .zst", "formats") from None
    return cast("Any", zstd)
