"""The wire format of ``.model`` files, written here byte by byte."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ModelError
from dragoman.tokenization.sentencepiece_model import (
    SentencePiece,
    parse_sentencepiece_model,
    read_sentencepiece_model,
)
from tests.tokenization.sentencepiece_models import NAMES, model_bytes, model_file, processor


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | float | bytes) -> bytes:
    match value:
        case int():
            return varint(number << 3) + varint(value)
        case float():
            return varint(number << 3 | 5) + struct.pack("<f", value)
        case bytes():
            return varint(number << 3 | 2) + varint(len(value)) + value


def piece(text: str, score: float = 0.0, kind: int | None = None) -> bytes:
    inner = field(1, text.encode()) + field(2, score)
    return field(1, inner + (b"" if kind is None else field(3, kind)))


def test_a_file_is_read_as_its_format_says() -> None:
    content = b"".join(
        [
            piece("<unk>", kind=2),
            piece("▁Hund", -1.5),
            piece("<b>", kind=4),
            field(2, field(3, 2) + field(24, 1)),
            field(3, field(1, b"nfkc") + field(2, b"table") + field(3, 0)),
            field(9, 3) + field(10, b"what is not known is passed over") + b"\x61" + bytes(8),
        ]
    )
    model = parse_sentencepiece_model(content)
    assert model.pieces == (
        SentencePiece("<unk>", 0.0, "unknown"),
        SentencePiece("▁Hund", -1.5, "normal"),
        SentencePiece("<b>", 0.0, "user"),
    )
    assert (model.algorithm, model.rule, model.has_rules) == ("bpe", "nfkc", True)
    assert (model.adds_space, model.space_after) == (False, True)


def test_what_a_file_leaves_out_has_the_value_of_the_format() -> None:
    model = parse_sentencepiece_model(field(1, field(1, b"a")))
    assert model.pieces == (SentencePiece("a", 0.0, "normal"),)
    assert (model.algorithm, model.rule, model.has_rules) == ("unigram", "", False)
    assert (model.adds_space, model.space_after) == (True, False)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_the_library_is_read(name: str) -> None:
    model, library = read_sentencepiece_model(model_file(name)), processor(name)
    numbers = range(len(library))
    assert [each.text for each in model.pieces] == [library.id_to_piece(i) for i in numbers]
    scores = [library.get_score(i) for i in numbers]
    assert [each.score for each in model.pieces] == pytest.approx(scores)
    kinds = [each.type for each in model.pieces]
    assert [each == "control" for each in kinds] == [library.is_control(i) for i in numbers]
    assert [each == "unknown" for each in kinds] == [library.is_unknown(i) for i in numbers]
    assert [each == "byte" for each in kinds] == [library.is_byte(i) for i in numbers]
    assert [i for i in numbers if kinds[i] == "user"] == library.piece_to_id(["<b>", "</b>"])
    assert model.algorithm == name


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it holds no pieces"),
        (b"\x0a\x05ab", "it ends within a field at byte 2"),
        (b"\x0a", "it ends within a number"),
        (b"\xff" * 20, "a number at byte 10 is too long"),
        (b"\x0b", "wire type 3 at byte 1"),
        (piece("a", kind=9), "piece type 9 is unknown"),
        (piece("a") + field(2, field(3, 7)), "model type 7 is unknown"),
        (field(1, field(1, 3)), "a number stands where text belongs"),
        (field(1, field(1, b"\xff")), "invalid start byte"),
        (field(1, field(2, b"abcdef")), "a score is no float"),
        (piece("a") + field(2, field(3, b"x")), "text stands where a number belongs"),
    ],
)
def test_damage_is_named(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "spm.model"
    path.write_bytes(content)
    with pytest.raises(
        ModelError, match=rf"spm\.model: not a SentencePiece .*\({problem}|{problem}"
    ):
        read_sentencepiece_model(path)


@given(content=st.binary(max_size=60))
def test_no_bytes_crash_the_reader(content: bytes) -> None:
    for bytes_ in (content, piece("a") + content):
        try:
            parse_sentencepiece_model(bytes_)
        except ValueError:
            continue


@given(share=st.floats(0, 0.999))
def test_a_file_cut_short_never_gives_more_pieces(share: float) -> None:
    whole = model_bytes("bpe")
    try:
        found = parse_sentencepiece_model(whole[: int(share * len(whole))])
    except ValueError:
        return
    full = parse_sentencepiece_model(whole)
    assert found.pieces == full.pieces[: len(found.pieces)]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"spm\.model: no such file"):
        read_sentencepiece_model(tmp_path / "spm.model")
    with pytest.raises(ModelError, match="cannot be read"):
        read_sentencepiece_model(tmp_path)
