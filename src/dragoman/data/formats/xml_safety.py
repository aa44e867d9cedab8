"""XML from strangers, read as a stream: nothing is expanded, fetched or kept.

libxml2 (through lxml) parses; external entities and DTDs are never loaded, a file that declares
entities of its own is refused, and so is one nested or marked up beyond any use. The tree holds one
unit at a time: whatever lies outside units is dropped as soon as it ends. The encoding is the one
that the file declares or its byte-order mark shows.
"""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from dragoman.data.formats.opening import open_bytes
from dragoman.errors import DataError, MissingExtraError

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"

CHUNK_BYTES = 1 << 16
MOST_SILENT = 1 << 25  # bytes in which nothing begins or ends that a reader wants


class Element(Protocol):
    """What readers use of an element, as lxml and the standard library both have it."""

    tag: object  # "{namespace}name"; no string for an entity that was left unresolved
    text: str | None
    tail: str | None

    @property
    def sourceline(self) -> int | None:
        """Line in the file where it begins."""
        ...

    def get(self, key: str) -> str | None:
        """Give the value of an attribute."""
        ...

    def __iter__(self) -> Iterator["Element"]: ...

    def iterancestors(self) -> Iterator["Element"]:
        """Give parent, its parent and so on."""
        ...


def read_elements(
    where: Path | BinaryIO,
    name: str,
    *,
    root: str,
    opened: frozenset[str],
    whole: frozenset[str],
) -> Iterator[tuple[str, Element]]:
    """Read the elements that matter, in the order of the file.

    Args:
        where: a file, unpacked by its name, or an open stream of bytes.
        name: what messages call it.
        root: local name that the outermost element must have.
        opened: local names of elements wanted as they begin, with attributes alone.
        whole: local names of elements wanted with all that is in them; never one in another. All
            names must stand in the namespace of the outermost element, whatever its prefix.

    Yields:
        Local name and element. An element is good until the next is asked for.

    Raises:
        MissingExtraError: lxml is not installed.
        DataError: while reading: see ``open_bytes``; not well-formed, another root, entities
            declared or nested too deeply, with the line; ``MOST_SILENT`` bytes without anything
            wanted.
    """
    try:
        etree: Any = import_module("lxml.etree")  # Any: lxml has no types
    except ImportError:
        raise MissingExtraError("reading TMX, XLIFF or Qt TS", "formats") from None
    # Other options are left alone: collect_ids=False, of all things, makes libxml2 load DTDs.
    parser = etree.XMLPullParser(
        events=("start", "end"),
        tag=[f"{{*}}{wanted}" for wanted in (root, *opened, *whole)],
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    keep = _Keeper(name, root, opened, whole)
    for chunk in _chunks(where):
        broken = _broken(etree, parser.feed, chunk)
        yield from keep.take(parser.read_events(), len(chunk))
        # After some faults the parser says nothing, and takes in the rest without reading it.
        fatal = [entry for entry in parser.feed_error_log if entry.level_name == "FATAL"]
        if broken or fatal:
            raise _refusal(name, *(fatal or [broken])[:1])
    if broken := _broken(etree, parser.close):
        raise _refusal(name, broken)
    yield from keep.take(parser.read_events(), 0)
    if not keep.started:
        raise DataError(name, "another kind of XML", f"give a file with <{root}>", line=1)


class _Keeper:
    """Follows the parser, and keeps in the tree only what a reader still needs."""

    def __init__(self, name: str, root: str, opened: frozenset[str], whole: frozenset[str]) -> None:
        self._name, self._root, self._opened, self._whole = name, root, opened, whole
        self._namespace = ""  # of the outermost element: "{...}" or nothing
        self._units = 0  # begun and not ended, one in another
        self._silent = 0  # bytes since the last event
        self.started = False

    def take(self, events: Iterator[tuple[str, Any]], size: int) -> Iterator[tuple[str, Element]]:
        """Go through what parsing ``size`` more bytes brought."""
        self._silent += size
        for event, element in events:
            self._silent = 0
            if not self.started:
                self._start(element)
            if not element.tag.startswith(self._namespace):
                continue
            local = element.tag[len(self._namespace) :]
            if local in self._whole:
                self._units += 1 if event == "start" else -1
                if event == "end" and not self._units:
                    yield local, element
                    _forget(element)
            elif event == "start" and local in self._opened and not self._units:
                yield local, element
        if self._silent > MOST_SILENT:
            units = " or ".join(f"<{unit}>" for unit in sorted(self._whole))
            problem = f"no {units} begins or ends in {MOST_SILENT >> 20} MiB"
            raise DataError(self._name, problem, f"give a file with <{self._root}>")

    def _start(self, element: Any) -> None:
        """Check the document when the first element wanted of it begins."""
        tree = element.getroottree()
        root, declared = tree.getroot(), tree.docinfo.internalDTD
        if declared is not None and any(True for _ in declared.iterentities()):
            problem = "declares entities of its own, which are not expanded"
            hint = "write the characters themselves and remove the declarations"
            raise DataError(self._name, problem, hint, line=1)
        self._namespace = root.tag[: root.tag.find("}") + 1]
        local = root.tag.removeprefix(self._namespace)
        if local != self._root:
            problem = f"begins with <{local}>, expected <{self._root}>"
            hint = f"give a file with <{self._root}>"
            raise DataError(self._name, problem, hint, line=root.sourceline)
        self.started = True


def refuse_entity(name: str, entity: Element) -> DataError:
    """Say that text holds an entity nobody declared, such as ``&nbsp;``, in a file with a DTD."""
    problem = f"the entity {entity.text} is declared nowhere in the file"
    return DataError(name, problem, "write the character itself", line=entity.sourceline)


def own_tag(parent: Element, local: str) -> str:
    """Name a child in the namespace of its parent."""
    tag = str(parent.tag)
    return f"{tag[: tag.find('}') + 1]}{local}"


def children(parent: Element, local: str) -> list[Element]:
    """Find the direct children of a name, in the namespace of their parent."""
    tag = own_tag(parent, local)
    return [child for child in parent if child.tag == tag]


def _chunks(where: Path | BinaryIO) -> Iterator[bytes]:
    with open_bytes(where) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk


def _forget(unit: Any) -> None:
    """Drop a unit that was read, and all that lies before it and its ancestors."""
    unit.clear(keep_tail=True)
    element = unit
    while (parent := element.getparent()) is not None:
        while element.getprevious() is not None:
            del parent[0]
        element = parent


def _broken(etree: Any, step: Callable[..., object], *what: bytes) -> Any:
    """Give what is wrong with the syntax, if anything, after a step of the parser."""
    try:
        step(*what)
    except etree.XMLSyntaxError as error:
        return error
    return None


def _refusal(name: str, fault: Any) -> DataError:
    """Say where XML is broken, in libxml2's words; ``fault`` is an error or an entry of its log."""
    line = getattr(fault, "line", None) or getattr(fault, "lineno", None) or 1
    text = getattr(fault, "message", None) or getattr(fault, "msg", None) or ""
    problem = " ".join(re.sub(r", line \d+, column \d+.*", "", text, flags=re.DOTALL).split())
    hint = "write it again with the tool it came from"
    return DataError(name, f"not well-formed XML ({problem or 'cut short'})", hint, line=line)
