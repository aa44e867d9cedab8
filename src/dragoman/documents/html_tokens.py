"""The tags and texts of a web page with the places where they stand.

The standard library's parser reads; every token ends where the next begins, so that together they
are the page, to the character.
"""

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import pairwise
from typing import Literal

from dragoman.documents.encoded import EncodedText
from dragoman.errors import DataError

Kind = Literal["text", "open", "close", "alone"]

# Elements without content (HTML, section 13.1.2).
VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
     "track", "wbr"}
)  # fmt: skip

_ATTRIBUTE = re.compile(
    r"[\s/]*([^\s=>/\"'][^\s=>/]*)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"'][^\s>]*)))?"
)
_UNFINISHED = re.compile(r"<[!?/a-zA-Z]")
_TOO_LONG = re.compile("&#[0-9]{1000}")  # Python reads no number of more than 4,300 digits
_TAG_NAME = re.compile(r"<[^\s/>]+")


@dataclass(frozen=True, slots=True)
class Attribute:
    """The value of an attribute and where it stands, without its quotes."""

    value: str  # as written, references and all
    start: int
    end: int
    quote: str  # "" if it has none


@dataclass(slots=True)
class Token:
    """A piece of a page: characters ``start`` to ``end``."""

    kind: Kind
    name: str  # of a tag, in lower case; "" otherwise
    start: int
    line: int
    end: int = 0


def page_tokens(document: EncodedText) -> list[Token]:
    """Cut a page into tokens; one text may come in several.

    Raises:
        DataError: the parser gives up on it, with the line.
    """
    if number := _TOO_LONG.search(document.text):
        line = document.text.count("\n", 0, number.start()) + 1
        raise DataError(document.name, "a reference to a number of thousands of digits", line=line)
    reader = _Reader(document.text)
    try:
        reader.feed(f"{document.text}\n")  # without it an "&" near the end gets lost
        reader.close()
    except (AssertionError, ValueError) as error:
        problem = f"not understood as HTML ({error})"
        raise DataError(document.name, problem, line=reader.getpos()[0]) from None
    tokens = [token for token in reader.tokens if token.start < len(document.text)]
    for token, following in pairwise(tokens):
        token.end = following.start
    if tokens:
        tokens[-1].end = len(document.text)
    return tokens


def tag_attributes(document: EncodedText, token: Token) -> dict[str, Attribute]:
    """Find the attributes of a tag by their names in lower case; of equal ones the first counts."""
    found: dict[str, Attribute] = {}
    name = _TAG_NAME.match(document.text, token.start)
    place = name.end() if name else token.end
    while match := _ATTRIBUTE.match(document.text, place, token.end):
        for group, quote in ((2, '"'), (3, "'"), (4, "")):
            if match[group] is not None:
                attribute = Attribute(match[group], *match.span(group), quote)
                found.setdefault(match[1].lower(), attribute)
                break
        else:
            found.setdefault(match[1].lower(), Attribute("", match.end(), match.end(), ""))
        place = match.end()
    return found


class _Reader(HTMLParser):
    """Notes where everything begins.

    What never ends is looked for once: after that, nothing of its kind that begins later ends
    either. Otherwise the parser's time grows with the square or the cube of a page's size.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.tokens: list[Token] = []
        self._last = text.rfind(">")  # of what is left
        self._endless_comment = False
        self._text, self._broken = text, False  # whether all that is left began like markup
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def goahead(self, end: bool) -> None:
        self._last = self.rawdata.rfind(">")
        super().goahead(end)  # type: ignore[misc]  # no stub has it

    def parse_starttag(self, i: int) -> int:
        return super().parse_starttag(i) if i < self._last else -1

    def parse_endtag(self, i: int) -> int:
        return super().parse_endtag(i) if i < self._last else -1

    def parse_comment(self, i: int, report: bool = True) -> int:
        if self._endless_comment:
            return -1
        found = super().parse_comment(i, report)
        self._endless_comment = found < 0
        return found

    def _note(self, kind: Kind, name: str = "") -> None:
        line, column = self.getpos()
        self.tokens.append(Token(kind, name, self._lines[line - 1] + column, line))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._note("alone" if tag in VOID else "open", tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        # Outside of XML "<p/>" opens; only elements without content and foreign ones end there.
        self._note("alone", tag)

    def handle_endtag(self, tag: str) -> None:
        self._note("alone" if tag in VOID else "close", tag)

    def handle_data(self, data: str) -> None:
        # What begins like markup and never ends is no text to translate. The parser gives the sign
        # of the last one alone, and what follows as if it were text.
        line, column = self.getpos()
        start = self._lines[line - 1] + column
        unfinished = _UNFINISHED.match(self._text, start) is not None
        self._broken |= unfinished and data == "<" and self._text.find("<", start + 1) < 0
        self._note("alone" if unfinished or self._broken else "text")

    def handle_entityref(self, name: str) -> None:
        self._note("alone" if self._broken else "text")

    def handle_charref(self, name: str) -> None:
        self._note("alone" if self._broken else "text")

    def handle_comment(self, data: str) -> None:
        self._note("alone")

    def handle_decl(self, decl: str) -> None:
        self._note("alone")

    def handle_pi(self, data: str) -> None:
        self._note("alone")

    def unknown_decl(self, data: str) -> None:
        self._note("alone")
