"""Places in the text of a file and in its bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.encoded import (
    byte_offsets,
    byte_offsets_slowly,
    decode_document,
    splice,
    with_references,
)
from dragoman.errors import DataError


@given(
    codec=st.sampled_from(["utf-8", "utf-16-le", "utf-16-be", "cp1251", "shift_jis", "gb18030"]),
    text=st.text(alphabet='ab\n\r"<я漢\U0001f600'),
    cuts=st.lists(st.integers(0, 40), max_size=6),
)
def test_offsets_agree_with_decoding_byte_by_byte(codec: str, text: str, cuts: list[int]) -> None:
    raw = text.encode(codec, "replace")
    document = decode_document(raw, "file", codec, 0)
    offsets = sorted(min(cut, len(document.text)) for cut in cuts)
    assert byte_offsets(document, offsets) == byte_offsets_slowly(document, offsets)


def test_bytes_that_an_encoding_would_write_otherwise_stay() -> None:
    # NEC row 13 and the JIS row both hold ≒; Python writes 0x81e0.
    raw = b"\x87\x90 = a"
    document = decode_document(raw, "file", "cp932", 0)
    assert document.text == "≒ = a"
    assert splice(document, [(4, 5, "b")])[0] == b"\x87\x90 = b"


def test_replacements_are_put_in_their_places() -> None:
    document = decode_document("äbc".encode(), "file", "utf-8", 0)
    made, changes = splice(document, [(2, 3, "ö"), (0, 0, "x"), (0, 1, "")])
    assert made == "xbö".encode()
    assert [(c.start, c.end, c.old, c.new) for c in changes] == [
        (0, 0, b"", b"x"),
        (0, 2, "ä".encode(), b""),
        (3, 4, b"c", "ö".encode()),
    ]


def test_bytes_that_are_no_text_are_located() -> None:
    with pytest.raises(DataError, match="byte 0xff at byte 5 of the file") as caught:
        decode_document(b"abc\nd\xff", "file", "utf-8", 0)
    assert caught.value.line == 2


def test_characters_that_an_encoding_lacks_become_references_in_any_of_its_modes() -> None:
    text = with_references("x亜ш亜 €", "iso2022_jp")
    assert text.encode("iso2022_jp").decode("iso2022_jp") == "x亜ш亜 &#8364;"


def test_a_place_in_another_mode_of_the_encoding_is_refused() -> None:
    raw = "x 亜亜亜 y".encode("iso2022_jp")
    document = decode_document(raw, "page", "iso2022_jp", 0)
    assert splice(document, [(6, 7, "z")])[0] == raw[:-1] + b"z"
    with pytest.raises(DataError, match="re-save it as UTF-8"):
        splice(document, [(3, 4, "z")])
