"""What is asked of a translator, and what becomes of what it gives."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents import DOCUMENT_FORMATS, DocumentFormat, fill_document
from dragoman.documents.placeholders import lost_placeholders
from dragoman.documents.trimming import trimmed
from dragoman.errors import DataError
from dragoman.translator import Fragment, Tag
from tests.documents.fakes import swapped, undone

EXAMPLES: dict[DocumentFormat, bytes] = {
    "html": b"<p>a <b>b</b>\n<img alt=c>&amp;<li>d",
    "po": b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n#, c-format\n'
    b'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n\nmsgctxt "x"\nmsgid "b"\nmsgstr ""',
    "qt": b'<TS><message numerus="yes"><source>a</source><translation type="unfinished">'
    b"<numerusform></numerusform></translation></message></TS>",
    "tmx": b'<tmx><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>a<ph/></seg></tuv>'
    b'<tuv xml:lang="de"><seg/></tuv></tu></body></tmx>',
    "xliff": b'<xliff><trans-unit><source>a <g id="1">b</g></source></trans-unit><unit><segment>'
    b"<source>x &amp; y</source><target/></segment></unit></xliff>",
}
UNIT = b"<xliff><trans-unit><source>%b</source></trans-unit></xliff>"


def test_every_format_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(DOCUMENT_FORMATS)


@pytest.mark.parametrize("format", DOCUMENT_FORMATS)
@given(junk=st.binary(max_size=200))
def test_random_bytes_are_refused_or_kept(format: DocumentFormat, junk: bytes) -> None:
    try:
        made, filled = fill_document(junk, format, swapped)
    except DataError:
        return
    assert undone(made, filled) == junk


@pytest.mark.parametrize("format", DOCUMENT_FORMATS)
@given(place=st.integers(0, 300), cut=st.integers(0, 12), junk=st.binary(max_size=6))
def test_a_damaged_document_is_refused_or_else_only_filled(
    format: DocumentFormat, place: int, cut: int, junk: bytes
) -> None:
    data = EXAMPLES[format]
    data = data[: place % len(data)] + junk + data[place % len(data) + cut :]
    try:
        made, filled = fill_document(data, format, swapped)
    except DataError:
        return
    assert undone(made, filled) == data


def test_the_translator_gets_no_space_around_and_equal_texts_once() -> None:
    seen: list[Fragment] = []

    def translate(fragments: list[Fragment]) -> list[Fragment]:
        seen.extend(fragments)
        return swapped(fragments)

    data = b"<p> one <p>one\n<p><b> one</b> <p>two"
    made, filled = fill_document(data, "html", translate)
    assert seen == [("one",), ("two",)]
    assert made == b"<p> ONE <p>ONE\n<p><b> ONE</b> <p>TWO"
    assert filled.targets == 4


def test_text_without_anything_to_read_is_copied() -> None:
    made, _ = fill_document(UNIT % b'<x id="1"/>', "xliff", swapped)
    assert b'><x id="1"/></target>' in made


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (("",), "the translation is empty"),
        (("b",), "its tags came back changed"),
        ((Tag("<x/>", "alone"), "b", Tag("<x/>", "alone")), "its tags came back changed"),
        ((Tag("<x/>", "alone"), "b\x01"), "U+0001 in the translation, which XML cannot hold"),
    ],
)
def test_what_cannot_be_written_is_left_and_named(result: Fragment, problem: str) -> None:
    data = UNIT % b"a<x/>"
    made, filled = fill_document(data, "xliff", lambda fragments: [result] * len(fragments))
    assert made == data
    assert filled.targets == 0
    assert filled.left == {"not written": 1}
    assert filled.remarks[0].line == 1
    assert problem in filled.remarks[0].text


def test_spans_that_come_back_crossed_are_not_written() -> None:
    data = UNIT % b'<g id="1">a</g><g id="2">b</g>'

    def translate(fragments: list[Fragment]) -> list[Fragment]:
        tags = [part for part in fragments[0] if isinstance(part, Tag)]
        return [(tags[0], tags[2], "a", tags[1], "b", tags[3])]

    assert fill_document(data, "xliff", translate)[0] == data


def test_placeholders_that_are_lost_are_named() -> None:
    made, filled = fill_document(
        UNIT % b"%s of {name}", "xliff", lambda fragments: [("of %s",)] * len(fragments)
    )
    assert b">of %s</target>" in made
    assert [remark.text for remark in filled.remarks] == ["the translation lacks {name}"]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("%s %d %(name)s %1$s %.2f", ["%(name)s", "%.2f", "%1$s", "%d", "%s"]),
        ("%1 and %2", ["%1", "%2"]),
        ("{0} {name} {{ limit }}", ["{0}", "{name}", "{{ limit }}"]),
        ("50 percent of it", []),
    ],
)
def test_placeholders_of_programs_are_known(source: str, found: list[str]) -> None:
    assert lost_placeholders((source,), ()) == found


def test_what_surrounds_the_words_comes_back_in_its_place() -> None:
    opened, closed = Tag("<b>", "open", 1), Tag("</b>", "close", 1)
    assert trimmed((" ", opened, "a ", closed, "\n")) == (
        (" ", opened),
        ("a",),
        (" ", closed, "\n"),
    )


def test_a_wrong_number_of_translations_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="0 translations for 1"):
        fill_document(UNIT % b"a", "xliff", lambda fragments: [])


def test_packed_documents_are_refused() -> None:
    with pytest.raises(DataError, match=r"packed \(gzip\); unpack it first"):
        fill_document(gzip.compress(UNIT), "xliff", swapped)
