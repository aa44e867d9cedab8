"""What of a web page is translated, and what stays to the byte."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.documents import fill_document
from dragoman.documents.html import decode_page
from dragoman.documents.html_tokens import page_tokens
from dragoman.errors import DataError
from dragoman.translator import Fragment, Tag
from tests.documents.fakes import fill


def filled(page: str) -> str:
    return fill(page.encode(), "html")[0].decode()


@pytest.mark.parametrize(
    ("page", "made"),
    [
        ("<p>One</p>\r\n<P CLASS=x>Two<br>\n", "<p>oNE</p>\r\n<P CLASS=x>tWO<br>\n"),
        ("<p>A <b id='q'>b</b>  c\n d.</p>", "<p>a <b id='q'>B</b> C D.</p>"),
        ("<p>a <i>b<p>c</i> d", "<p>A <i>B<p>C</i> D"),
        ("a <b>b <i>c</b> d</i> e", "A <b>B <i>C</b> D</i> E"),
        ("<a href=x>b<div>c</div></a>d", "<a href=x>B<div>C</div></a>D"),
        ("<li>&nbsp;<li>x &mdash; y", "<li>&nbsp;<li>X &mdash; Y"),
        ("a &lt; b &amp; c&nbsp;d \xa0 e", "A &lt; B &amp; C&nbsp;D &nbsp; E"),
        ("<script>a <b> c</script>d<style>e</style>", "<script>a <b> c</script>D<style>e</style>"),
        ("<pre>a</pre><textarea>b</textarea>c", "<pre>a</pre><textarea>b</textarea>C"),
        ("run <code>ls <b>x</b></code> now", "RUN <code>ls <b>x</b></code> NOW"),
        ("<p translate=no>a<p>b</p></p>c", "<p translate=no>a<p>b</p></p>C"),
        ('a <b class="x notranslate">b</b> c', 'A <b class="x notranslate">b</b> C'),
        ("<!DOCTYPE html><!-- a --><title>b</title>", "<!DOCTYPE html><!-- a --><title>B</title>"),
        ("a <!-- b --> c", "A <!-- b --> C"),
        ("<![if !mso]>a<![endif]-->b", "<![if !mso]>A<![endif]-->B"),
        ("<![CDATA[a]]>b<?php c ?>", "<![CDATA[a]]>B<?php c ?>"),
    ],
)
def test_text_is_translated_block_by_block_and_the_rest_kept(page: str, made: str) -> None:
    assert filled(page) == made


@pytest.mark.parametrize(
    ("tag", "made"),
    [
        ('<img src="a.png" ALT = "One &quot;two&quot; \'x\'">', "oNE &quot;TWO&quot; 'X'"),
        ("<img alt='It&#39;s'>", "iT&#39;S"),
        ("<img alt=word>", '"WORD"'),
        ('<input type="SUBMIT" value="Go on">', "gO ON"),
        ('<meta content="About" name="Description">', "aBOUT"),
        ('<p title="Tip">', "tIP"),
    ],
)
def test_attributes_that_people_read_are_translated(tag: str, made: str) -> None:
    old = next(
        part
        for part in ("One &quot;two&quot; 'x'", "It&#39;s", "word", "Go on", "About", "Tip")
        if part in tag
    )
    assert filled(tag) == tag.replace(old, made)


@pytest.mark.parametrize(
    "tag",
    ['<a href="Title">', '<input value="Go">', '<meta name=viewport content="a">', '<img alt="">'],
)
def test_other_attributes_stay(tag: str) -> None:
    assert filled(tag) == tag


def test_a_tag_within_a_sentence_holds_its_translated_attribute() -> None:
    seen: list[Fragment] = []

    def translate(fragments: list[Fragment]) -> list[Fragment]:
        seen.extend(fragments)
        return [tuple(p if isinstance(p, Tag) else p.upper() for p in f) for f in fragments]

    made, _ = fill_document(b"see <img alt='a dog'> here", "html", translate)
    assert made == b"SEE <img alt='A DOG'> HERE"
    assert seen[1] == ("see ", Tag("<img alt='A DOG'>", "alone"), " here")


def test_a_page_that_comes_back_as_it_was_keeps_its_bytes() -> None:
    page = "<p>a  &  b\n &copy <b>c</b>&#100; é \xa0 </p><img alt=x title='a & b'>".encode()
    assert fill_document(page, "html", list)[0] == page


def test_the_encoding_is_that_of_the_head_and_lacking_characters_become_references() -> None:
    page = "<meta charset=iso-8859-1><p>“é”".encode("cp1252")
    made, _ = fill_document(page, "html", lambda fragments: [("“ш",) for _ in fragments])
    assert made == b"<meta charset=iso-8859-1><p>\x93&#1096;"


@settings(max_examples=500)
@given(st.text(alphabet="<>/!-&;=\"' abp\n[]?x#"))
def test_tokens_are_the_page_and_what_is_not_translated_stays(text: str) -> None:
    page = text.encode()
    try:
        tokens = page_tokens(decode_page(page, "page"))
    except DataError:  # "<![" and no more, which the parser does not take
        return
    assert "".join(text[token.start : token.end] for token in tokens) == text
    assert fill_document(page, "html", list)[0] == page


@pytest.mark.parametrize("text", ["<p>a \x00</p>", "<p>\x1bb</p>", "<p>\ud800</p>"])
def test_a_translation_with_control_characters_is_not_written(text: str) -> None:
    page = b"<p>word</p>"
    made, filled = fill_document(page, "html", lambda fragments: [(text,) for _ in fragments])
    assert made == page
    assert "which a page cannot hold" in filled.remarks[0].text


def test_a_reference_to_an_endless_number_is_an_error() -> None:
    with pytest.raises(DataError, match="line 2: a reference"):
        filled(f"a\n&#{'9' * 5000};")


@pytest.mark.parametrize(
    "end",
    ["<a", "<a href='x y", "<a href='?a=1&amp;b=2", "</b", "<!-- c", "<![CDATA[ c", "<?php c"],
)
def test_markup_that_breaks_off_is_no_text(end: str) -> None:
    assert filled(f"<p>a {end}") == f"<p>A {end}"
    assert filled("<p>a < b <") == "<p>A &lt; B &lt;"


@pytest.mark.parametrize("piece", ["<a ", "<a <b ", "<!--", "</", "<p x='"])
def test_what_never_ends_is_looked_for_once(piece: str) -> None:
    page = (piece * 20_000).encode()  # took minutes
    assert fill_document(page, "html", list)[0] == page
