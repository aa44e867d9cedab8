"""Text in an XML element as fragments, and fragments as text that may stand in one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dragoman.data.formats.inline import InlineRules
from dragoman.documents.encoded import EncodedText, with_references
from dragoman.documents.unit import Edit, Unwritable, Writer
from dragoman.documents.xml_tree import Node, raw_name
from dragoman.translator import Fragment, Tag

_IMPOSSIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRules:
    """Which tags of a format belong together.

    Args:
        inline: what its tags are, as readers have it.
        opening: codes that begin a span, by name: attributes that may hold its number.
        closing: codes that end one.
    """

    inline: InlineRules
    opening: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    closing: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(slots=True)
class _Half:
    """One end of a span, whose other end is not known yet."""

    text: str
    role: str
    key: object
    pair: int | None = None


def fragment_of(document: EncodedText, node: Node, rules: SpanRules) -> Fragment:
    """Give the text in an element, each tag in it exactly as the file has it."""
    parts: list[str | _Half] = []
    _collect(document, node, rules, parts)
    _join_halves([part for part in parts if isinstance(part, _Half)])
    found: list[str | Tag] = []
    for part in parts:
        if isinstance(part, str):
            if found and isinstance(found[-1], str):
                found[-1] += part
            else:
                found.append(part)
        elif part.pair is None:
            found.append(Tag(part.text, "alone"))
        else:
            found.append(Tag(part.text, "open" if part.role == "open" else "close", part.pair))
    return tuple(found)


def _collect(document: EncodedText, node: Node, rules: SpanRules, parts: list[str | _Half]) -> None:
    text = document.text
    for child in node.content:
        if isinstance(child, str):
            parts.append(child)
        elif child.local in rules.opening or child.local in rules.closing:
            role = "open" if child.local in rules.opening else "close"
            names = (rules.opening if role == "open" else rules.closing)[child.local]
            key = next((child.attributes[name] for name in names if name in child.attributes), "")
            parts.append(_Half(text[child.start : child.end], role, key))
        elif child.empty_tag or _is_whole(child, rules.inline):
            parts.append(_Half(text[child.start : child.end], "alone", None))
        else:
            parts.append(_Half(text[child.start : child.inner], "open", child))
            _collect(document, child, rules, parts)
            parts.append(_Half(text[child.inner_end : child.end], "close", child))


def _is_whole(node: Node, inline: InlineRules) -> bool:
    """Say whether nothing in an element is to be translated."""
    if node.local in inline.codes or node.local in inline.characters:
        return True
    locked = node.attributes.get("translate") == "no"
    return node.local == "mrk" and (locked or node.attributes.get("mtype") == "protected")


def _join_halves(halves: list[_Half]) -> None:
    """Number the spans that lie well within one another; ends of others stand alone."""
    waiting: list[_Half] = []
    pairs = 0
    for half in halves:
        if half.role == "open":
            waiting.append(half)
        elif half.role == "close":
            if isinstance(half.key, Node):  # an element's tags always match
                while waiting[-1].key is not half.key:
                    waiting.pop()
            if waiting and waiting[-1].key == half.key:
                pairs += 1
                waiting.pop().pair = half.pair = pairs


def xml_writer(document: EncodedText, *, quotes: bool = False) -> Writer:
    """Make what writes fragments for a document.

    Args:
        document: the file; characters that its encoding lacks become references.
        quotes: whether quotes become references too, as Qt Linguist writes them.
    """

    def write(fragment: Fragment) -> str:
        parts = (part.text if isinstance(part, Tag) else escape(part) for part in fragment)
        return "".join(parts)

    def escape(text: str) -> str:
        if bad := _IMPOSSIBLE.search(text):
            raise Unwritable(f"U+{ord(bad[0]):04X} in the translation, which XML cannot hold")
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        if quotes:
            text = text.replace('"', "&quot;").replace("'", "&apos;")
        text = text.replace("\r", "&#13;").replace("\n", document.line_end)
        return with_references(text, document.codec)

    return write


def content_edit(
    document: EncodedText, node: Node, pieces: tuple[str | int, ...], write: Writer
) -> Edit:
    """Replace what is in an element; ``<name/>`` becomes ``<name>...</name>``."""
    if not node.empty_tag:
        return Edit(node.inner, node.inner_end, pieces, write)
    start = node.end - 2
    while document.text[start - 1].isspace():
        start -= 1
    return Edit(start, node.end, (">", *pieces, f"</{raw_name(document, node)}>"), write)


def indent_of(document: EncodedText, node: Node) -> str:
    """Give the line end and white space before an element that begins a line; else nothing."""
    line = document.text.rfind("\n", 0, node.start)
    space = document.text[line : node.start] if line >= 0 else ""
    if line < 0 or space.strip(" \t\n"):
        return ""
    return ("\r" if document.text[line - 1 : line] == "\r" else "") + space


def is_blank_node(node: Node) -> bool:
    """Say whether an element holds no text and no tag; one around nothing is a tag too."""
    return all(isinstance(part, str) and not part.strip() for part in node.content)
