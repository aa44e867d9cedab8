"""Tables: one pair a row, in TSV, CSV or with any other delimiter.

Without quoting a row is a line, split at each delimiter. With it, the csv module reads: a field in
quotes may hold delimiters, doubled quotes and line ends, which come as LF.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal

from dragoman.configfile import record, suggest
from dragoman.data.formats.encodings import codec_name, text_lines
from dragoman.data.formats.opening import LONGEST_LINE, open_bytes, too_long
from dragoman.data.formats.segment import Segment
from dragoman.errors import ConfigError, DataError

Column = int | str
Row = tuple[int, list[str]]  # the line where it begins, its fields

# The csv module ends a row at CR too. No decoder gives a lone surrogate, so it can stand in for CR.
_CARRIAGE_RETURN = "\udc0d"
_HEADER_WORDS = {
    "context", "id", "note", "notes", "score", "source", "src", "target", "tgt", "text", "trg",
    "translation",
}  # fmt: skip


@record
class TableFormat:
    """How a table is written.

    Args:
        delimiter: what parts the fields; longer than one character only without quoting.
        quote: the sign around fields that hold a delimiter, or "" for none.
        columns: source and target, by number from 0 or by the header's names; without them a row
            has two fields.
        header: whether the first row names the columns, or ``"detect"``; a column's name needs one.
        encoding: such as ``"latin-1"``; without it a byte-order mark decides, or else UTF-8.
    """

    delimiter: str = "\t"
    quote: str = ""
    columns: tuple[Column, Column] | None = None
    header: bool | Literal["detect"] | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        """Check what no single field can.

        Raises:
            ConfigError: a table cannot be written so.
        """
        if not self.delimiter or set(self.delimiter) & set("\r\n"):
            raise ConfigError("delimiter", f"{self.delimiter!r} cannot part fields", 'try "\\t"')
        if len(self.quote) > 1 or self.quote in ("\r", "\n"):
            raise ConfigError("quote", f"{self.quote!r} is not one sign", 'try \'"\', or ""')
        if self.quote and (len(self.delimiter) > 1 or self.delimiter == self.quote):
            problem = f"{self.delimiter!r} cannot part fields quoted with {self.quote!r}"
            raise ConfigError("delimiter", problem, 'give one other character, or quote = ""')
        columns = self.columns or ()
        if any(isinstance(column, int) and column < 0 for column in columns):
            raise ConfigError("columns", "a number is below 0", "count columns from 0")
        if self.header is False and any(isinstance(column, str) for column in columns):
            raise ConfigError("columns", "names need a header", "count columns from 0")
        if self.encoding is not None:
            codec_name(self.encoding)


TSV = TableFormat()
CSV = TableFormat(delimiter=",", quote='"')


@dataclass(slots=True)
class _Place:
    """Where the csv module is: the line its row began at, and how much the row has taken."""

    begun: int = 1
    characters: int = 0
    changed: bool = False  # whether a CR in it is written as ``_CARRIAGE_RETURN``


def read_table(
    where: Path | BinaryIO,
    name: str,
    table: TableFormat = TSV,
    *,
    wrong: Callable[[DataError], None] | None = None,
) -> Iterator[Segment]:
    """Read the pairs of a table; a segment's number is the line where its row begins.

    Args:
        where: a file, unpacked by its name, or an open stream of bytes.
        name: what messages call it.
        table: how it is written.
        wrong: told of each row with the wrong number of fields, which is then left out; without
            it such a row is raised.

    Raises:
        DataError: while reading: a row has not as many fields as the first one, or as two; a
            column is missing; quotes do not match; or what ``open_bytes`` and ``text_lines`` raise.
    """
    with open_bytes(where) as stream:
        lines = text_lines(stream, name, table.encoding)
        yield from pairs_of_rows(lines, name, table, wrong=wrong)


def pairs_of_rows(
    lines: Iterator[str],
    name: str,
    table: TableFormat,
    *,
    wrong: Callable[[DataError], None] | None = None,
) -> Iterator[Segment]:
    """Read the pairs of a table from its lines; see ``read_table``."""
    rows = _quoted_rows(lines, name, table) if table.quote else _plain_rows(lines, table)
    first = next(rows, None)
    if first is None:
        return
    source, target = _columns(first[1], name, table)
    expected = len(first[1]) if table.columns is not None else 2
    if not _has_header(first[1], table):
        rows = chain([first], rows)
    for number, fields in rows:
        if len(fields) == expected:
            yield Segment(number, fields[source], fields[target])
            continue
        error = _wrong_width(name, number, len(fields), expected)
        if wrong is None:
            raise error
        wrong(error)


def looks_like_header(fields: Sequence[str]) -> bool:
    """Say whether a row names columns: each field is a known word or a language code."""
    return all(field.strip().lower() in _HEADER_WORDS or _is_code(field) for field in fields)


def _is_code(field: str) -> bool:
    language, *rest = field.strip().replace("_", "-").split("-")
    return (
        language.isascii()
        and language.islower()
        and 2 <= len(language) <= 3
        and all(part.isascii() and part.isalnum() and 2 <= len(part) <= 8 for part in rest)
    )


def _has_header(first: Sequence[str], table: TableFormat) -> bool:
    if table.header == "detect":
        return any(isinstance(c, str) for c in table.columns or ()) or looks_like_header(first)
    if table.header is None:
        return any(isinstance(column, str) for column in table.columns or ())
    return table.header


def _columns(first: Sequence[str], name: str, table: TableFormat) -> tuple[int, int]:
    if table.columns is None:
        return 0, 1
    source, target = table.columns
    return _column(source, first, name), _column(target, first, name)


def _column(column: Column, first: Sequence[str], name: str) -> int:
    if isinstance(column, int):
        if column >= len(first):
            problem = f"no column {column}, since the first row has {len(first)}"
            raise DataError(name, problem, "count columns from 0", line=1)
        return column
    if first.count(column) == 1:
        return first.index(column)
    problem = f"no column is called {column!r}"
    if column in first:
        problem = f"{first.count(column)} columns are called {column!r}"
        raise DataError(name, problem, "give numbers from 0", line=1)
    raise DataError(name, problem, suggest(column, first), line=1)


def _plain_rows(lines: Iterator[str], table: TableFormat) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        yield number, line.split(table.delimiter)


def _quoted_rows(lines: Iterator[str], name: str, table: TableFormat) -> Iterator[Row]:
    place = _Place()

    def fed() -> Iterator[str]:
        for line in lines:
            place.characters += len(line)
            if place.characters > LONGEST_LINE:
                raise too_long(name, place.begun)
            if "\r" in line:
                place.changed, line = True, line.replace("\r", _CARRIAGE_RETURN)
            yield line + "\n"

    rows = csv.reader(fed(), delimiter=table.delimiter, quotechar=table.quote, strict=True)
    try:
        for fields in rows:
            if place.changed:
                fields = [field.replace(_CARRIAGE_RETURN, "\r") for field in fields]
            yield place.begun, fields
            place.begun, place.characters, place.changed = rows.line_num + 1, 0, False
    except csv.Error as error:
        hint = "close each quote, double quotes inside one, or read it without quoting"
        raise DataError(name, f"no row of CSV ({error})", hint, line=place.begun) from None


def _wrong_width(name: str, number: int, found: int, expected: int) -> DataError:
    if expected > 2 or found < expected:
        hint = "give each row as many fields as the first"
    else:
        hint = "keep delimiters out of the text, or say which columns to read"
    return DataError(name, f"columns: {found}, expected {expected}", hint, line=number)
