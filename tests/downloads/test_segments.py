import io
import xml.etree.ElementTree as ElementTree
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.downloads.record import Layout
from dragoman.downloads.segments import lines_of
from dragoman.errors import DataError

TALKS = """<?xml version="1.0" encoding="UTF-8"?>
<mteval>
<refset setid="i" srclang="english" trglang="german">
<doc docid="69" genre="lectures">
<url>http://www.ted.com/talks/one</url>
<description>About "a < b" &amp; more</description>
<keywords>talks, science</keywords>
<reviewer></reviewer>
<seg id="1"> Das ist \n gut. </seg>
<seg id="2">R&D, 5 < 6 und <i>mehr</i></seg>
<seg id="3"></seg>
</doc>
</refset>
</mteval>
"""


def texts(data: str | bytes, layout: Layout, column: int = 0) -> list[bytes]:
    raw = data if isinstance(data, bytes) else data.encode()
    return [line.text for line in lines_of(io.BytesIO(raw), layout, column, "member")]


def test_only_lf_and_crlf_end_a_line() -> None:
    # Field report 1: none of these characters ends a line.
    odd = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei\rj"
    assert texts(f"{odd}\nzwei\r\n\nvier", "lines") == [odd.encode(), b"zwei", b"", b"vier"]


def test_bytes_that_are_not_utf8_stay_as_they_are() -> None:
    assert texts(b"\xff\n", "lines") == [b"\xff"]


def test_a_byte_order_mark_at_the_head_is_dropped() -> None:
    assert texts(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", "lines") == [b"a", b"\xef\xbb\xbfb"]


def test_an_empty_member_has_no_lines() -> None:
    assert texts("", "lines") == []


def test_lines_about_a_talk_are_no_text() -> None:
    text = (
        '<doc docid="1" genre="lectures">\n<url>http://ted.com/1</url>\n<keywords>a, b</keywords>\n'
        "<speaker>X</speaker>\n<talkid>1</talkid>\n<title>A title</title>\n"
        '<description>TED talk</description>\n<reviewer href="u">Y</reviewer>\n'
        "Text.\n<laughter> is text\nThe <title> alone\n\n"
        '<translator href="u">Z</translator>\n</doc>\n'
    )
    assert texts(text, "tagged") == [b"Text.", b"<laughter> is text", b"The <title> alone", b""]


def test_columns_are_cut_at_tabs() -> None:
    text = "Go.\tVa !\tCC-BY\nHi.\tSalut !\n"
    assert texts(text, "columns", 0) == [b"Go.", b"Hi."]
    assert texts(text, "columns", 1) == [b"Va !", b"Salut !"]


def test_a_line_without_a_tab_is_an_error_with_its_number() -> None:
    with pytest.raises(DataError, match="member: line 2: has no tab"):
        texts("a\tb\nc\n", "columns")


def test_segments_of_a_talk_are_taken_whole() -> None:
    found = list(lines_of(io.BytesIO(TALKS.encode()), "sgm", 0, "member"))
    assert [line.text for line in found] == [
        b"Das ist gut.",
        b"R&D, 5 < 6 und <i>mehr</i>",
        b"",
    ]
    assert [line.key for line in found] == ["1", "2", "3"]


def test_references_are_undone_once_and_only_with_their_semicolon() -> None:
    text = "<seg id='1'>&lt;b&gt; &amp;amp; AT&T &copy2 &eacute; &#8211; &#x41; &nosuch;</seg>"
    assert texts(text, "sgm")[0].decode() == "<b> &amp; AT&T &copy2 é – A &nosuch;"


def test_a_reference_to_a_line_end_stays_on_its_line() -> None:
    assert texts("<seg id='1'>a&#10;b</seg>", "sgm") == [b"a b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<doc>\n<seg id="1">a\n<seg id="2">b</seg></doc>', "line 2: the segment is not closed"),
        ('<doc>\n<seg id="1">a</doc>', "line 2: the segment is not closed"),
        ("<doc>\n\na</doc>", "line 3: text outside a segment"),
        ("<doc></seg></doc>", "line 1: a segment is closed that was not opened"),
        ("<doc><url>x\n<seg id='1'>a</seg></doc>", "line 2: no </url> before it"),
        ("<doc><url>x</doc>", "no </url> before it"),
        ("<seg id='1'>a</seg>\nb", "line 2: text outside a segment"),
    ],
)
def test_a_broken_test_set_is_an_error_rather_than_a_lost_line(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        texts(text, "sgm")


def test_a_test_set_that_is_not_utf8_is_an_error_with_its_line() -> None:
    with pytest.raises(DataError, match=r"member: line 2: not UTF-8 \(byte 0xff\)"):
        texts(b"<doc>\n<seg id='1'>\xff</seg></doc>", "sgm")


@given(
    segments=st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc"])).map(lambda text: text.strip(" "))
    )
)
def test_segments_agree_with_an_xml_parser_where_there_is_one(segments: list[str]) -> None:
    body = "".join(f'<seg id="{n}">{escape(text)}</seg>\n' for n, text in enumerate(segments))
    text = f'<refset><doc docid="x">\n{body}</doc></refset>'
    try:
        parsed = [element.text or "" for element in ElementTree.fromstring(text).iter("seg")]
    except ElementTree.ParseError:  # some characters are none of XML's
        parsed = segments
    assert [line.decode() for line in texts(text, "sgm")] == parsed == segments


@given(lines=st.lists(st.binary().filter(lambda line: b"\n" not in line and line[-1:] != b"\r")))
def test_no_line_is_lost_or_invented(lines: list[bytes]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    if lines and lines[0].startswith(b"\xef\xbb\xbf"):
        lines[0] = lines[0][3:]
    assert texts(data, "lines") == lines
