"""A document as text, and its bytes with some of that text replaced.

All bytes outside the replaced places stay what they were, also where an encoding can spell one
character in several ways.
"""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dragoman.data.formats import guess_encoding
from dragoman.errors import DataError

_MODES = ("iso2022", "iso-2022", "hz", "utf-7", "utf_7")  # encodings that shift between tables


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A whole file: bytes, and the text they are."""

    name: str  # what messages call it
    raw: bytes
    codec: str  # as Python names it, with an order of bytes
    mark: int  # bytes that a byte-order mark takes
    text: str  # without that mark

    @property
    def line_end(self) -> str:
        """The line end of the first line: CRLF or LF."""
        end = self.text.find("\n")
        return "\r\n" if end > 0 and self.text[end - 1] == "\r" else "\n"


@dataclass(frozen=True, slots=True)
class Change:
    """Bytes ``start`` to ``end`` of a file, ``old``, that became ``new``."""

    start: int
    end: int
    old: bytes
    new: bytes


def decode_document(raw: bytes, name: str, codec: str, mark: int) -> EncodedText:
    """Turn a file into text.

    Raises:
        DataError: bytes that the encoding does not have, with the line.
    """
    try:
        return EncodedText(name, raw, codec, mark, raw[mark:].decode(codec))
    except UnicodeDecodeError as error:
        before, bad = error.object[: error.start], error.object[error.start :]
        line = before.decode(codec, "ignore").count("\n") + 1
        problem = f"not {codec} (byte 0x{bad[0]:02x} at byte {error.start + mark} of the file)"
        hint = f"if it is {guess_encoding(bad)}, say so in the file, or re-save it as UTF-8"
        raise DataError(name, problem, hint, line=line) from None


def splice(
    document: EncodedText, replacements: Sequence[tuple[int, int, str]]
) -> tuple[bytes, tuple[Change, ...]]:
    """Replace places of a document's text.

    Args:
        document: the file.
        replacements: start, end (in characters of the text) and new text; none over another.

    Returns:
        The new bytes, and what changed in the old ones.

    Raises:
        DataError: the encoding has modes, and a place is not in its first.
        UnicodeEncodeError: the encoding does not have a character.
    """
    ordered = sorted(replacements, key=lambda item: item[:2])
    offsets = [offset for start, end, _ in ordered for offset in (start, end)]
    assert offsets == sorted(offsets), "places to fill lie over one another"
    places = byte_offsets(document, offsets)
    changes = tuple(
        Change(start, end, document.raw[start:end], new.encode(document.codec))
        for start, end, (_, _, new) in zip(places[::2], places[1::2], ordered, strict=True)
    )
    parts: list[bytes] = []
    done = 0
    for change in changes:
        parts += [document.raw[done : change.start], change.new]
        done = change.end
    made = b"".join([*parts, document.raw[done:]])
    if document.codec.startswith(_MODES):
        _see_that_it_holds(document, made, ordered)
    return made, changes


def _see_that_it_holds(
    document: EncodedText, made: bytes, ordered: Sequence[tuple[int, int, str]]
) -> None:
    """Read new bytes again: the same byte means one character or another, as what came before."""
    parts: list[str] = []
    done = 0
    for start, end, new in ordered:
        parts += [document.text[done:start], new]
        done = end
    try:
        if made[document.mark :].decode(document.codec) == "".join([*parts, document.text[done:]]):
            return
    except UnicodeDecodeError:
        pass
    problem = f"{document.codec} changes its meaning within a text that is to be filled"
    raise DataError(document.name, problem, "re-save it as UTF-8")


def byte_offsets(document: EncodedText, offsets: Sequence[int]) -> list[int]:
    """Find the bytes of the file at which characters of its text begin.

    Args:
        document: the file.
        offsets: in characters, rising.
    """
    body = document.raw[document.mark :]
    bounds = [0, *offsets, len(document.text)]
    parts = [document.text[start:end].encode(document.codec) for start, end in pairwise(bounds)]
    if b"".join(parts) != body:  # an encoding with two spellings of a character, or with modes
        return byte_offsets_slowly(document, offsets)
    places, place = list[int](), document.mark
    for part in parts[:-1]:
        place += len(part)
        places.append(place)
    return places


def byte_offsets_slowly(document: EncodedText, offsets: Sequence[int]) -> list[int]:
    """Do what ``byte_offsets`` does by decoding byte after byte; holds for any encoding."""
    decoder = codecs.getincrementaldecoder(document.codec)()
    places, seen, place = list[int](), 0, document.mark
    for offset in offsets:
        while seen < offset:
            seen += len(decoder.decode(document.raw[place : place + 1]))
            place += 1
        places.append(place)
    return places


def with_references(text: str, codec: str) -> str:
    """Write characters that an encoding does not have as ``&#...;``."""
    if not can_encode(text, codec):
        return text
    # One by one: encoders with modes write references in the mode of the character before.
    return "".join(f"&#{ord(each)};" if can_encode(each, codec) else each for each in text)


def can_encode(text: str, codec: str) -> str:
    """Give the first character that an encoding does not have; "" if it has all."""
    try:
        text.encode(codec)
    except UnicodeEncodeError as error:
        return text[error.start]
    return ""
