import csv
import gzip
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.configfile import read_record, write_record
from dragoman.data.formats import tables
from dragoman.data.formats.segment import Segment
from dragoman.data.formats.tables import CSV, TSV, TableFormat, looks_like_header, read_table
from dragoman.errors import ConfigError, DataError

SHARED = Path(__file__).parents[3].parent / "shared" / "data" / "formats"


def table_of(content: str, table: TableFormat = TSV) -> list[tuple[int, str, str]]:
    return [each[:3] for each in read_table(io.BytesIO(content.encode()), "it", table)]


# Rows without quoting.


def test_a_row_is_a_line_and_its_text_is_kept_as_it_is() -> None:
    content = ' a  b \t"x\r\n\tc\u2028d\n'
    assert table_of(content) == [(1, " a  b ", '"x'), (2, "", "c\u2028d")]


def test_a_lone_carriage_return_is_text() -> None:
    assert table_of("a\rb\tx\n") == [(1, "a\rb", "x")]


@pytest.mark.parametrize(("row", "fields"), [("a\tb\tc", 3), ("a", 1), ("", 1)])
def test_a_row_with_another_number_of_fields_is_named(row: str, fields: int) -> None:
    with pytest.raises(DataError, match=rf"it: line 2: columns: {fields}, expected 2; "):
        table_of(f"a\tb\n{row}\nc\td\n")


def test_rows_with_another_number_of_fields_are_left_out_and_told_if_asked() -> None:
    wrong: list[DataError] = []
    stream = io.BytesIO(b"a\tb\nc\nd\te\tf\ng\th\n")
    segments = list(read_table(stream, "it", wrong=wrong.append))
    assert segments == [Segment(1, "a", "b"), Segment(4, "g", "h")]
    assert [error.line for error in wrong] == [2, 3]


def test_columns_are_taken_by_number_and_each_row_must_be_as_wide_as_the_first() -> None:
    table = TableFormat(columns=(2, 0))
    assert table_of("a\tb\tc\n", table) == [(1, "c", "a")]
    with pytest.raises(DataError, match=r"line 2: columns: 4, expected 3; give each row as many"):
        table_of("a\tb\tc\na\tb\tc\td\n", table)
    with pytest.raises(DataError, match=r"line 1: no column 2, since the first row has 2; count"):
        table_of("a\tb\n", table)


def test_columns_are_taken_by_the_names_in_the_header() -> None:
    table = TableFormat(columns=("en", "de"))
    assert table_of("de\tid\ten\nx\t1\ta\n", table) == [(2, "a", "x")]
    with pytest.raises(DataError, match=r"line 1: no column is called 'en'; did you mean eng\?"):
        table_of("de\teng\n", table)
    with pytest.raises(DataError, match=r"2 columns are called 'en'; give numbers from 0"):
        table_of("de\ten\ten\n", table)


def test_a_delimiter_may_be_longer_than_one_character_without_quoting() -> None:
    assert table_of("a | b ||| c\n", TableFormat(delimiter=" ||| ")) == [(1, "a | b", "c")]


@pytest.mark.parametrize(
    ("first", "names_columns"),
    [
        ("en\thau", True),
        ("source\ttarget", True),
        ("pt_BR\tzh-Hant", True),
        ("Hi.\t嗨。", False),
        ("Action\tAction", False),
        ("", False),
    ],
)
def test_a_header_is_left_out_only_if_asked(first: str, names_columns: bool) -> None:
    assert looks_like_header(first.split("\t")) == names_columns
    if "\t" in first:
        rows = [(1, *first.split("\t")), (2, "a", "b")]
        assert table_of(f"{first}\na\tb\n") == rows
        assert table_of(f"{first}\na\tb\n", TableFormat(header=True)) == rows[1:]
        detected = table_of(f"{first}\na\tb\n", TableFormat(header="detect"))
        assert detected == rows[names_columns:]


# Rows with quoting.


def test_quoted_fields_hold_delimiters_quotes_and_line_ends() -> None:
    content = '"a, ""b""",c\r\n"d\r\ne\nf",g\ni,j\n'
    # A row's number is the line it begins at: the second takes lines 2 to 4.
    assert table_of(content, CSV) == [(1, 'a, "b"', "c"), (2, "d\ne\nf", "g"), (5, "i", "j")]


@pytest.mark.parametrize("sign", "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\0", ids=ascii)
def test_nothing_else_ends_a_quoted_row(sign: str) -> None:
    assert table_of(f'a{sign}b,"c{sign}d"\ne,f\n', CSV) == [
        (1, f"a{sign}b", f"c{sign}d"),
        (2, "e", "f"),
    ]


@pytest.mark.parametrize("row", ['"a,b', '"a"b,c', '"a"""b",c'])
def test_quotes_that_do_not_match_are_located(row: str) -> None:
    with pytest.raises(DataError, match=r"it: line 2: no row of CSV \(.*\); close each quote"):
        table_of(f"x,y\n{row}\n", CSV)
    # The hint works: without quoting the sign is text.
    assert table_of(f"x,y\n{row}\n", TableFormat(delimiter=","))[1][0] == 2


def test_a_quote_that_is_never_closed_does_not_swallow_the_file() -> None:
    content = 'x,y\n"' + "a,b\n" * 100_000
    with pytest.raises(DataError, match=r"line 2: no row of CSV \(field larger than field limit"):
        table_of(content, CSV)


