"""Lines of text files and streams.

A line ends at LF or CRLF and nowhere else, on every machine and in every locale; bytes are UTF-8
unless something says otherwise. A lone CR, U+2028, U+0085 and their kin are text. A byte-order mark
at the head of a file is dropped.
"""

import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from dragoman.data.formats import open_bytes, text_lines
from dragoman.errors import DataError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_lines(path: Path, encoding: str | None = None) -> Iterator[str]:
    """Read the lines of a file without their ends, however long they are.

    Args:
        path: a name in ``.gz``, ``.xz``, ``.bz2`` or ``.zst`` is unpacked.
        encoding: such as ``"cp1252"``; without it a byte-order mark decides, or else it is UTF-8.

    Raises:
        ConfigError: the encoding is unknown.
        DataError: while reading: the file is missing, is a folder, may not be read, is damaged,
            or has bytes that its encoding has not, with line and offset.
    """
    with open_bytes(path) as stream:
        yield from text_lines(stream, str(path), encoding, longest=sys.maxsize)


def decode_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """Turn the lines of a binary stream, such as ``sys.stdin.buffer``, into text.

    Args:
        stream: lines that keep their LF, as iterating a binary file gives them.
        name: what messages call the stream.

    Raises:
        DataError: a line is not UTF-8; it names line, byte and offset (from 0) in the line.
    """
    for number, raw in enumerate(stream, start=1):
        mark = len(BYTE_ORDER_MARK) if number == 1 and raw.startswith(BYTE_ORDER_MARK) else 0
        if mark and len(raw) == mark:
            return  # the file holds nothing else
        ending = 2 if raw.endswith(b"\r\n") else 1 if raw.endswith(b"\n") else 0
        try:
            yield raw[mark : len(raw) - ending].decode("utf-8")
        except UnicodeDecodeError as error:
            byte, offset = error.object[error.start], error.start + mark
            problem = f"not UTF-8 (byte 0x{byte:02x} at byte {offset} of the line)"
            hint = "re-save it as UTF-8 or drop the line"
            raise DataError(name, problem, hint, line=number) from None


def is_blank(text: str) -> bool:
    """Say whether nothing in the text can be seen: only white space, controls, zero-width signs."""
    if text[:1].isalnum():  # nearly every text
        return False
    return all(c.isspace() or unicodedata.category(c) in ("Cc", "Cf") for c in text)
