"""The elements of an XML file with the places where they stand, one wanted element at a time.

Expat parses. Its places are bytes of what it is given, so it is given the text as UTF-8, whatever
the file is encoded in. Entities declared in the file are refused and nothing is fetched; what lies
outside wanted elements is not kept.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from dragoman.data.formats import codec_name, find_encoding
from dragoman.documents.encoded import EncodedText, decode_document
from dragoman.errors import ConfigError, DataError

DEEPEST = 256  # elements inside one another; libxml2 stops there too
XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"

_DECLARED = re.compile(r"<\?xml\s[^>]*?\bencoding\s*=\s*[\"']([\w.:-]+)[\"']")
_TAG = re.compile(r"<[^>\"']*(?:(?:\"[^\"]*\"|'[^']*')[^>\"']*)*>")
_NAME = re.compile(r"</?\s*([^\s/>]+)")
_ATTRIBUTE = re.compile(r"\s+([^\s=]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


@dataclass(slots=True, eq=False)
class Node:
    """An element and where it stands, in characters of the text."""

    local: str  # name without namespace
    own: bool  # whether it stands in the namespace of the outermost element
    attributes: dict[str, str]  # names as written, but for those of xml:, which are "xml:..."
    parent: "Node | None"
    line: int
    start: int  # of its "<"
    inner: int  # first character after the start tag
    inner_end: int = 0  # the end tag's "<"; as ``inner`` for an empty-element tag
    end: int = 0  # first character after it
    empty_tag: bool = False  # written <name/>
    content: "list[str | Node]" = field(default_factory=list["str | Node"])

    def children(self, local: str) -> "list[Node]":
        """Find the direct children of a name."""
        nodes = (part for part in self.content if isinstance(part, Node))
        return [node for node in nodes if node.own and node.local == local]

    def first(self, local: str) -> "Node | None":
        """Find the first direct child of a name."""
        return next(iter(self.children(local)), None)

    def ancestors(self) -> "Iterator[Node]":
        """Give parent, its parent and so on."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


def decode_xml(raw: bytes, name: str) -> EncodedText:
    """Decode a file as its byte-order mark or its declaration says; UTF-8 without both.

    Raises:
        DataError: an encoding that is unknown or not the file's, with the line.
    """
    wide = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}.get(raw[:2])
    if wide is not None:
        return decode_document(raw, name, wide, 0)
    codec, mark = find_encoding(raw[:4], name)
    declared = _DECLARED.match(raw[:1024].decode("latin-1")) if not mark else None
    if declared:
        try:
            codec = codec_name(declared[1])
        except ConfigError as error:
            problem = f"its encoding is unknown: {error.mistakes[0].problem}"
            raise DataError(name, problem, "re-save it as UTF-8", line=1) from None
        if codec.startswith(("utf-16", "utf-32")):
            problem = f"says that it is {declared[1]}, which it is not"
            raise DataError(name, problem, "correct its first line", line=1)
    return decode_document(raw, name, codec, mark)


def walk_xml(
    document: EncodedText, root: str, wanted: frozenset[str], take: Callable[[Node], None]
) -> None:
    """Hand over the elements that matter, in the order of the file.

    Args:
        document: the file.
        root: name that the outermost element must have.
        wanted: names of elements to hand over with all that is in them; one inside another is
            part of that other.
        take: receives each at its end.

    Raises:
        DataError: not well-formed, another root, entities declared, an entity used that is not
            declared, or nested too deeply, with the line.
    """
    encoded = document.text.encode("utf-8")
    parser = expat.ParserCreate("utf-8", " ")
    walker = _Walker(document, encoded, parser, (root, wanted, take))
    parser.buffer_text = True
    parser.specified_attributes = True
    parser.StartElementHandler = walker.start
    parser.EndElementHandler = walker.end
    parser.CharacterDataHandler = walker.text
    parser.EntityDeclHandler = walker.refuse_declaration
    parser.SkippedEntityHandler = walker.refuse_entity
    try:
        parser.Parse(encoded, True)
    except expat.ExpatError as error:
        problem = f"not well-formed XML ({expat.ErrorString(error.code)})"
        hint = "write it again with the tool it came from"
        raise DataError(document.name, problem, hint, line=error.lineno) from None


