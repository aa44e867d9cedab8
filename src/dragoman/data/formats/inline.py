"""Text with tags inside it: kept as placeholders, or dropped.

A kept code is written ``<ph x="1"/>``, a kept span ``<g id="1">words</g>``: the element's name with
the one attribute that says which it is, the same on both sides of a translation. What a code stands
for in the original document (``<bpt i="1">&lt;b></bpt>``) is no text and never appears.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from xml.sax.saxutils import quoteattr

from dragoman.data.formats.xml_safety import Element, refuse_entity

Markup = Literal["keep", "drop"]
Names = Mapping[str, tuple[str, ...]]  # local name: attributes that may tell which it is


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineRules:
    """What the tags of a format are; text inside any other tag counts, the tag does not."""

    codes: Names = field(default_factory=dict[str, tuple[str, ...]])  # content is no text
    spans: Names = field(default_factory=dict[str, tuple[str, ...]])  # content is text
    characters: Mapping[str, str] = field(default_factory=dict[str, str])  # attribute: its number


def inline_text(element: Element, name: str, rules: InlineRules, markup: Markup) -> str:
    """Give the text in an element; white space is kept as it is.

    Args:
        element: such as ``<seg>``.
        name: what messages call the file.
        rules: what its tags are.
        markup: whether codes and spans leave a placeholder.

    Raises:
        DataError: there is an entity that was not declared.
    """
    parts = [element.text or ""]
    for child in element:
        if not isinstance(child.tag, str):
            raise refuse_entity(name, child)
        local = child.tag.rpartition("}")[2]
        if local in rules.characters:
            attribute = rules.characters[local]
            parts.append(_character(child.get(attribute) or "", hexadecimal=attribute == "hex"))
        elif local in rules.codes:
            if markup == "keep":
                parts.append(f"<{local}{_which(child, rules.codes[local])}/>")
        else:
            words = inline_text(child, name, rules, markup)
            if markup == "keep" and local in rules.spans:
                words = f"<{local}{_which(child, rules.spans[local])}>{words}</{local}>"
            parts.append(words)
        parts.append(child.tail or "")
    return "".join(parts)


def _which(element: Element, attributes: tuple[str, ...]) -> str:
    for attribute in attributes:
        value = element.get(attribute)
        if value is not None:
            return f" {attribute}={quoteattr(value)}"
    return ""


def _character(number: str, *, hexadecimal: bool) -> str:
    """Read a character that XML cannot hold: ``001B`` in XLIFF, ``x1b`` or ``27`` in Qt."""
    try:
        code = int(number.lower().removeprefix("x"), 16 if hexadecimal or number[0] in "xX" else 10)
    except (ValueError, IndexError):
        return ""
    surrogate = 0xD800 <= code <= 0xDFFF
    return "" if surrogate or not 0 < code <= 0x10FFFF else chr(code)
