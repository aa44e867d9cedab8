"""Filling gettext catalogues: every ``msgstr`` that is empty, in as many lines as it needs.

Of plural forms, form 0 translates ``msgid`` and the others ``msgid_plural``; where a language has
one form only, it translates ``msgid_plural``, which is the one with the number in it.
"""

import re
from collections.abc import Iterator
from functools import partial

from dragoman.documents.encoded import EncodedText, can_encode
from dragoman.documents.po_entries import Entry, Quoted, decode_po, find_entries
from dragoman.documents.unit import Edit, FillOptions, Plan, Unit, Unwritable
from dragoman.translator import Fragment, Tag

LINE_WIDTH = 79  # columns, as gettext's tools wrap lines

_WRITTEN = {
    ord(plain): f"\\{letter}" for plain, letter in zip('\\"\n\t\r\v\b\f', '\\"ntrvbf', strict=True)
}
_CONTROL = re.compile("[\x00-\x07\x0e-\x1f\x7f]")


def plan_po(raw: bytes, name: str, options: FillOptions) -> Plan:
    """Find the strings of a catalogue that are to be filled.

    Raises:
        MissingExtraError: polib is not installed.
        DataError: see ``decode_po`` and ``find_entries``.
    """
    document = decode_po(raw, name)
    plan = Plan(document)
    for entry in find_entries(document):
        if entry.obsolete:
            plan.leave("obsolete")
        elif entry.text("msgid").strip() and entry.forms:
            _take(entry, document, options, plan)
    return plan


def _take(entry: Entry, document: EncodedText, options: FillOptions, plan: Plan) -> None:
    plural = entry.text("msgid_plural")
    texts = [entry.text("msgid"), plural or entry.text("msgid")]
    wraps = all(quoted.longest <= LINE_WIDTH + 1 for quoted in entry.strings.values())
    edits: list[Edit] = []
    for form, quoted in sorted(entry.forms.items()):
        if quoted.text.strip() and not options.overwrite:
            plan.leave("doubtful translation (fuzzy)" if entry.fuzzy else "had a translation")
            continue
        source = 1 if form > 0 or (plural and len(entry.forms) == 1) else 0
        write = partial(
            _write, quoted=quoted, line_end=entry.line_end, codec=document.codec, wraps=wraps
        )
        edits.append(Edit(quoted.start, quoted.end, (source,), write))
    if edits:
        if options.review and not entry.fuzzy:
            edits.append(_flag(entry, document))
        plan.units.append(Unit(entry.line, tuple((text,) for text in texts), tuple(edits)))


def _flag(entry: Entry, document: EncodedText) -> Edit:
    """Mark an entry as fuzzy, in its line of flags or in one of its own."""
    if entry.flags is not None:
        others = document.text[entry.flags : document.text.find("\n", entry.flags)].strip()
        return Edit(entry.flags, entry.flags, (" fuzzy," if others else " fuzzy",))
    indent = next(iter(entry.strings.values())).indent
    return Edit(entry.start, entry.start, (f"{indent}#, fuzzy{entry.line_end}",))


def _write(fragment: Fragment, *, quoted: Quoted, line_end: str, codec: str, wraps: bool) -> str:
    text = "".join(part.text if isinstance(part, Tag) else part for part in fragment)
    if bad := _CONTROL.search(text):
        raise Unwritable(f"U+{ord(bad[0]):04X} in the translation, which a catalogue cannot hold")
    if bad := can_encode(text, codec):
        raise Unwritable(f"{bad!r} is not in {codec}; convert the file with msgconv -t UTF-8")
    lines: list[str] = re.findall("[^\n]*\n|[^\n]+", text)
    if len(lines) <= 1:
        whole = text.translate(_WRITTEN)
        if not wraps or quoted.column + len(whole) + 2 <= LINE_WIDTH:
            return f'"{whole}"'
    pieces = [piece for line in lines for piece in _wrapped(line.translate(_WRITTEN), wraps)]
    return (line_end + quoted.indent).join(f'"{piece}"' for piece in ["", *pieces])


def _wrapped(line: str, wraps: bool) -> Iterator[str]:
    """Cut an escaped line after spaces so that it fits between quotes."""
    if not wraps:
        yield line
        return
    held = ""
    for word in re.findall(r"[^ ]* *", line):
        if held and len(held) + len(word) > LINE_WIDTH - 2:
            yield held
            held = ""
        held += word
    if held:
        yield held
