"""Filling XLIFF 1.0 to 1.2 (``<trans-unit>``) and 2.0, 2.1 (``<unit>`` with segments).

A unit has no translation when its target is missing, is blank, or holds text in a state that says
it is none (``new``, ``needs-translation``, ``initial``), as ``read_xliff`` has it.
"""

from dataclasses import dataclass

from dragoman.data.formats.xliff import UNFINISHED, XLIFF_TAGS
from dragoman.documents.encoded import EncodedText
from dragoman.documents.unit import Edit, FillOptions, Plan, Unit, Writer
from dragoman.documents.xml_text import (
    SpanRules,
    content_edit,
    fragment_of,
    indent_of,
    is_blank_node,
    xml_writer,
)
from dragoman.documents.xml_tree import Node, attribute_value, decode_xml, raw_name, walk_xml
from dragoman.translator import Fragment

SPANS = SpanRules(
    inline=XLIFF_TAGS,
    opening={"bpt": ("rid", "id"), "bx": ("rid", "id"), "sc": ("id",)},
    closing={"ept": ("rid", "id"), "ex": ("rid", "id"), "ec": ("startRef", "id")},
)
_HAS_STATE = {1: "needs-review-translation", 2: "translated"}  # what a filled target is, by version


def plan_xliff(raw: bytes, name: str, options: FillOptions) -> Plan:
    """Find the targets of an XLIFF file that are to be filled.

    Raises:
        DataError: see ``decode_xml`` and ``walk_xml``.
    """
    document = decode_xml(raw, name)
    filler = _Filler(document, options, Plan(document), xml_writer(document))
    walk_xml(document, "xliff", frozenset({"trans-unit", "unit"}), filler.take)
    return filler.plan


@dataclass(frozen=True, slots=True)
class _Filler:
    document: EncodedText
    options: FillOptions
    plan: Plan
    write: Writer

    def take(self, unit: Node) -> None:
        if _is_locked(unit):
            self.plan.leave("not to translate")
        elif unit.attributes.get("restype") == "x-gettext-domain-header":
            self.plan.leave("header")
        elif unit.local == "trans-unit":
            self._trans_unit(unit)
        else:
            for segment in unit.children("segment"):
                self._whole(segment, segment.attributes.get("state"), version=2)

    def _trans_unit(self, unit: Node) -> None:
        target = unit.first("target")
        state = None if target is None else target.attributes.get("state")
        sources, targets = _marked(unit.first("seg-source")), _marked(target)
        if not sources:
            self._whole(unit, state, version=1)
        elif list(sources) == list(targets):
            self._marks(sources, targets, target, state)
        elif target is None or is_blank_node(target) or self._is_open(state):
            self._from_marked_source(unit, sources, target, state)
        else:
            self.plan.leave("had a translation")

    def _is_open(self, state: str | None) -> bool:
        """Say whether a target is to be filled whatever it holds."""
        return self.options.overwrite or state in UNFINISHED

    def _whole(self, parent: Node, state: str | None, *, version: int) -> None:
        """Fill the target of a unit or segment that is one piece."""
        source, target = parent.first("source"), parent.first("target")
        if source is None or is_blank_node(source):
            self.plan.leave("no source text")
            return
        if target is not None and not is_blank_node(target) and not self._is_open(state):
            self.plan.leave("had a translation")
            return
        edits = self._target_edits(parent, source, target, (0,), version)
        stated = parent if version == 2 else target
        if stated is not None:
            edits += self._state_edits(stated, state, version)
        self._add(source, (self._fragment(source),), edits)

    def _marks(
        self,
        sources: dict[str, Node],
        targets: dict[str, Node],
        target: Node | None,
        state: str | None,
    ) -> None:
        """Fill sentences whose places are in the target already."""
        changed = False
        for mark, source in sources.items():
            if is_blank_node(source):
                self.plan.leave("no source text")
            elif not is_blank_node(targets[mark]) and not self._is_open(state):
                self.plan.leave("had a translation")
            else:
                edits = [content_edit(self.document, targets[mark], (0,), self.write)]
                if target is not None and not changed:
                    edits += self._state_edits(target, state, 1)
                changed = True
                self._add(source, (self._fragment(source),), edits)

    def _from_marked_source(
        self, unit: Node, sources: dict[str, Node], target: Node | None, state: str | None
    ) -> None:
        """Build a target like ``<seg-source>``, with its marks and all that lies between them."""
        outer = unit.first("seg-source")
        told = [node for node in sources.values() if not is_blank_node(node)]
        if outer is None or not told:
            self.plan.leave("no source text")
            return
        pieces: list[str | int] = []
        place = outer.inner
        for number, node in enumerate(told):
            pieces += [self.document.text[place : node.inner], number]
            place = node.inner_end
        pieces.append(self.document.text[place : outer.inner_end])
        edits = self._target_edits(unit, outer, target, tuple(pieces), 1)
        if target is not None:
            edits += self._state_edits(target, state, 1)
        self._add(outer, tuple(self._fragment(node) for node in told), edits)

    def _target_edits(
        self,
        parent: Node,
        source: Node,
        target: Node | None,
        pieces: tuple[str | int, ...],
        version: int,
    ) -> list[Edit]:
        """Put a translation into the target, or a target after the source."""
        if target is not None:
            return [content_edit(self.document, target, pieces, self.write)]
        first = parent.first("source") or source
        last = parent.first("seg-source") or source
        name = raw_name(self.document, first).removesuffix("source") + "target"
        state = f' state="{_HAS_STATE[1]}"' if version == 1 and self.options.review else ""
        kept = first.attributes.get("xml:space")
        space = f' xml:space="{kept}"' if kept in ("preserve", "default") else ""
        opened = f"{indent_of(self.document, first)}<{name}{space}{state}>"
        return [Edit(last.end, last.end, (opened, *pieces, f"</{name}>"), self.write)]

    def _state_edits(self, node: Node, state: str | None, version: int) -> list[Edit]:
        """Say in the state that there is a translation, and with ``review`` that nobody saw it."""
        if not self.options.review and state not in UNFINISHED:
            return []
        new = _HAS_STATE[version] if self.options.review else "translated"
        place = attribute_value(self.document, node, "state")
        if place is not None:
            return [] if state == new else [Edit(*place, (new,))]
        named = node.start + 1 + len(raw_name(self.document, node))
        return [Edit(named, named, (f' state="{new}"',))]

    def _fragment(self, node: Node) -> Fragment:
        return fragment_of(self.document, node, SPANS)

    def _add(self, source: Node, sources: tuple[Fragment, ...], edits: list[Edit]) -> None:
        self.plan.units.append(Unit(source.line, sources, tuple(edits)))


def _is_locked(unit: Node) -> bool:
    """Say whether the unit, or the nearest group or file that says anything, is not to change."""
    asked = unit.attributes.get("translate")
    for outer in unit.ancestors():
        asked = asked or outer.attributes.get("translate")
    return asked == "no"


def _marked(parent: Node | None) -> dict[str, Node]:
    """Find the sentences marked in a text, as ``read_xliff`` does; none if two have one number."""
    found: dict[str, Node] = {}
    waiting = [] if parent is None else list(parent.content)[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            continue
        if node.own and node.local == "mrk" and node.attributes.get("mtype") == "seg":
            mark = node.attributes.get("mid") or ""
            if mark in found:
                return {}
            found[mark] = node
        else:
            waiting += node.content[::-1]
    return found
