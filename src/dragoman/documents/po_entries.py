"""Where the strings of a gettext catalogue stand, held to what ``read_po`` reads there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO

from dragoman.data.formats import codec_name, find_encoding, read_po
from dragoman.documents.encoded import EncodedText, decode_document
from dragoman.errors import ConfigError, DataError

_CHARSET = re.compile(rb"Content-Type:[^\n]{0,200}?charset=([\w.:-]+)")
_KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d+)\])?)\s*(?=\")")
_ESCAPED = re.compile(r'\\([\\ntrvbf"])')
_MEANING = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "b": "\b", "f": "\f"}


@dataclass(slots=True)
class Quoted:
    """A string of a catalogue, over all of its lines."""

    start: int  # of its first quote, in characters
    end: int  # after its last quote
    column: int  # of the first quote in its line
    indent: str  # white space before its keyword
    text: str
    longest: int  # of its lines


@dataclass(slots=True)
class Entry:
    """An entry and where it stands, in characters of the text."""

    line: int
    start: int  # of the line before which flags may stand
    line_end: str
    strings: dict[str, Quoted] = field(default_factory=dict[str, Quoted])
    forms: dict[int, Quoted] = field(default_factory=dict[int, Quoted])
    flags: int | None = None  # after the "#," of the first line of flags
    fuzzy: bool = False
    obsolete: bool = False

    def text(self, keyword: str) -> str:
        """Give the text of ``msgctxt``, ``msgid`` or ``msgid_plural``; "" if there is none."""
        return self.strings[keyword].text if keyword in self.strings else ""


def decode_po(raw: bytes, name: str) -> EncodedText:
    """Decode a catalogue as its byte-order mark or header says; UTF-8 without both.

    Raises:
        DataError: bytes that the encoding does not have, with the line.
    """
    codec, mark = find_encoding(raw[:4], name)
    match = None if mark else _CHARSET.search(raw)
    if match:
        try:
            declared = codec_name(match[1].decode("ascii", "replace"))
            codec = codec if declared.startswith(("utf-16", "utf-32")) else declared
        except ConfigError:
            pass  # a template, whose header says CHARSET
    return decode_document(raw, name, codec, mark)


def find_entries(document: EncodedText) -> list[Entry]:
    """Find the entries of a catalogue, the header and obsolete ones among them.

    Raises:
        MissingExtraError: polib is not installed.
        DataError: not a catalogue; or one whose entries are not surely where they seem to be.
    """
    read = [
        (segment.source, segment.target, segment.context)
        for segment in read_po(BytesIO(document.raw), document.name, fuzzy=True)
    ]
    entries = list(_scan(document))
    header = next((e for e in entries if not e.obsolete and e.text("msgid") == ""), None)
    seen = [(entry, pair) for entry in entries if entry is not header for pair in _as_read(entry)]
    if [pair for _, pair in seen] != read:
        differing = (e.line for (e, pair), other in zip(seen, read, strict=False) if pair != other)
        problem = "its entries are not surely where they seem to be"
        hint = "write it again with msgcat and translate that"
        raise DataError(document.name, problem, hint, line=next(differing, 1))
    return entries


def _as_read(entry: Entry) -> Iterator[tuple[str, str, str]]:
    """Give what ``read_po`` yields for an entry."""
    if entry.obsolete:
        return
    msgid, plural, context = map(entry.text, ("msgid", "msgid_plural", "msgctxt"))
    plain = entry.forms.get(-1)
    forms = {form: quoted for form, quoted in entry.forms.items() if form >= 0}
    if not plural and not forms:
        yield msgid, "" if plain is None else plain.text, context
        return
    if not forms:
        yield msgid, "", context
    for form, quoted in sorted(forms.items()):
        yield (plural or msgid) if form else msgid, quoted.text, context


def _scan(document: EncodedText) -> Iterator[Entry]:
    scanner = _Scanner()
    start = 0
    for number, line in enumerate(document.text.split("\n"), start=1):
        yield from scanner.take(line, start, number)
        start += len(line) + 1
    if scanner.entry is not None and scanner.entry.strings:
        yield scanner.entry


@dataclass(slots=True)
class _Scanner:
    """Follows a catalogue line by line, as polib does."""

    entry: Entry | None = None
    quoted: Quoted | None = None  # the string that a line of quotes would go on with

    def take(self, line: str, start: int, number: int) -> Iterator[Entry]:
        """Read a line; give the entry that it shows to be complete."""
        bare = line.lstrip("\ufeff") if number == 1 else line
        told = bare.strip()
        obsolete = told.startswith("#~ ") or told.startswith("#~\t")
        if obsolete:
            told = told[3:].strip()
        if not told or told.startswith("#~"):
            return
        keyword = _KEYWORD.match(told)
        begins = keyword is not None and keyword[1] in ("msgctxt", "msgid")
        if (begins or told[0] == "#") and self.entry is not None and self.entry.forms:
            yield self.entry
            self.entry = None
        if self.entry is None:
            self.entry = Entry(number, -1, "\r\n" if line.endswith("\r") else "\n")
        if keyword is not None:
            self._begin(keyword, line, start, (number, obsolete))
        elif told[0] == '"' and self.quoted is not None:
            self._go_on(line, start)
        elif told[0] == "#":
            self.quoted = None
            self._remark(told, line, start)

    def _begin(self, keyword: re.Match[str], line: str, start: int, at: tuple[int, bool]) -> None:
        assert self.entry is not None
        if self.entry.start < 0:
            self.entry.start = start
        if keyword[1] == "msgid":
            self.entry.line, self.entry.obsolete = at
        column, end = line.index('"'), len(line.rstrip())
        indent = line[: len(line) - len(line.lstrip())]
        text = unescape(line[column + 1 : end - 1])
        self.quoted = Quoted(start + column, start + end, column, indent, text, end)
        if keyword[1].startswith("msgstr"):
            self.entry.forms[-1 if keyword[2] is None else int(keyword[2])] = self.quoted
        else:
            self.entry.strings[keyword[1]] = self.quoted

    def _go_on(self, line: str, start: int) -> None:
        assert self.quoted is not None
        end = len(line.rstrip())
        self.quoted.text += unescape(line[line.index('"') + 1 : end - 1])
        self.quoted.end = start + end
        self.quoted.longest = max(self.quoted.longest, end)

    def _remark(self, told: str, line: str, start: int) -> None:
        assert self.entry is not None
        if told.startswith("#,"):
            self.entry.fuzzy |= "fuzzy" in (flag.strip() for flag in told[2:].split(","))
            if self.entry.flags is None:
                self.entry.flags = start + line.index("#,") + 2
        elif told.startswith("#|") and self.entry.start < 0:
            self.entry.start = start


def unescape(text: str) -> str:
    r"""Read ``\n`` and its kin; a backslash before anything else stays, as polib has it."""
    return _ESCAPED.sub(lambda match: _MEANING.get(match[1], match[1]), text)
