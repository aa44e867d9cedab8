"""The lines of a corpus out of the ways in which corpora are packed, none lost and none invented.

A line is bytes, and ends at LF or CRLF alone: what looks like a line end to other programs (a lone
CR, U+2028, a form feed) stays inside it. Nothing is normalised, filtered or repaired; that is for
``dragoman check`` and for recipes, which count what they do.
"""

import codecs
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from dragoman.downloads.record import Layout
from dragoman.errors import DataError

_STRUCTURE = ("srcset", "refset", "tstset", "mteval", "doc", "p", "hl")
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)(?:\s[^<>]*)?/?>")
_OUTSIDE = re.compile(r"<!--.*?-->|<[!?][^<>]*>|" + _TAG.pattern, re.DOTALL)
_INSIDE = re.compile(r"<(/?)(seg|" + "|".join(_STRUCTURE) + r")(?:\s[^<>]*)?/?>", re.IGNORECASE)
_SEGMENT_ID = re.compile(r"""\bid\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]*);")
_LINE_END = re.compile(r"[ \t]*(?:\r\n|[\r\n])[ \t\r\n]*")
_METADATA = re.compile(
    rb"\s*(?:</?doc\b[^>]*>|"
    rb"<(url|keywords|speaker|talkid|title|description|reviewer|translator|transltr)\b[^>]*>.*</\1>)"
    rb"\s*"
)


class Line(NamedTuple):
    """One side of a pair."""

    text: bytes  # UTF-8 as the corpus has it, without line end
    key: str = ""  # the segment's own number, where the layout has one; equal on both sides


def lines_of(file: IO[bytes], layout: Layout, column: int, name: str | Path) -> Iterator[Line]:
    """Give the lines of one side.

    Args:
        file: the member, unpacked.
        layout: how it holds its lines.
        column: which column, from 0, where there are columns.
        name: of the member, for messages.

    Raises:
        DataError: the member is not in its layout.
    """
    match layout:
        case "lines":
            yield from (Line(line) for line in _lines(file))
        case "tagged":
            yield from (Line(line) for line in _lines(file) if not _METADATA.fullmatch(line))
        case "columns":
            yield from _columns(file, column, name)
        case "sgm":
            yield from _segments(file, name)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(file):
        if number == 0:
            line = line.removeprefix(codecs.BOM_UTF8)
        yield line.removesuffix(b"\n").removesuffix(b"\r") if line.endswith(b"\n") else line


def _columns(file: IO[bytes], column: int, name: str | Path) -> Iterator[Line]:
    for number, line in enumerate(_lines(file), start=1):
        cells = line.split(b"\t")
        if len(cells) < 2:
            raise DataError(name, "has no tab", "the corpus is not as expected", line=number)
        yield Line(cells[column])


def _segments(file: IO[bytes], name: str | Path) -> Iterator[Line]:
    """Read the segments of a test set of WMT or IWSLT.

    Their files look like SGML or XML and are neither: ``&`` and ``<`` stand bare in the text. What
    they do keep to is this: text is in ``seg`` elements, which hold no other element, and what
    describes the documents (``url``, ``title``) is in elements of its own. So inside a segment only
    the tags of the structure count, and everything else is text.
    """
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DataError(
            name, f"not UTF-8 (byte 0x{error.object[error.start]:02x})", line=line
        ) from None
    place, about = 0, ""  # about: the element open outside segments, when it describes something
    while (tag := _OUTSIDE.search(text, place)) is not None:
        if not about and text[place : tag.start()].strip():
            raise _wrong(name, text, place, "text outside a segment")
        place, closing, element = tag.end(), tag[1], (tag[2] or "").lower()
        if element == "seg" and not closing and not about:
            end = _INSIDE.search(text, place)
            if end is None or not end[1] or end[2].lower() != "seg":
                raise _wrong(name, text, tag.start(), "the segment is not closed")
            key = _SEGMENT_ID.search(tag[0])
            yield Line(_plain(text[place : end.start()]), key[1] if key else "")
            place = end.end()
        elif element == "seg" and not about:
            raise _wrong(name, text, tag.start(), "a segment is closed that was not opened")
        elif about and (element == "seg" or element in _STRUCTURE):
            raise _wrong(name, text, tag.start(), f"no </{about}> before it")
        elif element and closing:
            about = "" if element == about else about
        elif element and element not in _STRUCTURE and not tag[0].endswith("/>"):
            about = about or element
    if text[place:].strip() or about:
        raise _wrong(name, text, place, "text outside a segment" if not about else f"no </{about}>")


def _plain(text: str) -> bytes:
    """Undo character references, and keep a segment on one line."""
    text = _REFERENCE.sub(lambda reference: html.unescape(reference[0]), text)
    return _LINE_END.sub(" ", text.strip(" \t\r\n")).encode("utf-8")


def _wrong(name: str | Path, text: str, place: int, problem: str) -> DataError:
    place += len(text[place:]) - len(text[place:].lstrip())
    line = text.count("\n", 0, place) + 1
    return DataError(name, problem, "the corpus is not as expected", line=line)
