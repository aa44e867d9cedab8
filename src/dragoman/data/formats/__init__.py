"""Every format a corpus may come in, as numbered segments; reads, and judges no text."""

from dragoman.data.formats.encodings import (
    codec_name,
    decoded_lines,
    find_encoding,
    guess_encoding,
    text_blocks,
    text_lines,
)
from dragoman.data.formats.hub import read_dataset
from dragoman.data.formats.inline import Markup
from dragoman.data.formats.json_lines import read_json_lines
from dragoman.data.formats.opening import FormatName, format_of, open_bytes
from dragoman.data.formats.parquet import read_parquet
from dragoman.data.formats.po import read_mo, read_po
from dragoman.data.formats.qt_ts import read_qt_ts
from dragoman.data.formats.segment import Segment
from dragoman.data.formats.tables import (
    CSV,
    TSV,
    TableFormat,
    looks_like_header,
    pairs_of_rows,
    read_table,
)
from dragoman.data.formats.tmx import read_tmx
from dragoman.data.formats.xliff import read_xliff

__all__ = [
    "CSV",
    "TSV",
    "FormatName",
    "Markup",
    "Segment",
    "TableFormat",
    "codec_name",
    "decoded_lines",
    "find_encoding",
    "format_of",
    "guess_encoding",
    "looks_like_header",
    "open_bytes",
    "pairs_of_rows",
    "read_dataset",
    "read_json_lines",
    "read_mo",
    "read_parquet",
    "read_po",
    "read_qt_ts",
    "read_table",
    "read_tmx",
    "read_xliff",
    "text_blocks",
    "text_lines",
]
