"""Files of a foreign folder as plain text and JSON; a pickle is neither, and is refused by name."""

import json
from pathlib import Path
from typing import cast

from dragoman.errors import ModelError
from dragoman.tokenization import Json

MOST_BYTES = 512 * 2**20  # of a vocabulary; the largest known, of 256,000 pieces, has 34 million


def read_bytes(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """Read a file that is no larger than ``most``.

    Raises:
        ModelError: it is larger, missing, or cannot be read.
    """
    try:
        size = path.stat().st_size
        if size > most:
            raise ModelError(
                f"{path}: has {size:,} bytes, more than the {most:,} that such a file may have; "
                "fetch the folder again"
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file; fetch the folder again") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None


def read_text(path: Path, *, most: int = MOST_BYTES) -> str:
    """Read a file of UTF-8 text; a byte order mark is dropped.

    Raises:
        ModelError: it is something else, or cannot be read.
    """
    content = read_bytes(path, most=most)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"is no text in UTF-8 (byte {error.start} is 0x{content[error.start]:02x})"
        raise ModelError(f"{path}: {problem}; fetch the folder again") from None
    if "\0" in text:
        raise ModelError(f"{path}: holds a zero byte, so it is no text; fetch the folder again")
    return text.removeprefix("\ufeff")


def read_lines(path: Path) -> list[str]:
    """Read lines, ended by LF or CRLF only, since pieces hold other separators.

    Raises:
        ModelError: as ``read_text``.
    """
    lines = read_text(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_value(path: Path, *, most: int = MOST_BYTES) -> object:
    """Read any value from a JSON file.

    Raises:
        ModelError: it is no JSON, or cannot be read.
    """
    text = read_text(path, most=most)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: is no JSON ({error}); fetch the folder again") from None


def read_object(path: Path, *, most: int = MOST_BYTES) -> Json:
    """Read a JSON object.

    Raises:
        ModelError: it is something else, or cannot be read.
    """
    value = read_value(path, most=most)
    if not isinstance(value, dict):
        raise ModelError(f"{path}: is no JSON object; fetch the folder again")
    return cast("Json", value)


def read_optional(path: Path, *, most: int = 16 * 2**20) -> Json:
    """Read a JSON object from a file that may be missing; then it is empty.

    Raises:
        ModelError: it is something else, or cannot be read.
    """
    return read_object(path, most=most) if path.exists() else {}


def read_ids(path: Path) -> dict[str, int]:
    """Read a JSON object of pieces and their ids.

    Raises:
        ModelError: it is something else, or two pieces have one id.
    """
    ids: dict[str, int] = {}
    for piece, number in read_object(path).items():
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise ModelError(f"{path}: {piece!r} has the id {number!r}; fetch the folder again")
        ids[piece] = number
    if len({*ids.values()}) < len(ids):
        raise ModelError(f"{path}: two pieces have one id; fetch the folder again")
    return ids
