"""What stands around the words of a fragment and is none of the translator's business."""

from collections import Counter
from collections.abc import Iterable

from dragoman.data import is_blank
from dragoman.translator import Fragment, Tag


def trimmed(fragment: Fragment) -> tuple[Fragment, Fragment, Fragment]:
    """Split off white space and spans around the whole text.

    Returns:
        What comes before, the text, what comes after; together they are the fragment.
    """
    before: list[str | Tag] = []
    after: list[str | Tag] = []
    core = list(fragment)
    while core:
        first, last = core[0], core[-1]
        if isinstance(first, str) and first != (text := first.lstrip()):
            before.append(first[: len(first) - len(text)])
            core[:1] = [text] if text else []
        elif isinstance(last, str) and last != (text := last.rstrip()):
            after.insert(0, last[len(text) :])
            core[-1:] = [text] if text else []
        elif _is_around(first, last):
            before.append(first)
            after.insert(0, last)
            core = core[1:-1]
        else:
            break
    return tuple(before), tuple(core), tuple(after)


def joined(fragment: Fragment) -> Fragment:
    """Make one text of texts side by side, and none of empty ones."""
    parts: list[str | Tag] = []
    for part in fragment:
        if isinstance(part, str) and parts and isinstance(before := parts[-1], str):
            parts[-1] = before + part
        elif part != "":
            parts.append(part)
    return tuple(parts)


def has_text(fragment: Fragment) -> bool:
    """Say whether there is anything to translate."""
    return any(isinstance(part, str) and not is_blank(part) for part in fragment)


def keeps_tags(source: Fragment, target: Fragment) -> bool:
    """Say whether a translation has every tag of its source once, spans well within one another."""
    if Counter(_tags(source)) != Counter(_tags(target)):
        return False
    waiting: list[int | None] = []
    for tag in _tags(target):
        if tag.role == "open":
            waiting.append(tag.pair)
        elif tag.role == "close" and (not waiting or waiting.pop() != tag.pair):
            return False
    return not waiting


def _is_around(first: str | Tag, last: str | Tag) -> bool:
    if isinstance(first, str) or isinstance(last, str):
        return False
    return first.role == "open" and last.role == "close" and first.pair == last.pair


def _tags(fragment: Iterable[str | Tag]) -> list[Tag]:
    return [part for part in fragment if isinstance(part, Tag)]
