"""Translation sources of Qt Linguist (``.ts``): contexts with messages."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dragoman.data.formats.inline import InlineRules, inline_text
from dragoman.data.formats.segment import Segment
from dragoman.data.formats.xml_safety import Element, children, read_elements

TS_TAGS = InlineRules(characters={"byte": "value"})
GONE = frozenset({"vanished", "obsolete"})  # the program has no such text any more


def read_qt_ts(
    where: Path | BinaryIO,
    name: str,
    *,
    unfinished: bool = False,
    left_out: Counter[str] | None = None,
) -> Iterator[Segment]:
    """Read the pairs of a Qt translation source; a number counts ``<message>``.

    Targets that do not exist yet are "".

    Args:
        where: a file, unpacked by its name, or an open stream of bytes.
        name: what messages call it.
        unfinished: whether translations count that nobody has confirmed.
        left_out: counts messages that give no pair: ``unfinished``, ``vanished``, ``obsolete``.

    Yields:
        A segment for each message; one for each plural form that has text, with the same source.
        The context is that of the message, then its comment and id, parted by slashes.

    Raises:
        MissingExtraError: lxml is not installed.
        DataError: while reading: see ``read_elements``.
    """
    counts = Counter[str]() if left_out is None else left_out
    place, number = "", 0
    for local, element in read_elements(
        where,
        name,
        root="TS",
        opened=frozenset({"context"}),
        whole=frozenset({"name", "message"}),
    ):
        if local == "context":
            place = ""
        elif local == "name":
            place = inline_text(element, name, TS_TAGS, "drop")
        else:
            number += 1
            yield from _pairs(number, element, place, name, unfinished, counts)


def _pairs(
    number: int, message: Element, place: str, name: str, unfinished: bool, counts: Counter[str]
) -> Iterator[Segment]:
    def texts(parent: Element, local: str) -> list[str]:
        return [inline_text(child, name, TS_TAGS, "drop") for child in children(parent, local)]

    translation = next(iter(children(message, "translation")), None)
    state = "" if translation is None else translation.get("type") or ""
    forms = [""]
    if translation is not None:
        # Of variants by length, the first is the longest.
        forms = texts(translation, "numerusform") or texts(translation, "lengthvariant")[:1]
        forms = [form for form in forms if form] or [_bare(translation, name)]
    if state in GONE or (state == "unfinished" and any(forms) and not unfinished):
        counts[state] += 1
        return
    source = "".join(texts(message, "source")[:1])
    parts = [place, *texts(message, "comment"), message.get("id") or ""]
    notes = "\n".join(texts(message, "extracomment") + texts(message, "translatorcomment"))
    for form in forms:
        yield Segment(number, source, form, "/".join(part for part in parts if part), notes)


def _bare(translation: Element, name: str) -> str:
    """Give the text of a translation that has no forms; white space around forms is none."""
    if children(translation, "numerusform") or children(translation, "lengthvariant"):
        return ""
    return inline_text(translation, name, TS_TAGS, "drop")
