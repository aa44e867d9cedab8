import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.formats.json_lines import read_json_lines, text_at
from dragoman.errors import DataError

SHARED = Path(__file__).parents[3].parent / "shared" / "data" / "formats"


def pairs_of(
    content: bytes | str, source: str = "source", target: str = "target"
) -> list[tuple[int, str, str]]:
    stream = io.BytesIO(content.encode() if isinstance(content, str) else content)
    return [each[:3] for each in read_json_lines(stream, "it", source, target)]


def test_texts_are_taken_by_path_from_tables_and_lists() -> None:
    content = '{"translation": {"en": "a", "de": "x"}, "all": ["p", {"q": "r"}]}\n'
    assert pairs_of(content, "translation.en", "translation.de") == [(1, "a", "x")]
    assert pairs_of(content, "all.0", "all.1.q") == [(1, "p", "r")]
    assert pairs_of('["a", "x"]\n', "0", "1") == [(1, "a", "x")]
    assert pairs_of('{"a.b": "literal", "t": ""}\n', "a.b", "t") == [(1, "literal", "")]


def test_what_stands_inside_a_text_is_kept() -> None:
    text = "a\nb\tc\r\u2028\x85 \x00é😀"
    for escaped in (True, False):
        line = json.dumps({"source": text, "target": "x"}, ensure_ascii=escaped)
        assert pairs_of(line + "\r\n") == [(1, text, "x")]


def test_null_is_empty_and_lines_of_white_space_hold_no_pair() -> None:
    content = '{"source": "a", "target": null}\n\n \t\n{"source": "b", "target": "c"}'
    assert pairs_of(content) == [(1, "a", ""), (4, "b", "c")]
    assert pairs_of('{"t": null}', "t.en", "t.de") == [(1, "", "")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", r"not JSON \(Expecting property name.* at character 2\)"),
        ('{"source": "a"} x', r"not JSON \(Extra data at character 17\)"),
        ('{"source": "a", "target": "b", "score": NaN}', r"NaN is no JSON"),
        ('{"source": "a", "target": "b", "score": -Infinity}', r"-Infinity is no JSON"),
        ('{"source": "a", "target": "b", "source": "c"}', r"the key 'source' stands twice"),
        ('{"source": "\\ud800", "target": "b"}', r"source holds half a surrogate pair"),
        ('{"source": 5, "target": "b"}', r"source is a number, not text"),
        ('{"source": true, "target": "b"}', r"source is true or false, not text"),
        ('{"source": ["a"], "target": "b"}', r"source is a list, not text"),
        ('{"sorce": "a", "target": "b"}', r"no source: no key 'source'; did you mean sorce\?"),
        ('["a", "b"]', r"no source: a list of 2 has no item 'source'; number its items from 0"),
        ('"a"', r"no source: a text has no key 'source'"),
        ("[" * 100_000, r"nested too deeply"),
        ('{"source": ' + "1" * 99_999 + "}", r"source is a number, not text"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_line_that_cannot_be_used_is_located(line: str, problem: str) -> None:
    with pytest.raises(DataError, match=rf"^it: line 2: {problem}"):
        pairs_of('{"source": "a", "target": "b"}\n' + line)


def test_a_pair_of_escaped_surrogates_is_one_character() -> None:
    assert pairs_of('["\\ud83d\\ude00", "x"]', "0", "1") == [(1, "😀", "x")]


def test_one_value_over_many_lines_is_told_from_json_lines() -> None:
    with pytest.raises(DataError, match=r"line 1: not JSON .*; this is one value over many lines"):
        pairs_of('[\n{"source": "a"}\n]\n')


@given(
    content=st.binary(max_size=100) | st.text('{}[]":,\\nu0d8N.e-1 ', max_size=30).map(str.encode)
)
def test_any_bytes_are_segments_or_a_located_error(content: bytes) -> None:
    for encoding in (None, "utf-16-le", "latin-1"):
        message = "it: "
        try:
            list(read_json_lines(io.BytesIO(content), "it", "0", "1.n", encoding=encoding))
        except DataError as error:
            message = str(error)
        assert message.startswith("it: ")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(row=json_values, path=st.text("ab01.", max_size=5))
def test_any_path_into_any_value_is_text_or_a_located_error(row: object, path: str) -> None:
    line: int | None = 7
    try:
        assert isinstance(text_at(row, path, "it", 7), str)
    except DataError as error:
        line = error.line
    assert line == 7


@pytest.mark.skipif(not SHARED.exists(), reason="the real files are not beside the repository")
def test_real_json_lines_have_as_many_rows_as_an_independent_reader_counts() -> None:
    file = "jsonl/mafand.en-yor.jsonl"
    manifest = json.loads((SHARED / "manifest.json").read_text("utf-8"))
    (rows,) = (one["rows"] for one in manifest if one["file"].startswith("jsonl/"))
    found = list(read_json_lines(SHARED / file, file, "translation.en", "translation.yor"))
    assert [each.number for each in found] == list(range(1, rows + 1))
    assert all(each.source and each.target for each in found)
