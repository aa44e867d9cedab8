"""Bytes of protocol buffers, held to the examples of the format's own description."""

import pytest

from dragoman.protobuf import bytes_field, float_field, integer_field, varint


@pytest.mark.parametrize(
    ("value", "written"),
    # By hand; 150 is the example in the description of the encoding.
    [(0, b"\0"), (1, b"\1"), (127, b"\x7f"), (128, b"\x80\1"), (150, b"\x96\1")],
)
def test_integers_are_written_seven_bits_a_byte(value: int, written: bytes) -> None:
    assert varint(value) == written


def test_negative_integers_are_misuse() -> None:
    with pytest.raises(ValueError, match="-1 is negative"):
        varint(-1)


def test_fields_have_their_number_and_wire_type() -> None:
    # The description's examples: field 1 is 150, and field 2 is the text "testing".
    assert integer_field(1, 150) == bytes([0x08, 0x96, 0x01])
    assert bytes_field(2, "testing") == b"\x12\x07testing"
    assert bytes_field(2, b"testing") == b"\x12\x07testing"
    assert float_field(3, 1.0) == b"\x1d\x00\x00\x80\x3f"  # 1.0 is 0x3f800000
    assert integer_field(16, 1) == b"\x80\x01\x01"  # the key needs two bytes
