"""Translation memories in TMX 1.1 to 1.4b: units (``<tu>``) with a variant in each language.

A language that is asked for as ``en`` is found as ``en``, else as ``en-US`` or any other ``en-``;
``en-US`` is found as itself only. Case does not count.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from dragoman.data.formats.inline import InlineRules, Markup, inline_text
from dragoman.data.formats.segment import Segment
from dragoman.data.formats.xml_safety import XML_LANG, Element, children, read_elements
from dragoman.errors import DataError

TMX_TAGS = InlineRules(
    codes={
        "bpt": ("i", "x"),
        "ept": ("i", "x"),
        "it": ("x", "pos"),
        "ph": ("x", "assoc"),
        "ut": ("x",),
    },
    spans={"hi": ("x", "type")},
)


class _Variant(NamedTuple):
    language: str  # in lower case, with hyphens
    text: str


def read_tmx(
    where: Path | BinaryIO,
    name: str,
    *,
    source: str | None = None,
    target: str | None = None,
    markup: Markup = "keep",
    left_out: Counter[str] | None = None,
) -> Iterator[Segment]:
    """Read the pairs of a translation memory; a number counts ``<tu>``.

    Args:
        where: a file, unpacked by its name, or an open stream of bytes.
        name: what messages call it.
        source: language to translate from; without it the one that the unit, or else the head of
            the file, names as its source.
        target: language to translate to; without it the other one of the first unit.
        markup: whether inline tags stay as placeholders (see ``inline_text``).
        left_out: counts units that give no pair: ``no source``, ``no target``.

    Yields:
        One segment for each variant in the target language; its context is the unit's ``tuid``.

    Raises:
        MissingExtraError: lxml is not installed.
        DataError: while reading: see ``read_elements``; or a language must be chosen.
    """
    counts = Counter[str]() if left_out is None else left_out
    wanted = frozenset({"header"}), frozenset({"tu"})
    header, number = "", 0
    chosen = _normal(target)
    for local, element in read_elements(where, name, root="tmx", opened=wanted[0], whole=wanted[1]):
        if local == "header":
            header = element.get("srclang") or ""
            continue
        number += 1
        line = element.sourceline
        asked = _normal(source or element.get("srclang") or header)
        variants = list(_variants(element, name, markup))
        if asked in ("", "*all*"):
            raise _undecided(name, variants, "source", line)
        sources = _matching(variants, asked)
        if not sources:
            counts["no source"] += 1
            continue
        chosen = chosen or _other_language(variants, sources, name, line)
        targets = [v for v in _matching(variants, chosen) if v is not sources[0]] if chosen else []
        if not targets:
            counts["no target"] += 1
        context, notes = element.get("tuid") or "", _notes(element)
        for variant in targets:
            yield Segment(number, sources[0].text, variant.text, context, notes)


def _variants(unit: Element, name: str, markup: Markup) -> Iterator[_Variant]:
    """Give the languages of a unit; a variant without ``<seg>`` has no text to give."""
    for variant in children(unit, "tuv"):
        language = variant.get(XML_LANG) or variant.get("lang")  # the latter up to TMX 1.3
        for segment in children(variant, "seg")[:1]:
            yield _Variant(_normal(language), inline_text(segment, name, TMX_TAGS, markup))


def _matching(variants: Iterable[_Variant], asked: str) -> list[_Variant]:
    """Find the variants of a language: exactly that, or else of any region."""
    exact = [variant for variant in variants if variant.language == asked]
    return exact or [v for v in variants if v.language.startswith(f"{asked}-")]


def _other_language(
    variants: list[_Variant], sources: list[_Variant], name: str, line: int | None
) -> str:
    """Decide on the target language by a unit with source text; "" if it has only that."""
    taken = {variant.language for variant in sources}
    others = {variant.language for variant in variants} - taken - {""}
    if len(others) > 1:
        left = [variant for variant in variants if variant not in sources]
        raise _undecided(name, left, "target", line)
    return next(iter(others), "")


def _undecided(name: str, variants: list[_Variant], side: str, line: int | None) -> DataError:
    languages = sorted({v.language for v in variants} - {""}) or ["none is named"]
    problem = f"the {side} language is not clear (languages: {', '.join(languages)})"
    hint = f'choose one, such as {side}_language = "{languages[-1]}"'
    return DataError(name, problem, hint if variants else "name a language", line=line)


def _normal(language: str | None) -> str:
    return (language or "").strip().replace("_", "-").lower()


def _notes(unit: Element) -> str:
    return "\n".join(note.text for note in children(unit, "note") if note.text)
