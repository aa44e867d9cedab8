"""JSON lines: one JSON value a line, from which two texts are taken by path."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

from dragoman.configfile import suggest
from dragoman.data.formats.encodings import text_lines
from dragoman.data.formats.opening import open_bytes
from dragoman.data.formats.segment import Segment
from dragoman.errors import DataError


def read_json_lines(
    where: Path | BinaryIO,
    name: str,
    source: str = "source",
    target: str = "target",
    *,
    encoding: str | None = None,
) -> Iterator[Segment]:
    """Read the pairs of a file of JSON lines; a segment's number is its line.

    A line of white space only holds no pair.

    Args:
        where: a file, unpacked by its name, or an open stream of bytes.
        name: what messages call it.
        source: path of the source, such as ``"translation.en"``; in a list, a number from 0.
        target: path of the translation.
        encoding: as ``text_lines`` has it.

    Raises:
        DataError: while reading: a line is not JSON, holds NaN or a key twice, or has no text at a
            path; or what ``open_bytes`` and ``text_lines`` raise.
    """
    # No number is read, but one of a million digits must not cost its square, as int() does.
    decoder = json.JSONDecoder(
        object_pairs_hook=_single_keys, parse_constant=_no_constant, parse_int=float
    )
    with open_bytes(where) as stream:
        for number, line in enumerate(text_lines(stream, name, encoding), start=1):
            if line.strip(" \t\r"):
                row = _parsed(decoder, line, name, number)
                text = text_at(row, source, name, number)
                yield Segment(number, text, text_at(row, target, name, number))


def text_at(row: object, path: str, name: str, number: int) -> str:
    """Take a text out of nested tables and lists; null is "".

    Args:
        row: tables, lists and plain values.
        path: keys and numbers from 0, parted by dots; a key that has dots itself is found too,
            and a null on the way is a null.
        name: what messages call the file.
        number: line or row, for messages.

    Raises:
        DataError: nothing is at the path, or what is there is no text or holds half a character.
    """
    value = row
    if isinstance(row, Mapping) and path in row:
        value = cast("Mapping[str, object]", row)[path]
    else:
        for step in path.split("."):
            value = None if value is None else _step(value, step, path, name, number)
    if value is None:
        return ""
    if not isinstance(value, str):
        kind = _kind(value)
        problem = f"{path} is {kind}, not text"
        raise DataError(name, problem, "give the path of a text", line=number)
    try:
        value.encode()
    except UnicodeEncodeError:
        problem = f"{path} holds half a surrogate pair, which is no character"
        hint = "write the character itself, or both halves"
        raise DataError(name, problem, hint, line=number) from None
    return value


def _step(value: object, step: str, path: str, name: str, number: int) -> object:
    if isinstance(value, Mapping):
        table = cast("Mapping[str, object]", value)
        if step in table:
            return table[step]
        keys = [str(key) for key in table][:20]
        hint = suggest(step, keys) or "give the path of a text"
        raise DataError(name, f"no {path}: no key {step!r}", hint, line=number)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        items = cast("Sequence[object]", value)
        if step.isascii() and step.isdecimal() and len(step) < 10 and int(step) < len(items):
            return items[int(step)]
        problem = f"no {path}: a list of {len(items)} has no item {step!r}"
        raise DataError(name, problem, "number its items from 0", line=number)
    problem = f"no {path}: {_kind(value)} has no key {step!r}"
    raise DataError(name, problem, "give the path of a text", line=number)


def _kind(value: object) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case Mapping():
            return "a table"
        case bytes():
            return "bytes"
        case Sequence():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def _parsed(decoder: json.JSONDecoder, line: str, name: str, number: int) -> object:
    hint = "write one JSON value a line"
    try:
        return decoder.decode(line)
    except json.JSONDecodeError as error:
        if number == 1 and line.strip() in ("[", "{"):
            hint = "this is one value over many lines; write each pair on a line of its own"
        problem = f"not JSON ({error.msg} at character {error.colno})"
    except RecursionError:
        problem = "nested too deeply"
    except ValueError as error:  # from the hooks below
        problem = str(error)
    raise DataError(name, problem, hint, line=number)


def _single_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # Any: whatever JSON holds
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice")
    return table


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
