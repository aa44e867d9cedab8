import codecs
import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.formats import encodings
from dragoman.data.formats.encodings import (
    BYTE_ORDER_MARKS,
    codec_name,
    find_encoding,
    guess_encoding,
    text_lines,
)
from dragoman.errors import ConfigError, DataError

NOT_LINE_ENDS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
WIDE = ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "gb18030"]


def lines_of(content: bytes, encoding: str | None = None) -> list[str]:
    return list(text_lines(io.BytesIO(content), "it", encoding))


def reference_lines(content: bytes, encoding: str) -> list[str]:
    """Slow twin: everything at once, split at LF, with one CR before it dropped."""
    *whole, rest = content.decode(encoding).split("\n")
    return [line.removesuffix("\r") for line in whole] + [rest] * bool(rest)


# Marks.


@pytest.mark.parametrize(("mark", "codec"), BYTE_ORDER_MARKS, ids=[c for _, c in BYTE_ORDER_MARKS])
def test_a_byte_order_mark_names_the_encoding_and_is_no_text(mark: bytes, codec: str) -> None:
    content = mark + "é\n日 и\r\n".encode(codec)
    assert find_encoding(content, "it") == (codec, len(mark))
    assert lines_of(content) == ["é", "日 и"]
    assert lines_of(content, codec) == ["é", "日 и"]
    assert lines_of(mark) == []


def test_a_mark_against_what_is_declared_is_an_error_with_a_hint_that_works() -> None:
    content = codecs.BOM_UTF16_LE + "é\n".encode("utf-16-le")
    with pytest.raises(DataError, match=r"mark of utf-16-le, but is said to be latin-1; leave"):
        lines_of(content, "latin-1")
    assert lines_of(content) == ["é"]


@pytest.mark.parametrize("order", ["le", "be"])
def test_utf_16_without_an_order_takes_that_of_the_mark_and_else_is_an_error(order: str) -> None:
    text = "é\n".encode(f"utf-16-{order}")
    mark = codecs.BOM_UTF16_LE if order == "le" else codecs.BOM_UTF16_BE
    assert lines_of(mark + text, "utf-16") == ["é"]
    with pytest.raises(DataError, match="say utf-16-le or utf-16-be"):
        lines_of(text, "utf-16")
    assert lines_of(text, f"utf-16-{order}") == ["é"]


@pytest.mark.parametrize("text", ["hello, world\n", "Привет, мир\n", "שלום עולם\n"])
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_not_taken_for_control_characters(text: str, codec: str) -> None:
    with pytest.raises(DataError, match=rf'without a byte-order mark.*encoding = "{codec}"'):
        lines_of(text.encode(codec))
    assert lines_of(text.encode(codec), codec) == [text[:-1]]


# Lines.


@pytest.mark.parametrize("codec", WIDE)
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("sign", NOT_LINE_ENDS, ids=ascii)
def test_only_lf_and_crlf_end_a_line_in_every_encoding(sign: str, ending: str, codec: str) -> None:
    content = f"a{sign}b{ending}c{ending}".encode(codec)
    assert lines_of(content, codec) == [f"a{sign}b", "c"]


def test_letters_with_the_byte_of_a_line_end_are_letters() -> None:
    gurmukhi = "\u0a0a\u0a05\u0a0d\n\u0a0a"  # U+0A0A is twice the byte 0x0A
    for codec in ("utf-16-le", "utf-16-be"):
        assert lines_of(gurmukhi.encode(codec), codec) == gurmukhi.split("\n")


@given(text=st.text(max_size=40), chunk=st.integers(1, 9), codec=st.sampled_from([*WIDE, "cp037"]))
def test_lines_do_not_depend_on_where_chunks_end(text: str, chunk: int, codec: str) -> None:
    content = text.replace("\ufeff", "").encode(codec, "ignore")
    if any(content.startswith(mark) for mark, _ in BYTE_ORDER_MARKS):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encodings, "_CHUNK", chunk)
        assert lines_of(content, codec) == reference_lines(content, codec)