def test_a_row_of_many_quoted_lines_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LONGEST_LINE", 1000)
    with pytest.raises(DataError, match=r"it: line 2: line longer than"):
        table_of('x,y\n"' + '\n","' * 1000, CSV)


@given(rows=st.lists(st.tuples(*[st.text(st.characters(exclude_categories=["Cs"]))] * 2)))
def test_what_the_csv_module_writes_is_read_back(rows: list[tuple[str, str]]) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    content = file.getvalue()
    if content.startswith("\ufeff"):
        return
    # A line end in quotes comes as LF: the one thing that is not kept.
    expected = [tuple(text.replace("\r\n", "\n") for text in row) for row in rows]
    assert [row[1:] for row in table_of(content, CSV)] == expected


# The record.


def test_a_recipe_gives_a_table_format() -> None:
    table: dict[str, Any] = {"delimiter": ";", "quote": '"', "columns": ["en", 2], "header": True}
    made = read_record(TableFormat, table)
    assert made == TableFormat(delimiter=";", quote='"', columns=("en", 2), header=True)
    assert read_record(TableFormat, write_record(made)) == made


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"delimiter": ""}, r"delimiter: '' cannot part fields"),
        ({"delimiter": "\n"}, r"delimiter: .* cannot part fields"),
        ({"delimiter": "||", "quote": '"'}, r"delimiter: .* quoted with .*; give one other"),
        ({"delimiter": '"', "quote": '"'}, r"delimiter: .* quoted with"),
        ({"quote": '""'}, r"quote: .* is not one sign"),
        ({"columns": [-1, 0]}, r"columns: a number is below 0; count columns from 0"),
        ({"columns": ["en", "de"], "header": False}, r"columns: names need a header"),
        ({"encoding": "utf9"}, r"encoding: 'utf9' is no encoding of text"),
    ],
)
def test_a_table_that_cannot_be_written_so_is_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        read_record(TableFormat, settings)


# Any bytes, any size, real files.


@given(content=st.binary(max_size=200) | st.text('",\t\r\na', max_size=30).map(str.encode))
def test_any_bytes_are_segments_or_a_located_error(content: bytes) -> None:
    for table in (TSV, CSV, TableFormat(columns=("a", 0)), TableFormat(encoding="utf-16-be")):
        for wrong in (None, lambda _: None):
            message = "it: "
            try:
                list(read_table(io.BytesIO(content), "it", table, wrong=wrong))
            except DataError as error:
                message = str(error)
            assert message.startswith("it: ")


@pytest.mark.parametrize("table", [TSV, CSV], ids=["tsv", "csv"])
def test_memory_does_not_grow_with_the_table(table: TableFormat, tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        path = tmp_path / f"{rows}.gz"
        path.write_bytes(gzip.compress(f"some words{table.delimiter}more\n".encode() * rows))
        tracemalloc.start()
        assert sum(1 for _ in read_table(path, str(path), table)) == rows
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(10)
    assert peak(60_000) < 1.2 * peak(20_000)


REAL_FILES = {
    "csv/weblate.cs-quotes-escaped.csv": CSV,
    "csv/weblate.fr-multi.csv": TableFormat(delimiter=",", quote='"', columns=(1, 2)),
    "tsv/mafand.en-hau-header.tsv": TSV,
    "tsv/omegat.glossary-utf16le.txt": TableFormat(columns=(0, 1)),
    "tsv/tatoeba.cmn-3col-bom.txt": TableFormat(columns=(0, 1)),
}


@pytest.mark.skipif(not SHARED.exists(), reason="the real files are not beside the repository")
def test_real_tables_have_as_many_rows_as_an_independent_reader_counts() -> None:
    manifest: list[dict[str, Any]] = json.loads((SHARED / "manifest.json").read_text("utf-8"))
    counts = {one["file"]: one.get("rows") for one in manifest if one["file"][:3] in ("csv", "tsv")}
    counts["tsv/omegat.glossary-utf16le.txt"] = 2  # no reader; its two CRLF, by hand
    assert counts.keys() == REAL_FILES.keys()
    for file, table in REAL_FILES.items():
        # The manifest counts a header as a row.
        segments = list(read_table(SHARED / file, file, table))
        assert len(segments) == counts[file], file
        assert all(segment.source and segment.target for segment in segments), file


@pytest.mark.skipif(not SHARED.exists(), reason="the real files are not beside the repository")
def test_real_tables_hold_the_text_they_show() -> None:
    def first(file: str, table: TableFormat) -> tuple[int, str, str]:
        return next(read_table(SHARED / file, file, table))[:3]

    named = TableFormat(delimiter=",", quote='"', columns=("source", "target"))
    assert first("csv/weblate.fr-multi.csv", named) == (
        2, "Myocardial infarction (disorder)", "Infarctus myocardique",
    )  # fmt: skip
    plain = TableFormat(columns=(0, 1))
    assert first("tsv/tatoeba.cmn-3col-bom.txt", plain) == (1, "Hi.", "嗨。")
    glossary = first("tsv/omegat.glossary-utf16le.txt", plain)
    assert glossary == (1, "UTF", "Unicode Transformation Format")
    assert first("csv/weblate.cs-quotes-escaped.csv", CSV) == (
        1, "Thank you for using Weblate.", 'Děkujeme za použití "Weblate".',
    )  # fmt: skip
