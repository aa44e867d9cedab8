"""Catalogues of GNU gettext: ``.po`` and ``.pot`` as text, ``.mo`` compiled.

polib parses. Before it does, what would mislead it is settled: the encoding, line ends (LF, also
after any number of CR), characters that only Python takes for line ends, and entries or tables so
long that reading them would take hours.
"""

import re
import struct
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from dragoman.data.formats.encodings import codec_name, find_encoding, guess_encoding
from dragoman.data.formats.opening import open_bytes
from dragoman.data.formats.segment import Segment
from dragoman.errors import ConfigError, DataError, MissingExtraError

LARGEST = 1 << 28  # bytes of a catalogue; polib holds all of it in memory
LONGEST_ENTRY = 10_000  # lines of text or remarks; polib's time grows with their square
MO_MAGIC = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}  # by order of bytes

_CHARSET = re.compile(rb"Content-Type:[^\n]{0,200}?charset=([\w.:-]+)")
_KEYWORD = re.compile(r"\s*(?:#~\s*)?msg")
_FALSE_ENDS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"  # str.splitlines breaks lines at these too
# No decoder gives a lone surrogate, so such can stand in for them.
_HIDDEN = {ord(end): chr(0xDC00 | ord(end) & 0xFF) for end in _FALSE_ENDS}
_SHOWN = {ord(stand_in): chr(end) for end, stand_in in _HIDDEN.items()}


def read_po(
    where: Path | BinaryIO,
    name: str,
    *,
    encoding: str | None = None,
    fuzzy: bool = False,
    left_out: Counter[str] | None = None,
) -> Iterator[Segment]:
    """Read the pairs of a catalogue; a number counts entries, the header not among them.

    Of an entry with plurals, form 0 translates ``msgid`` and every other ``msgid_plural``; all have
    the entry's number. Targets that do not exist yet are "".

    Args:
        where: a file, unpacked by its name, or an open stream of bytes.
        name: what messages call it.
        encoding: overrides what the header says; without both it is UTF-8.
        fuzzy: whether translations count that gettext or a translator marked as doubtful.
        left_out: counts entries that give no pair: ``fuzzy``, ``obsolete``.

    Yields:
        Segments with ``msgctxt`` as context and remarks for translators as notes.

    Raises:
        MissingExtraError: polib is not installed.
        ConfigError: ``encoding`` is unknown.
        DataError: see ``open_bytes``; not a catalogue, or bytes that the encoding does not have,
            with line; too large.
    """
    counts = Counter[str]() if left_out is None else left_out
    polib = _polib()
    text = _decode(_read(where, name), name, encoding)
    lines = [line.rstrip("\r") for line in text.split("\n")]
    _refuse_endless(lines, name)
    quoted = re.sub(r'"[^\n]*"', lambda match: match[0].translate(_HIDDEN), "\n".join(lines))
    plain = quoted.translate(dict.fromkeys(map(ord, _FALSE_ENDS), " "))
    if lines and _is_bare(next((line for line in reversed(lines) if line.strip()), "")):
        plain += "\n# "  # polib loses the last entry if an empty remark follows
    try:
        # The line end keeps polib from taking a text that is a path for a file to open.
        entries = polib.pofile(f"{plain}\n", encoding="utf-8")
    except OSError as error:
        raise _syntax_error(name, str(error)) from None
    for number, entry in enumerate(entries, start=1):
        if entry.obsolete or (entry.fuzzy and not fuzzy):
            counts["obsolete" if entry.obsolete else "fuzzy"] += 1
            continue
        notes = "\n".join(note for note in (entry.comment, entry.tcomment) if note)
        yield from _segments(number, entry, notes.translate(_SHOWN))


def read_mo(where: Path | BinaryIO, name: str, *, encoding: str | None = None) -> Iterator[Segment]:
    """Read the pairs of a compiled catalogue, as ``read_po`` does; it has no doubtful entries.

    Raises:
        MissingExtraError: polib is not installed.
        ConfigError: ``encoding`` is unknown.
        DataError: see ``open_bytes``; damaged, of an unknown kind, too large, or not in its
            encoding.
    """
    polib = _polib()
    raw = _read(where, name)
    _check_tables(raw, name)
    codec = _declared(raw) if encoding is None else codec_name(encoding)
    try:
        entries = polib.mofile(raw, encoding=codec)
    except UnicodeDecodeError as error:
        problem = f"an entry is not {codec} (byte 0x{error.object[error.start]:02x})"
        raise DataError(name, problem, "set its encoding, or compile it again") from None
    except (OSError, struct.error, ValueError, LookupError) as error:
        problem = f"damaged catalogue ({error})"
        raise DataError(name, problem, "compile it again with msgfmt") from None
    for number, entry in enumerate(entries, start=1):
        yield from _segments(number, entry, "")