class _Walker:
    """Follows expat."""

    def __init__(
        self,
        document: EncodedText,
        encoded: bytes,
        parser: expat.XMLParserType,
        what: tuple[str, frozenset[str], Callable[[Node], None]],
    ) -> None:
        self._document, self._encoded, self._parser = document, encoded, parser
        self._root, self._wanted, self._take = what
        self._namespace = ""
        self._open: list[Node] = []
        self._unit: Node | None = None  # the wanted element we are in
        self._ascii = len(encoded) == len(document.text)
        self._place = 0, 0  # the same place in bytes and in characters

    def start(self, name: str, attributes: dict[str, str]) -> None:
        namespace, _, local = name.rpartition(" ")
        line = self._parser.CurrentLineNumber
        if not self._open:
            self._namespace = namespace
            if local != self._root:
                problem = f"begins with <{local}>, expected <{self._root}>"
                self._refuse(problem, f"give a file with <{self._root}>")
        if len(self._open) == DEEPEST:
            self._refuse(f"more than {DEEPEST} elements inside one another", "check the file")
        start = self._here()
        tag = _TAG.match(self._document.text, start)
        assert tag is not None, "expat took it for a tag"
        named = {key.replace(f"{XML_NAMESPACE} ", "xml:"): v for key, v in attributes.items()}
        own = namespace == self._namespace
        parent = self._open[-1] if self._open else None
        node = Node(local, own, named, parent, line, start, tag.end())
        node.empty_tag = tag[0].endswith("/>")
        if self._unit is not None and parent is not None:
            parent.content.append(node)
        elif own and local in self._wanted:
            self._unit = node
        self._open.append(node)

    def end(self, name: str) -> None:
        node = self._open.pop()
        if node.empty_tag:
            node.inner_end = node.end = node.inner
        else:
            node.inner_end = self._here()
            node.end = self._document.text.index(">", node.inner_end) + 1
        if node is self._unit:
            self._unit = None
            self._take(node)

    def text(self, text: str) -> None:
        if self._unit is not None:
            self._open[-1].content.append(text)

    def refuse_declaration(self, *_: object) -> None:
        problem = "declares entities of its own, which are not expanded"
        self._refuse(problem, "write the characters themselves and remove the declarations")

    def refuse_entity(self, name: str, parameter: bool) -> None:
        if self._unit is not None and not parameter:
            problem = f"the entity &{name}; is declared nowhere in the file"
            self._refuse(problem, "write the character itself")

    def _refuse(self, problem: str, hint: str) -> None:
        line = self._parser.CurrentLineNumber
        raise DataError(self._document.name, problem, hint, line=line)

    def _here(self) -> int:
        """Say where in the text expat is; it never goes back."""
        place = self._parser.CurrentByteIndex
        if self._ascii:
            return place
        passed = self._encoded[self._place[0] : place]
        self._place = place, self._place[1] + len(passed.decode("utf-8"))
        return self._place[1]


def raw_name(document: EncodedText, node: Node) -> str:
    """Give the name of an element as it is written, with its prefix."""
    name = _NAME.match(document.text, node.start)
    assert name is not None
    return name[1]


def attribute_value(document: EncodedText, node: Node, attribute: str) -> tuple[int, int] | None:
    """Find where the value of an attribute stands, without its quotes."""
    name = _NAME.match(document.text, node.start)
    place = name.end() if name else node.start
    while found := _ATTRIBUTE.match(document.text, place, node.inner):
        if found[1] == attribute:
            return found.span(2) if found[2] is not None else found.span(3)
        place = found.end()
    return None
