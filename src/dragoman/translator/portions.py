"""A long fragment in portions, so that time and memory grow with its length and not its square.

Tags are placed by a table of all words of a translation against all of its source. A page that is
one block with line breaks, or a text with thousands of tags, must not be one table.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from dragoman.translator.fragment import Fragment, Tag, partners_of
from dragoman.translator.sentences import split_sentences

MOST = 3_000  # characters of a portion; a longer one may be what a model takes whole
TAG = 16  # characters that a tag counts as


def portions(fragment: Fragment, most: int = MOST) -> list[Fragment]:
    """Cut a fragment without loss: between sentences and spans, never inside a short span.

    A span that is longer than a portion is cut within; its tags are portions then.

    Args:
        fragment: whose spans are well nested; another stays whole.
        most: characters of a portion.

    Returns:
        Parts that put together are the fragment; the fragment alone if it is short.
    """
    if sum(map(_size, fragment)) <= most or not _is_nested(fragment):
        return [fragment]
    found: list[Fragment] = []
    held: list[str | Tag] = []
    size = 0
    for block, alone in _blocks(fragment, most):
        added = sum(map(_size, block))
        if held and (alone or size + added > most):
            found.append(tuple(held))
            held, size = [], 0
        if alone:
            found.append(tuple(block))
        else:
            held += block
            size += added
    return [*found, tuple(held)] if held else found


def _blocks(fragment: Fragment, most: int) -> Iterator[tuple[Sequence[str | Tag], bool]]:
    """Give what stays together, and whether it is a tag of a span that does not."""
    partners = partners_of(fragment)
    before = [0, *accumulate(map(_size, fragment))]
    place = 0
    while place < len(fragment):
        item, partner = fragment[place], partners.get(place, -1)
        end = place + 1
        if isinstance(item, str):
            yield from (((part,), False) for part in _parts(item, most))
        elif partner < 0:
            yield (item,), False
        elif partner < place or before[partner + 1] - before[place] > most:
            yield (item,), True
        else:
            end = partner + 1
            yield fragment[place:end], False
        place = end


def _parts(text: str, most: int) -> Iterator[str]:
    """Cut a text after sentences; one that is too long after a word, or anywhere."""
    for sentence in split_sentences(text):
        start = 0
        while len(sentence) - start > most:
            space = sentence.rfind(" ", start, start + most)
            end = space + 1 if space > start else start + most
            yield sentence[start:end]
            start = end
        yield sentence[start:]


def _is_nested(fragment: Fragment) -> bool:
    waiting: list[int] = []
    partners = partners_of(fragment)
    for place in sorted(partners):
        if partners[place] > place:
            waiting.append(partners[place])
        elif waiting.pop() != place:
            return False
    return True


def _size(item: str | Tag) -> int:
    return len(item) if isinstance(item, str) else TAG