@pytest.mark.parametrize(
    ("encoding", "content"),
    [("latin-1", b"caf\xe9\n"), ("cp1252", b"\x80 5\n"), ("koi8-r", b"\xed\xc9\xd2\n")],
)
def test_a_declared_encoding_is_used(encoding: str, content: bytes) -> None:
    # By the tables of ISO 8859-1, Windows 1252 and KOI8-R.
    assert lines_of(content, encoding) == [{"l": "café", "c": "€ 5", "k": "Мир"}[encoding[0]]]


def test_a_line_without_end_is_an_error_in_a_wide_encoding_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encodings, "LONGEST_LINE", 1000)
    content = ("a\n" + "字" * 2000).encode("utf-16-le")
    with pytest.raises(DataError, match=r"it: line 2: line longer than"):
        lines_of(content, "utf-16-le")


def test_memory_does_not_grow_with_the_file() -> None:
    def peak(lines: int) -> int:
        stream = io.BytesIO("some words é\n".encode("utf-16-le") * lines)
        tracemalloc.start()
        assert sum(1 for _ in text_lines(stream, "it", "utf-16-le")) == lines
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    assert peak(50_000) < 1.2 * peak(10_000)


# Bad bytes.


def test_a_bad_byte_is_named_with_line_and_place_and_a_likely_encoding() -> None:
    with pytest.raises(
        DataError,
        match=r"it: line 3: not UTF-8 \(byte 0xe9 at byte 3 of the line\); "
        r'set encoding = "cp1252" if it looks right, or re-save it as UTF-8',
    ):
        lines_of(b"one\ntwo\ncaf\xe9\n")
    assert lines_of(b"one\ntwo\ncaf\xe9\n", "cp1252") == ["one", "two", "café"]


@pytest.mark.parametrize("chunk", [1, 3, 7, 1000])
@pytest.mark.parametrize(
    ("codec", "before", "bad", "byte"),
    [
        ("cp1252", "é\nb\n", b"x\x81\n", 1),
        ("utf-16-le", "é\nbc\n", b"\x00\xdcx\x00", 0),  # half a surrogate pair
        ("utf-16-be", "é\nbc\n", b"\x00x\x00", 2),  # half a unit at the end
        ("gb18030", "中\n\n", b"a\xff\n", 1),
    ],
)
def test_a_bad_byte_is_located_in_every_encoding(
    codec: str, before: str, bad: bytes, byte: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encodings, "_CHUNK", chunk)
    good = before.encode(codec)
    place = rf"it: line 3: not {codec} \(byte 0x.. at byte {len(good) + byte} of the file\)"
    with pytest.raises(DataError, match=place):
        lines_of(good + bad, codec)


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("cp1252", "Müller trank Kaffee in Köln"),
        ("cp1252", "L’amitié « sincère » coûte 5 €"),
        ("cp1252", "É"),
        ("cp1251", "Это простая проверка"),
        ("koi8-r", "Это простая проверка"),
        ("koi8-r", "ещё один день"),
        ("gb18030", "你好，世界。这是一个测试。"),
        ("shift_jis", "東京で働いています。"),
        ("euc_kr", "파일을 열 수 없습니다"),
        ("utf-16-le", "wörld and é"),
        ("utf-16-be", "wörld and é"),
    ],
)
def test_common_encodings_are_guessed(codec: str, text: str) -> None:
    assert guess_encoding(text.encode(codec)) == codec


@given(content=st.binary(max_size=200))
def test_any_bytes_are_lines_or_a_located_error(content: bytes) -> None:
    for encoding in (None, "utf-16-le", "utf-32-be", "shift_jis", "iso2022_jp", "latin-1", "hz"):
        message, lines = "it: ", list[str]()
        try:
            lines = lines_of(content, encoding)
        except DataError as error:
            message = str(error)
        assert message.startswith("it: ")
        assert not any("\ud800" <= c <= "\udfff" or c == "\n" for line in lines for c in line)


# Names.


def test_names_of_encodings_are_spelt_as_python_does() -> None:
    names = {"UTF8": "utf-8", "utf-8-sig": "utf-8", "L1": "latin-1", "windows-1252": "cp1252"}
    assert {name: codec_name(name) for name in names} == names


@pytest.mark.parametrize(
    "name", ["utf9", "base64", "rot13", "unicode-escape", "idna", "utf-7", "undefined", "", "\0"]
)
def test_what_is_no_encoding_of_a_corpus_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"encoding: .* is no encoding .*; write utf-8"):
        codec_name(name)
