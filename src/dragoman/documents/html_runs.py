"""Which stretches of a web page are running text, and which elements stay as they are."""

import html
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from dragoman.data import is_blank
from dragoman.documents.encoded import EncodedText
from dragoman.documents.html_tokens import VOID, Attribute, Token, tag_attributes

# Phrasing content that may stand within a sentence (HTML, section 3.2.5.2.5).
INLINE = frozenset(
    {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn",
     "em", "font", "i", "img", "input", "ins", "kbd", "label", "mark", "math", "nobr", "q", "rb",
     "rp", "rt", "ruby", "s", "samp", "script", "small", "span", "strike", "strong", "style", "sub",
     "sup", "svg", "time", "tt", "u", "var", "wbr"}
)  # fmt: skip
KEPT = frozenset(
    {"code", "kbd", "math", "pre", "samp", "script", "style", "svg", "template", "textarea", "var"}
)


def kept_stretches(document: EncodedText, tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """Find the elements that stay as they are: first token, and the one after the last."""
    index = 0
    while index < len(tokens):
        token, start = tokens[index], index
        index += 1
        if not _is_kept(document, token):
            continue
        depth = int(token.kind == "open")
        while depth and index < len(tokens):
            if tokens[index].name == token.name and tokens[index].kind != "alone":
                depth += 1 if tokens[index].kind == "open" else -1
            index += 1
        yield start, index


def text_runs(document: EncodedText, tokens: list[Token]) -> Iterator[list[Token]]:
    """Give the stretches of running text, trimmed; an element that is kept is one token."""
    kept = dict(kept_stretches(document, tokens))
    run: list[Token] = []
    index = 0
    while index < len(tokens):
        token, end = tokens[index], kept.get(index, index + 1)
        if token.name in INLINE or not token.name:
            if index in kept:
                last = tokens[end - 1].end
                token = Token("alone", token.name, token.start, token.line, last)
            run.append(token)
        else:
            yield from _matched(document, run)
            run = []
        index = end
    yield from _matched(document, run)


def attribute_text(attributes: dict[str, Attribute], name: str) -> str:
    """Give the text of an attribute, "" if there is none."""
    return html.unescape(attributes[name].value).strip() if name in attributes else ""


def _is_kept(document: EncodedText, token: Token) -> bool:
    """Say whether an element is not to be translated."""
    if token.kind == "close" or not token.name:
        return False
    if token.name in KEPT:
        return True
    attributes = tag_attributes(document, token)
    classes = attribute_text(attributes, "class").split()
    return attribute_text(attributes, "translate").lower() == "no" or "notranslate" in classes


def _matched(document: EncodedText, run: list[Token]) -> Iterator[list[Token]]:
    """Cut a run at tags whose other half is not in it, and trim what is left."""
    parts = [run]
    while parts:
        part = parts.pop()
        lonely = _lonely_tags(part)
        if lonely:  # a cut within a span makes its tags lonely too
            bounds = pairwise([-1, *lonely, len(part)])
            parts += [part[before + 1 : after] for before, after in bounds][::-1]
            continue
        part = _trimmed(document, part)
        if any(token.kind == "text" and _says(document, token) for token in part):
            yield part


def _lonely_tags(run: list[Token]) -> list[int]:
    """Find the tags of spans that are not whole in a run, or cross others."""
    lonely: list[int] = []
    waiting: list[int] = []
    opened = Counter[str]()  # names of those waiting
    for index, token in enumerate(run):
        if token.kind == "open":
            waiting.append(index)
            opened[token.name] += 1
        elif token.kind == "close" and not opened[token.name]:
            lonely.append(index)
        elif token.kind == "close":
            while run[other := waiting.pop()].name != token.name:
                opened[run[other].name] -= 1
                lonely.append(other)
            opened[token.name] -= 1
    return sorted(lonely + waiting)


def _trimmed(document: EncodedText, run: list[Token]) -> list[Token]:
    """Leave out what stands around the words: white space, comments, images, line breaks."""
    start, end = 0, len(run)
    while start < end and _is_around(document, run[start]):
        start += 1
    while start < end and _is_around(document, run[end - 1]):
        end -= 1
    return run[start:end]


def _is_around(document: EncodedText, token: Token) -> bool:
    if token.kind == "text":
        return not _says(document, token)
    aside = token.name in VOID or token.name in ("", "script", "style", "svg")
    return token.kind == "alone" and aside


def _says(document: EncodedText, token: Token) -> bool:
    return not is_blank(html.unescape(document.text[token.start : token.end]))
