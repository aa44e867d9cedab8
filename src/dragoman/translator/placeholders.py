"""Placeholders, addresses and the like in text: none is lost, doubled or altered in translation.

Text is translated with them in place, since a model does best with whole sentences. Where one does
not come through, the text is cut at its placeholders and what stands between them is translated.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.translator.sentences import trimmed
from dragoman.translator.translation import has_letters

Translate = Callable[[Sequence[str]], Sequence[str]]
_PRINTF = r"[-+0#']*+(?:\d++|\*)?(?:\.(?:\d++|\*))?(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGaAcCsSpn@]"
_PLACEHOLDER = re.compile(
    r"\{\{[^{}\n]{0,200}\}\}|\{%[^{}\n]{0,200}?%\}"  # {{ x }} and {% if x %}
    r"|\$\{[^{}\n]{1,200}\}"  # ${var}
    r"|\{[\w.\[\]-]{0,80}(?:![rsa])?(?::[^{}\s]{0,40})?\}"  # {}, {0}, {name}, {x!r:>5.2f}
    r"|%%"
    rf"|%(?:\([^()\n]{{1,80}}\)|\d{{1,2}}\$){_PRINTF}"  # %(name)d, %1$s
    r"|%L?\d{1,2}(?![\d$.])(?!(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGaAcCsSp@]\b)"  # %1 of Qt
    rf"|(?<!\d)%{_PRINTF}"  # %s, %5.2f; not that of 100%
    r"|(?<![\w+.-])(?:https?|ftp|file)://[^\s<>\"]*[^\s<>\"'.,;:!?()\[\]{}”’»…。，、）」]"
    r"|(?<![\w+.-])www\.[^\s<>\"]*[^\s<>\"'.,;:!?()\[\]{}”’»…。，、）」]"
    r"|(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++"
)
_NUMBERED = re.compile(r"%L?\d{1,2}\$?|%\(|\{[\w{%]|\$|[^%{]")  # says itself what stands for it


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some of a text, and what became of it.

    Args:
        source: the stretches of a text, put together, are the text.
        target: likewise its translation.
        copied: nothing was translated.
    """

    source: str
    target: str
    copied: bool = False


def target_of(stretches: Sequence[Stretch]) -> str:
    """Put the translations of stretches together."""
    return "".join(stretch.target for stretch in stretches)


def placeholder_spans(text: str) -> Iterator[tuple[int, int]]:
    """Find placeholders, URLs and e-mail addresses: first character, and one past the last."""
    return (match.span() for match in _PLACEHOLDER.finditer(text))


def placeholders_of(text: str) -> list[str]:
    """Name the placeholders of text, in order."""
    return [match[0] for match in _PLACEHOLDER.finditer(text)]


def came_through(source: str, target: str) -> bool:
    """Whether a translation holds the placeholders of its source, each exactly as often.

    Those that go by their order alone, such as ``%s``, must keep it.
    """
    before, after = placeholders_of(source), placeholders_of(target)
    same = sorted(before) == sorted(after) and all(
        source.count(each) == target.count(each) for each in before
    )
    ordered = [[each for each in side if not _NUMBERED.match(each)] for side in (before, after)]
    return same and ordered[0] == ordered[1]


def translate_protected(translate: Translate, texts: Sequence[str]) -> list[tuple[Stretch, ...]]:
    """Translate texts and keep their placeholders.

    Args:
        translate: turns texts into as many translations.
        texts: those in which nothing but placeholders has letters are copied.

    Returns:
        For each text its stretches: one, or several when it was cut.
    """
    todo = [number for number, text in enumerate(texts) if _has_words(text)]
    whole = dict(zip(todo, translate([texts[number] for number in todo]), strict=True))
    found: list[tuple[Stretch, ...]] = [
        (Stretch(text, whole.get(number, text), number not in whole),)
        for number, text in enumerate(texts)
    ]
    broken = [
        number
        for number in todo
        if placeholders_of(texts[number]) and not came_through(texts[number], whole[number])
    ]
    pieces = {number: _cut(texts[number]) for number in broken}
    between = [piece for number in broken for piece in pieces[number] if _has_words(piece)]
    parts = iter(translate(between) if between else ())
    for number in broken:
        found[number] = _checked(
            texts[number],
            [
                Stretch(piece, next(parts)) if _has_words(piece) else Stretch(piece, piece, True)
                for piece in pieces[number]
            ],
        )
    return found


def _checked(text: str, stretches: list[Stretch]) -> tuple[Stretch, ...]:
    """Copy a stretch that grew a placeholder, and the whole if placeholders still differ."""
    kept = tuple(
        Stretch(each.source, each.source, True) if placeholders_of(each.target) else each
        for each in stretches
    )
    same = placeholders_of(target_of(kept)) == placeholders_of(text)
    return kept if same else (Stretch(text, text, True),)


def _has_words(text: str) -> bool:
    return has_letters(_PLACEHOLDER.sub("", text))


def _cut(text: str) -> list[str]:
    """Cut text at its placeholders, and off the white space beside them; nothing is lost."""
    pieces: list[str] = []
    start = 0
    for first, last in [*placeholder_spans(text), (len(text), len(text))]:
        pieces += [*trimmed(text[start:first]), text[first:last]]
        start = last
    return [piece for piece in pieces if piece]
