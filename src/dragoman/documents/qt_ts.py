"""Filling translation sources of Qt Linguist (``.ts``): messages whose translation is empty."""

from dataclasses import dataclass

from dragoman.data.formats.qt_ts import GONE, TS_TAGS
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
from dragoman.documents.xml_tree import Node, attribute_value, decode_xml, walk_xml

SPANS = SpanRules(inline=TS_TAGS)


def plan_qt_ts(raw: bytes, name: str, options: FillOptions) -> Plan:
    """Find the translations of a Qt translation source that are to be filled.

    All plural forms get the same translation, since Qt has one source for them.

    Raises:
        DataError: see ``decode_xml`` and ``walk_xml``.
    """
    document = decode_xml(raw, name)
    filler = _Filler(document, options, Plan(document), xml_writer(document, quotes=True))
    walk_xml(document, "TS", frozenset({"message"}), filler.take)
    return filler.plan


@dataclass(frozen=True, slots=True)
class _Filler:
    document: EncodedText
    options: FillOptions
    plan: Plan
    write: Writer

    def take(self, message: Node) -> None:
        source, translation = message.first("source"), message.first("translation")
        state = "" if translation is None else translation.attributes.get("type") or ""
        if state in GONE:
            self.plan.leave(state)
        elif source is None or is_blank_node(source):
            self.plan.leave("no source text")
        elif translation is None:
            self._add(source, [self._new(message, source)])
        else:
            forms = translation.children("numerusform") or translation.children("lengthvariant")[:1]
            if not all(map(is_blank_node, forms or [translation])) and not self.options.overwrite:
                self.plan.leave("had a translation")
                return
            plural = message.attributes.get("numerus") == "yes" and not forms
            pieces = ("<numerusform>", 0, "</numerusform>") if plural else (0,)
            edits = [
                content_edit(self.document, form, pieces, self.write)
                for form in forms or [translation]
            ]
            self._add(source, edits + self._state_edits(translation, state))

    def _new(self, message: Node, source: Node) -> Edit:
        """Put a translation after the source and the remarks, which come before it."""
        before = ("source", "oldsource", "comment", "oldcomment", "extracomment")
        before = (*before, "translatorcomment")
        last = max(node.end for name in before for node in message.children(name))
        state = ' type="unfinished"' if self.options.review else ""
        opened, closed = f"{indent_of(self.document, source)}<translation{state}>", "</translation>"
        if message.attributes.get("numerus") == "yes":
            opened, closed = f"{opened}<numerusform>", f"</numerusform>{closed}"
        return Edit(last, last, (opened, 0, closed), self.write)

    def _state_edits(self, translation: Node, state: str) -> list[Edit]:
        """Keep a translation unfinished, or not, as the options say."""
        place = attribute_value(self.document, translation, "type")
        if self.options.review and state != "unfinished":
            named = translation.start + len("<translation")
            return [] if place else [Edit(named, named, (' type="unfinished"',))]
        if self.options.review or place is None:
            return []
        start = self.document.text.rindex("type", translation.start, place[0])
        while self.document.text[start - 1].isspace():
            start -= 1
        return [Edit(start, place[1] + 1, ())]

    def _add(self, source: Node, edits: list[Edit]) -> None:
        fragment = fragment_of(self.document, source, SPANS)
        self.plan.units.append(Unit(source.line, (fragment,), tuple(edits)))
