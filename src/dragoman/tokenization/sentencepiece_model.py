"""Read a SentencePiece ``.model`` file without its library (Kudo and Richardson 2018, 1808.06226).

The file is a protocol buffer, ``ModelProto`` in ``sentencepiece_model.proto``: fields one after the
other, each a number and a wire type, then its value. Only the fields that say how text is cut are
kept.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dragoman.errors import ModelError

PieceType = Literal["normal", "unknown", "control", "user", "unused", "byte"]
Algorithm = Literal["unigram", "bpe", "word", "character"]

_TYPES: dict[int, PieceType] = {
    1: "normal",
    2: "unknown",
    3: "control",
    4: "user",
    5: "unused",
    6: "byte",
}
_ALGORITHMS: dict[int, Algorithm] = {1: "unigram", 2: "bpe", 3: "word", 4: "character"}
_Field = tuple[int, int | bytes]


@dataclass(frozen=True, slots=True)
class SentencePiece:
    """One piece.

    Args:
        text: as in the file; ``▁`` stands for a space.
        score: log probability, or the rank of the merge with its sign changed.
        type: what the piece is for.
    """

    text: str
    score: float
    type: PieceType


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceModel:
    """What the file says about cutting text.

    Args:
        pieces: in the order of their ids.
        algorithm: how text is cut.
        rule: name of the normalisation, such as ``nmt_nfkc``; "" when it has none.
        has_rules: whether the file holds a table of normalisation.
        adds_space: whether a space goes before the text.
        space_after: whether the space of a word stands behind it.
        charsmap: the table of normalisation, empty when it has none.
        trims_spaces: whether spaces at the ends go, and of several in a row one stays.
    """

    pieces: tuple[SentencePiece, ...]
    algorithm: Algorithm
    rule: str
    has_rules: bool
    adds_space: bool
    space_after: bool
    charsmap: bytes = b""
    trims_spaces: bool = True


def read_sentencepiece_model(path: Path) -> SentencePieceModel:
    """Read a ``.model`` file.

    Raises:
        ModelError: it cannot be read, is damaged, or is no SentencePiece model.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return parse_sentencepiece_model(content)
    except ValueError as error:
        raise ModelError(f"{path}: not a SentencePiece model, or damaged ({error})") from None


def parse_sentencepiece_model(content: bytes) -> SentencePieceModel:
    """Read the bytes of a ``.model`` file.

    Raises:
        ValueError: they are not a SentencePiece model.
    """
    pieces: list[SentencePiece] = []
    trainer: dict[int, int | bytes] = {}
    normalizer: dict[int, int | bytes] = {}
    for number, value in _fields(content):
        match number, value:
            case 1, bytes():
                pieces.append(_piece(dict(_fields(value))))
            case 2, bytes():
                trainer |= dict(_fields(value))
            case 3, bytes():
                normalizer |= dict(_fields(value))
            case _:
                pass  # tests, denormalisation and extensions change nothing about cutting
    if not pieces:
        raise ValueError("it holds no pieces")
    algorithm = _ALGORITHMS.get(_integer(trainer.get(3, 1)))
    if algorithm is None:
        raise ValueError(f"model type {trainer[3]!r} is unknown")
    return SentencePieceModel(
        pieces=tuple(pieces),
        algorithm=algorithm,
        rule=_string(normalizer.get(1, b"")),
        has_rules=normalizer.get(2, b"") != b"",
        adds_space=bool(normalizer.get(3, 1)),
        space_after=bool(trainer.get(24, 0)),
        charsmap=_bytes(normalizer.get(2, b"")),
        trims_spaces=bool(normalizer.get(4, 1)),
    )


def _piece(fields: dict[int, int | bytes]) -> SentencePiece:
    number = _integer(fields.get(3, 1))
    if number not in _TYPES:
        raise ValueError(f"piece type {number} is unknown")
    score = fields.get(2, bytes(4))
    if not isinstance(score, bytes) or len(score) != 4:
        raise ValueError("a score is no float")
    return SentencePiece(_string(fields.get(1, b"")), struct.unpack("<f", score)[0], _TYPES[number])


def _string(value: int | bytes) -> str:
    return _bytes(value).decode("utf-8")  # UnicodeDecodeError is a ValueError


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number stands where text belongs")
    return value


def _integer(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ValueError("text stands where a number belongs")
    return value


def _fields(content: bytes) -> Iterator[_Field]:
    """Read fields: the number of each, and an integer or its bytes."""
    place = 0
    while place < len(content):
        key, place = _varint(content, place)
        match key & 7:
            case 0:
                value, place = _varint(content, place)
                yield key >> 3, value
                continue
            case 1:
                length = 8
            case 2:
                length, place = _varint(content, place)
            case 5:
                length = 4
            case kind:
                raise ValueError(f"wire type {kind} at byte {place}")
        if place + length > len(content):
            raise ValueError(f"it ends within a field at byte {place}")
        yield key >> 3, content[place : place + length]
        place += length


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """Read an integer, seven bits a byte, the lowest first; give it and the place behind it."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(content):
            raise ValueError("it ends within a number")
        byte = content[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, place
    raise ValueError(f"a number at byte {place} is too long")