def _segments(number: int, entry: Any, notes: str) -> Iterator[Segment]:
    """Make segments of an entry of polib, which has no types."""
    context = (entry.msgctxt or "").translate(_SHOWN)
    forms: dict[int, str] = entry.msgstr_plural
    if not entry.msgid_plural and not forms:
        source, target = entry.msgid.translate(_SHOWN), entry.msgstr.translate(_SHOWN)
        yield Segment(number, source, target, context, notes)
        return
    for form, target in sorted(forms.items()) or [(0, "")]:
        source = (entry.msgid_plural or entry.msgid) if form else entry.msgid
        yield Segment(number, source.translate(_SHOWN), target.translate(_SHOWN), context, notes)


def _polib() -> Any:  # Any: polib has no types
    try:
        return import_module("polib")
    except ImportError:
        raise MissingExtraError("reading PO or MO", "formats") from None


def _read(where: Path | BinaryIO, name: str) -> bytes:
    with open_bytes(where) as stream:
        raw = stream.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise DataError(name, f"larger than {LARGEST >> 20} MiB", "split it, as with msgsplit")
    return raw


def _declared(raw: bytes) -> str:
    """Find the encoding that the header names; UTF-8 if that is no encoding, as in templates."""
    match = _CHARSET.search(raw)
    try:
        codec = codec_name(match[1].decode("ascii", "replace")) if match else "utf-8"
    except ConfigError:
        return "utf-8"
    # A header that can be found byte by byte is not in these.
    return "utf-8" if codec.startswith(("utf-16", "utf-32")) else codec


def _decode(raw: bytes, name: str, encoding: str | None) -> str:
    codec, mark = find_encoding(raw[:4], name, encoding)
    if encoding is None and not mark:
        codec = _declared(raw)
    try:
        return raw[mark:].decode(codec).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before, bad = error.object[: error.start], error.object[error.start :]
        line = before.decode(codec, "ignore").count("\n") + 1
        problem = f"not {codec} (byte 0x{bad[0]:02x} at byte {error.start + mark} of the file)"
        hint = f'set encoding = "{guess_encoding(bad)}" if it looks right, or re-save it as UTF-8'
        raise DataError(name, problem, hint, line=line) from None


def _refuse_endless(lines: list[str], name: str) -> None:
    length = 0
    for number, line in enumerate(lines, start=1):
        length = 0 if _KEYWORD.match(line) else length + bool(line)
        if length > LONGEST_ENTRY:
            problem = f"more than {LONGEST_ENTRY:,} lines of text or remarks in one entry"
            raise DataError(name, problem, "give a catalogue that gettext wrote", line=number)


def _is_bare(line: str) -> bool:
    return line.split() in (["#:"], ["#,"], ["#."]) or line.split()[:1] == ["#~|"]


def _syntax_error(name: str, message: str) -> DataError:
    line = re.search(r"\(line (\d+)\)(?:: (.+))?", message)
    detail = f" ({line[2]})" if line and line[2] else ""
    problem = f"not the syntax of a catalogue{detail}"
    hint = "see what msgfmt --check says of it"
    return DataError(name, problem, hint, line=int(line[1]) if line else None)


def _check_tables(raw: bytes, name: str) -> None:
    """See that the strings of a compiled catalogue lie in it and do not repeat it endlessly."""
    hint = "compile it again with msgfmt"
    order = MO_MAGIC.get(raw[:4])
    if order is None or len(raw) < 20:
        raise DataError(name, "not a compiled catalogue", "give a file that msgfmt wrote")
    count, *starts = struct.unpack_from(f"{order}3I", raw, 8)
    total = 0
    for start in starts:
        if start + 8 * count > len(raw):
            raise DataError(name, f"cut short: {count:,} strings do not fit in it", hint)
        for length, offset in struct.iter_unpack(f"{order}2I", raw[start : start + 8 * count]):
            total += length
            if offset + length > len(raw) or total > len(raw):
                raise DataError(name, "strings lie outside the file or overlap", hint)
