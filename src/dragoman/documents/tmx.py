"""Filling TMX: variants of a unit in the target language, empty or missing.

A language that is asked for as ``en`` is found as ``en``, else as ``en-US`` or any other ``en-``,
as ``read_tmx`` has it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from dragoman.data.formats.tmx import TMX_TAGS
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
from dragoman.documents.xml_tree import Node, decode_xml, raw_name, walk_xml
from dragoman.errors import ConfigError, DataError

_LANGUAGE = re.compile("[A-Za-z0-9]+([-_@.][A-Za-z0-9]+)*")

SPANS = SpanRules(inline=TMX_TAGS, opening={"bpt": ("i",)}, closing={"ept": ("i",)})


def plan_tmx(raw: bytes, name: str, options: FillOptions) -> Plan:
    """Find the variants of a translation memory that are to be filled.

    Raises:
        DataError: see ``decode_xml`` and ``walk_xml``; or a language must be chosen.
        ConfigError: the language asked for is no tag of one.
    """
    asked = options.target_language
    if asked is not None and not _LANGUAGE.fullmatch(asked):
        raise ConfigError("target_language", f"{asked!r} is no tag of a language", "such as pt-BR")
    document = decode_xml(raw, name)
    filler = _Filler(document, options, Plan(document), xml_writer(document))
    walk_xml(document, "tmx", frozenset({"header", "tu"}), filler.take)
    return filler.plan


@dataclass(frozen=True, slots=True)
class _Variant:
    language: str  # in lower case, with hyphens
    spelled: str  # as the file has it
    node: Node


@dataclass(slots=True)
class _Filler:
    document: EncodedText
    options: FillOptions
    plan: Plan
    write: Writer
    header: str = ""  # the source language of the whole file
    target: str = ""  # as asked, or as the first unit with another language spells it

    def take(self, node: Node) -> None:
        if node.local == "header":
            self.header = node.attributes.get("srclang") or ""
            return
        asked = _normal(
            self.options.source_language or node.attributes.get("srclang") or self.header
        )
        variants = [_variant(child) for child in node.children("tuv")]
        with_text = [variant for variant in variants if variant.node.first("seg") is not None]
        if asked in ("", "*all*"):
            raise self._undecided(with_text, "source", node)
        sources = _matching(with_text, asked)
        if not sources:
            self.plan.leave("no source")
            return
        self.target = self.target or self.options.target_language or self._other(node, with_text)
        if not self.target:
            problem = "no unit so far has another language than its source"
            raise DataError(
                self.document.name, problem, "say --target-language de, or another", line=node.line
            )
        wanted = _normal(self.target)
        targets = [v for v in _matching(with_text, wanted) if v is not sources[0]]
        unusable = [v for v in variants if v not in with_text and _matching([v], wanted)]
        self._fill(sources[0], targets, variants[-1].node, unusable)

    def _fill(
        self, source: _Variant, targets: list[_Variant], last: Node, unusable: list[_Variant]
    ) -> None:
        segment = source.node.first("seg")
        if segment is None or is_blank_node(segment):
            self.plan.leave("no source text")
            return
        fragments = (fragment_of(self.document, segment, SPANS),)
        for place in (target.node.first("seg") for target in targets):
            if place is None or (not is_blank_node(place) and not self.options.overwrite):
                self.plan.leave("had a translation")
                continue
            edit = content_edit(self.document, place, (0,), self.write)
            self.plan.units.append(Unit(segment.line, fragments, (edit,)))
        if not targets and (unusable or _matching([source], _normal(self.target))):
            self.plan.leave("variant without <seg>" if unusable else "source in that language")
        elif not targets:
            edit = Edit(last.end, last.end, self._variant_pieces(source.node, segment), self.write)
            self.plan.units.append(Unit(segment.line, fragments, (edit,)))

    def _variant_pieces(self, source: Node, segment: Node) -> tuple[str | int, ...]:
        """Write a new variant as the source's is written: names, indentation, line ends."""
        variant, seg = raw_name(self.document, source), raw_name(self.document, segment)
        language = "xml:lang" if "xml:lang" in source.attributes else "lang"
        outer, inner = indent_of(self.document, source), indent_of(self.document, segment)
        opened = f"{outer}<{variant} {language}={quoteattr(self.target)}>{inner}<{seg}>"
        own_line = self.document.text[segment.end : source.inner_end].strip(" \t\r\n") == ""
        closing = self.document.text[segment.end : source.inner_end] if own_line else outer
        return opened, 0, f"</{seg}>{closing}</{variant}>"

    def _other(self, unit: Node, variants: list[_Variant]) -> str:
        """Decide on the target language by a unit with source text."""
        asked = _normal(
            self.options.source_language or unit.attributes.get("srclang") or self.header
        )
        taken = {variant.language for variant in _matching(variants, asked)}
        others = {v.language: v.spelled for v in variants if v.language not in {*taken, ""}}
        if len(others) > 1:
            left = [variant for variant in variants if variant.language in others]
            raise self._undecided(left, "target", unit)
        return next(iter(others.values()), "")

    def _undecided(self, variants: list[_Variant], side: str, unit: Node) -> DataError:
        languages = sorted({v.spelled for v in variants} - {""}) or ["none is named"]
        problem = f"the {side} language is not clear (languages: {', '.join(languages)})"
        hint = f"choose one, such as --{side}-language {languages[-1]}"
        hint = hint if variants else f"say --{side}-language"
        return DataError(self.document.name, problem, hint, line=unit.line)


def _variant(node: Node) -> _Variant:
    language = node.attributes.get("xml:lang") or node.attributes.get("lang") or ""
    return _Variant(_normal(language), language.strip(), node)


def _matching(variants: Iterable[_Variant], asked: str) -> list[_Variant]:
    """Find the variants of a language: exactly that, or else of any region."""
    exact = [variant for variant in variants if variant.language == asked]
    return exact or [v for v in variants if v.language.startswith(f"{asked}-")]


def _normal(language: str) -> str:
    return language.strip().replace("_", "-").lower()
