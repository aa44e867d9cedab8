"""XLIFF 1.0 to 1.2 (``<trans-unit>``) and 2.0, 2.1 (``<unit>`` with segments).

Additions of tools (SDL, memoQ and others) stand in namespaces of their own and are passed over.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dragoman.data.formats.inline import InlineRules, Markup, inline_text
from dragoman.data.formats.segment import Segment
from dragoman.data.formats.xml_safety import Element, children, own_tag, read_elements

_ID = ("id",)
XLIFF_TAGS = InlineRules(
    codes={
        "x": _ID,
        "bx": _ID,
        "ex": ("rid", "id"),
        "bpt": _ID,
        "ept": _ID,
        "it": _ID,
        "ph": _ID,
        "sc": _ID,
        "ec": ("startRef", "id"),
    },
    spans={"g": _ID, "pc": _ID},
    characters={"cp": "hex"},
)
UNFINISHED = frozenset(
    {"new", "needs-translation", "initial"}
)  # states: the target is no translation


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    name: str
    markup: Markup
    unfinished: bool
    counts: Counter[str]

    def text(self, element: Element | None) -> str:
        return "" if element is None else inline_text(element, self.name, XLIFF_TAGS, self.markup)


def read_xliff(
    where: Path | BinaryIO,
    name: str,
    *,
    markup: Markup = "keep",
    unfinished: bool = False,
    left_out: Counter[str] | None = None,
) -> Iterator[Segment]:
    """Read the pairs of an XLIFF file; a number counts ``<trans-unit>`` or ``<unit>``.

    Targets that do not exist yet are "". Alternatives (``<alt-trans>``) and what lies between
    segments (``<ignorable>``) are no pairs.

    Args:
        where: a file, unpacked by its name, or an open stream of bytes.
        name: what messages call it.
        markup: whether inline tags stay as placeholders (see ``inline_text``).
        unfinished: whether targets count whose state is ``new``, ``needs-translation`` or
            ``initial``.
        left_out: counts what gives no pair: ``unfinished``, ``not to translate`` and ``header``
            (the head of a gettext file that was converted).

    Yields:
        A segment for each one marked in a unit, else one for the unit; its context is the unit's
        id and, after a slash, the segment's.

    Raises:
        MissingExtraError: lxml is not installed.
        DataError: while reading: see ``read_elements``.
    """
    counts = Counter[str]() if left_out is None else left_out
    rules = _Rules(name=name, markup=markup, unfinished=unfinished, counts=counts)
    units = frozenset({"trans-unit", "unit"})
    elements = read_elements(where, name, root="xliff", opened=frozenset(), whole=units)
    for number, (local, unit) in enumerate(elements, start=1):
        if _is_locked(unit):
            counts["not to translate"] += 1
        elif unit.get("restype") == "x-gettext-domain-header":
            counts["header"] += 1
        elif local == "unit":
            yield from _pairs_of_unit(number, unit, rules)
        else:
            yield from _pairs_of_trans_unit(number, unit, rules)


def _is_locked(unit: Element) -> bool:
    """Say whether the unit, or the nearest group or file that says anything, is not to change."""
    asked = unit.get("translate")
    for outer in unit.iterancestors():
        asked = asked or outer.get("translate")
    return asked == "no"


def _pairs_of_trans_unit(number: int, unit: Element, rules: _Rules) -> Iterator[Segment]:
    source, target = _first(unit, "source"), _first(unit, "target")
    if target is not None and _is_unfinished(target.get("state"), target, rules):
        rules.counts["unfinished"] += 1
        return
    context = unit.get("id") or ""
    notes = "\n".join(rules.text(note) for note in children(unit, "note"))
    parts = _marked(_first(unit, "seg-source")), _marked(target)
    if parts[0] and list(parts[0]) == list(parts[1]):
        for mark, part in parts[0].items():
            text = rules.text(part), rules.text(parts[1][mark])
            yield Segment(number, *text, f"{context}/{mark}", notes)
    else:
        yield Segment(number, rules.text(source), rules.text(target), context, notes)


def _pairs_of_unit(number: int, unit: Element, rules: _Rules) -> Iterator[Segment]:
    context = unit.get("id") or ""
    notes = [note for group in children(unit, "notes") for note in children(group, "note")]
    for segment in children(unit, "segment"):
        source, target = _first(segment, "source"), _first(segment, "target")
        if target is not None and _is_unfinished(segment.get("state"), target, rules):
            rules.counts["unfinished"] += 1
            continue
        part = segment.get("id")
        yield Segment(
            number,
            rules.text(source),
            rules.text(target),
            context if part is None else f"{context}/{part}",
            "\n".join(rules.text(note) for note in notes),
        )


def _is_unfinished(state: str | None, target: Element, rules: _Rules) -> bool:
    """Say whether a target holds text that is no translation, and such are not asked for."""
    return not rules.unfinished and state in UNFINISHED and rules.text(target) != ""


def _first(parent: Element, local: str) -> Element | None:
    return next(iter(children(parent, local)), None)


def _marked(parent: Element | None) -> dict[str, Element]:
    """Find the sentences marked in a text by number, also those inside spans.

    Returns:
        Nothing when two have the same number, since they cannot be told apart.
    """
    if parent is None:
        return {}
    found: dict[str, Element] = {}
    waiting = list(parent)[::-1]
    while waiting:
        element = waiting.pop()
        if element.tag == own_tag(parent, "mrk") and element.get("mtype") == "seg":
            mark = element.get("mid") or ""
            if mark in found:
                return {}
            found[mark] = element
        elif isinstance(element.tag, str):
            waiting += list(element)[::-1]
    return found
