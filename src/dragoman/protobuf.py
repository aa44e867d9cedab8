"""Write protocol buffers, the wire format of SentencePiece and ONNX files, without their libraries.

A message is its fields one after the other: each a key, which holds a number and a wire type, then
its value. Nested messages are fields of bytes.
"""

import struct


def integer_field(number: int, value: int) -> bytes:
    """Write a field that is an integer, a truth value or a choice; not negative."""
    return varint(number << 3) + varint(value)


def bytes_field(number: int, value: bytes | str) -> bytes:
    """Write a field that is text, bytes or a nested message."""
    content = value.encode("utf-8") if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def float_field(number: int, value: float) -> bytes:
    """Write a field that is a float of 32 bits."""
    return varint(number << 3 | 5) + struct.pack("<f", value)


def varint(value: int) -> bytes:
    """Write an integer, seven bits a byte, the lowest first.

    Raises:
        ValueError: it is negative.
    """
    if value < 0:
        raise ValueError(f"value: {value} is negative")
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
