"""A segment with markup, taken apart: what stays at its edges, its text, and what tags do to it."""

import unicodedata
from bisect import bisect_left
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from dragoman.translator.sentences import trimmed
from dragoman.translator.spans import Node
from dragoman.translator.words import Spans


@dataclass(frozen=True, slots=True)
class Tag:
    """One piece of markup inside a segment, kept as it is and never seen by the model.

    Args:
        text: exactly as in the document: ``<b class="x">``, ``<x id="1"/>``, ``&nbsp;``.
        role: what it does to the text after it.
        pair: open and close of one span share a number; None for alone.
    """

    text: str
    role: Literal["open", "close", "alone"]
    pair: int | None = None


Fragment = tuple[str | Tag, ...]  # str is plain text, already unescaped; () is empty
Item = str | int  # text, or the number of a tag in its fragment

Partners = dict[int, int]  # from the number of a tag that opens to that which closes, and back
_STOPS = ".,;:!?)]…"


@dataclass(frozen=True, slots=True)
class Marked:
    """A fragment taken apart.

    Args:
        left: white space and tags before its text.
        text: without tags, and without white space at its ends.
        tags: numbers of the tags inside the text and the character before which each stands.
        right: white space and tags after its text.
        partners: of the tags that are one of two.
    """

    left: tuple[Item, ...]
    text: str
    tags: tuple[tuple[int, int], ...]
    right: tuple[Item, ...]
    partners: Partners

    @property
    def places(self) -> frozenset[int]:
        """Characters before which a tag stands."""
        return frozenset(character for _, character in self.tags)

    def nodes(self, words: Spans) -> tuple[Node, ...]:
        """Say what the tags are around.

        Args:
            words: of the text, none of which has a tag inside; see ``word_spans``.
        """
        starts = [start for start, _ in words]
        places = dict(self.tags)
        open_nodes: list[tuple[int, list[Node]]] = [(-1, [])]
        for number, character in self.tags:
            word = bisect_left(starts, character)
            partner = self.partners.get(number)
            if partner is None:
                glued = self.text[character : character + 1].isspace()
                glued = glued and not self.text[character - 1 : character].isspace()
                open_nodes[-1][1].append(Node((number,), word, word, glued))
            elif partner > number:
                open_nodes.append((number, []))
            else:
                _, inside = open_nodes.pop()
                first = bisect_left(starts, places[partner])
                node = Node((partner, number), first, word, inside=tuple(inside))
                open_nodes[-1][1].append(node)
        return tuple(open_nodes[0][1])


def take_apart(fragment: Fragment) -> Marked:
    """Tell edges from text, and put spans that overlap into each other.

    White space at the edges stays there, and so does what means the whole text or none of it: a
    tag alone, a span around nothing, a span around everything.
    """
    partners = partners_of(fragment)
    items = _nested(fragment, partners)
    with_text = [
        place for place, item in enumerate(items) if isinstance(item, str) and item.strip()
    ]
    if not with_text:
        return Marked(tuple(items), "", (), (), partners)
    first, last = with_text[0], with_text[-1]
    before, after = items[:first], items[last + 1 :]
    begin, end = {*_numbers(before)}, {*_numbers(after)}
    stays = begin | end

    def moves(item: Item) -> bool:
        return isinstance(item, int) and partners.get(item, item) not in stays

    start = next((place for place, item in enumerate(before) if moves(item)), len(before))
    stop = next((place for place, item in enumerate(after[::-1]) if moves(item)), len(after))
    left, right = before[:start], after[len(after) - stop :]
    inside = items[start : len(items) - stop]
    alone = {n for n, each in enumerate(fragment) if isinstance(each, Tag) and each.role == "alone"}
    text, places = _read(inside, alone)
    lead, core, trail = trimmed(text)
    tags = tuple((tag, min(max(place - len(lead), 0), len(core))) for tag, place in places)
    return Marked((*left, lead), core, tags, (trail, *right), partners)


def put_together(items: Iterable[str | Tag]) -> Fragment:
    """Make a fragment, with neighbouring texts in one and none that is empty."""
    whole: list[str | Tag] = []
    for item in items:
        if isinstance(item, str) and whole and isinstance(whole[-1], str):
            whole[-1] += item
        elif item:
            whole.append(item)
    return tuple(whole)


def partners_of(fragment: Fragment) -> Partners:
    """Find for each tag that opens the one that closes; a tag without a partner has none."""
    open_tags: dict[int, list[int]] = {}
    partners: Partners = {}
    for number, item in enumerate(fragment):
        if isinstance(item, str) or item.pair is None or item.role == "alone":
            continue
        if item.role == "open":
            open_tags.setdefault(item.pair, []).append(number)
        elif open_tags.get(item.pair):
            opening = open_tags[item.pair].pop()
            partners |= {opening: number, number: opening}
    return partners


def _nested(fragment: Fragment, partners: Partners) -> list[Item]:
    """Number tags; close a span early where one around it closes first."""
    items: list[Item] = []
    inside: list[int] = []  # tags whose partners are to come
    for number, item in enumerate(fragment):
        if isinstance(item, str):
            items.append(item)
        elif partners.get(number, -1) > number:
            inside.append(number)
            items.append(number)
        elif number not in partners:
            items.append(number)
        elif partners[number] in inside:
            while inside[-1] != partners[number]:
                items.append(partners[inside.pop()])
            inside.pop()
            items.append(number)
    return items


def _numbers(items: Iterable[Item]) -> Iterable[int]:
    return (item for item in items if isinstance(item, int))


def _read(items: Sequence[Item], alone: Container[int]) -> tuple[str, list[tuple[int, int]]]:
    """Read the text that tags are taken out of, and name the character before which each stands.

    Words that only a tag alone keeps apart, such as a line break, get a space between them, and
    where white space stands on both sides of tags, one space is enough.
    """
    text = ""
    places: list[tuple[int, int]] = []
    apart = False
    for place, item in enumerate(items):
        if isinstance(item, int):
            places.append((item, len(text)))
            following = next((each for each in items[place:] if isinstance(each, str)), "")
            if item in alone and _would_merge(text, following):
                text += " "
            apart = True
        else:
            text += item[1:] if apart and text[-1:].isspace() and item[:1] == " " else item
            apart = False
    return text, places


def _would_merge(left: str, right: str) -> bool:
    """Whether the words at the ends of two texts would be one without white space between."""
    ends = left[-1:], right[:1]
    wide = any(unicodedata.east_asian_width(end) in "WF" for end in ends if end)
    return (
        not wide
        and right[:1].isalnum()
        and bool(left)
        and (left[-1].isalnum() or left[-1] in _STOPS)
    )
