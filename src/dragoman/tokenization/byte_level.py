"""Vocabularies over bytes, as GPT-2 has them (Radford et al. 2019, section 2.2).

Each byte is written as one visible character, so that byte-pair encoding can treat text in UTF-8
as a string: ``é`` is ``Ã©``, and a space ``Ġ``. Nothing is ever unknown.
"""


def byte_characters() -> tuple[str, ...]:
    """Say which character stands for each byte, 0 to 255.

    Those that are visible in Latin-1 stand for themselves, the others for U+0100 and what follows.
    """
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in visible else next(others)) for byte in range(256))


BYTE_CHARACTERS = byte_characters()
_BYTES = {character: byte for byte, character in enumerate(BYTE_CHARACTERS)}


def to_byte_characters(text: str) -> str:
    """Write the UTF-8 bytes of a text as characters."""
    return "".join(BYTE_CHARACTERS[byte] for byte in text.encode())


def from_byte_characters(piece: str) -> bytes:
    """Give the bytes back.

    Raises:
        ValueError: a character stands for no byte.
    """
    try:
        return bytes([_BYTES[character] for character in piece])
    except KeyError as error:
        raise ValueError(f"{piece!r}: {error.args[0]!r} stands for no byte") from None
