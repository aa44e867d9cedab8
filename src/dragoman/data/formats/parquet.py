"""Apache Parquet, through pyarrow: columns read piece by piece, so that memory stays small."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from dragoman.configfile import similar_file, suggest
from dragoman.data.formats.json_lines import text_at
from dragoman.data.formats.segment import Segment
from dragoman.errors import DataError, MissingExtraError

ROWS_AT_ONCE = 1024
_BUFFER = 2**20  # bytes of a column chunk held at once


def read_parquet(
    path: Path, name: str, source: str = "source", target: str = "target"
) -> Iterator[Segment]:
    """Read the pairs of a Parquet file; a segment's number is its row, from 1.

    Args:
        path: a file; the format is read from its end, so it cannot be a pipe.
        name: what messages call it.
        source: path of the source's column, such as ``"translation.en"`` within a column of
            structs; null is "".
        target: path of the translation's column.

    Raises:
        DataError: while reading: the file is missing or damaged, or a column is missing or holds
            no text.
        MissingExtraError: pyarrow is not installed.
    """
    parquet = _library()
    number = 0
    with _located(path, name):
        file = parquet.ParquetFile(path, buffer_size=_BUFFER, page_checksum_verification=True)
        with file:
            wanted = list(dict.fromkeys(_column(file, each, name) for each in (source, target)))
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=wanted, use_threads=False):
                for row in _rows(batch, name, number):
                    number += 1
                    texts = (text_at(row, each, name, number) for each in (source, target))
                    yield Segment(number, *texts)


def _rows(batch: Any, name: str, before: int) -> list[dict[str, object]]:
    try:
        return cast("list[dict[str, object]]", batch.to_pylist())
    except UnicodeDecodeError:
        pass
    for row in range(batch.num_rows):
        try:
            batch.slice(row, 1).to_pylist()
        except UnicodeDecodeError as error:
            problem = f"not UTF-8 (byte 0x{error.object[error.start]:02x} of the text)"
            hint = "write the column as UTF-8 text"
            raise DataError(name, problem, hint, line=before + row + 1) from None
    raise AssertionError("some row holds what the batch does")


def _column(file: Any, path: str, name: str) -> str:
    """Find the column to read for a path: itself, or that of which it is a part."""
    leaves = [str(file.schema.column(i).path) for i in range(len(file.schema))]
    if leaves.count(path) == 1:
        return path
    whole = path.split(".")[0]
    names = [str(each) for each in file.schema_arrow.names]
    for column in (path, whole):
        if names.count(column) == 1:
            return column
        if column in names:
            problem = f"{names.count(column)} columns are called {column!r}"
            raise DataError(name, problem, "give each a name of its own")
    raise DataError(name, f"no column {path!r}", suggest(path, leaves[:20]))


@contextmanager
def _located(path: Path, name: str) -> Generator[None]:
    import pyarrow  # pyright: ignore  # optional; read_parquet has asked for it

    arrow_error = cast("type[Exception]", cast("Any", pyarrow).ArrowException)
    try:
        yield
    except FileNotFoundError:
        raise DataError(name, "no such file", similar_file(path)) from None
    except IsADirectoryError:
        raise DataError(name, "is a folder", "name a file in it") from None
    except (arrow_error, OSError, MemoryError, ValueError) as error:  # ValueError: names not UTF-8
        what = " ".join(str(error).split())[:200]
        raise DataError(name, f"not Parquet, or damaged ({what})", "write it again") from None


def _library() -> Any:  # Any: half of it has no types
    try:
        from pyarrow import parquet  # pyright: ignore  # optional
    except ImportError:
        raise MissingExtraError("reading Parquet", "parquet") from None
    return cast("Any", parquet)
