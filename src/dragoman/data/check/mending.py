"""Changes to a text that lose nothing a reader could see; each has a name and is done once.

In order: ``entity`` (HTML entities are unescaped, once, so ``&amp;amp;`` becomes ``&amp;``), then
the kinds of characters below are removed or become a space, then the side's usual normal form.
"""

import html
import re
import unicodedata
from collections.abc import Collection
from html.entities import html5

from dragoman.data.check.characters import (
    BIDI_CONTROLS,
    BIDI_MARKS,
    JOINERS,
    SEPARATORS,
    ZERO_WIDTHS,
    Mark,
)
from dragoman.data.check.profile import NormalForm

MENDABLE = (
    Mark.CONTROL
    | Mark.ZERO_WIDTH
    | Mark.JOINER
    | Mark.BIDI
    | Mark.SEPARATOR
    | Mark.RETURN
    | Mark.TAB
    | Mark.BYTE_ORDER
    | Mark.AMPERSAND
    | Mark.COMPOSED
    | Mark.DECOMPOSED
)
_ENTITY = re.compile(r"&(?:([A-Za-z][A-Za-z0-9]{1,31});|#[0-9]{1,7};|#[xX][0-9A-Fa-f]{1,6};)")
# U+200C and U+200D shape words of many scripts, and emoji; at the edge of a word they do nothing.
_STRAY_JOINER = rf"(?<!\S)[{JOINERS}]+|[{JOINERS}]+(?!\S)"

# Kind, what is looked for, what it becomes.
_CHARACTERS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("byte-order-mark", re.compile("\ufeff"), ""),
    ("line-separator", re.compile(f"[{SEPARATORS}]"), " "),
    ("carriage-return", re.compile("\r"), " "),
    ("tab", re.compile("\t"), " "),
    ("control", re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f]"), ""),
    ("bidi", re.compile(f"[{BIDI_CONTROLS}]"), ""),
    ("zero-width", re.compile(f"[{ZERO_WIDTHS}]|{_STRAY_JOINER}"), ""),
)
_BIDI_MARK = re.compile(f"[{BIDI_MARKS}]")
MENDS = frozenset(("entity", "normal-form", *(kind for kind, _, _ in _CHARACTERS)))


def find_entities(text: str) -> list[str]:
    """List the HTML entities of a text; ``&`` and ``AT&T;`` are none."""
    return [found[0] for found in _ENTITY.finditer(text) if not found[1] or f"{found[1]};" in html5]


def mend(text: str, form: NormalForm, kinds: Collection[str] = MENDS) -> tuple[str, dict[str, str]]:
    """Mend a text.

    Args:
        text: may hold surrogates, which stay.
        form: the normal form to bring it to.
        kinds: what to mend; everything unless given.

    Returns:
        The mended text, and by kind of fault what was found.
    """
    found: dict[str, str] = {}
    entities = find_entities(text) if "entity" in kinds and "&" in text else []
    if entities:
        found["entity"] = ", ".join(dict.fromkeys(entities))
        text = _ENTITY.sub(
            lambda m: html.unescape(m[0]) if not m[1] or f"{m[1]};" in html5 else m[0], text
        )
    if not text.isprintable():  # all that follow are not printable
        text = _mend_characters(text, kinds, found)
    if "normal-form" in kinds and not unicodedata.is_normalized(form, text):
        found["normal-form"] = f"not {form}"
        text = unicodedata.normalize(form, text)
    return text, found


def _mend_characters(text: str, kinds: Collection[str], found: dict[str, str]) -> str:
    for kind, pattern, instead in _CHARACTERS:
        if kind in kinds and (hits := pattern.findall(text)):
            found[kind] = name_characters("".join(hits))
            text = pattern.sub(instead, text)
    if "bidi" not in kinds:
        return text
    if (hits := _BIDI_MARK.findall(text)) and not _right_to_left(text):
        found.setdefault("bidi", name_characters("".join(hits)))
        text = _BIDI_MARK.sub("", text)
    return text


def name_characters(characters: str) -> str:
    """Name characters by code point: ``U+200B, U+FEFF``."""
    return ", ".join(dict.fromkeys(f"U+{ord(character):04X}" for character in characters))


def _right_to_left(text: str) -> bool:
    """Say whether any letter is written from right to left; marks of direction are not asked."""
    letters = (character for character in text if character not in BIDI_MARKS)
    return any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in letters)
