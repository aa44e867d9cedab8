"""Filling web pages: every block of text is replaced by its translation, tags and all else kept.

A block is what stands between tags that are not part of running text. White space in it counts as
one space, as browsers have it. A pass for attributes comes first, so that a tag within a block
already holds the attributes translated.
"""

import html
import re
from collections.abc import Iterator

from dragoman.data import is_blank
from dragoman.data.formats import codec_name, find_encoding
from dragoman.documents.encoded import EncodedText, decode_document, with_references
from dragoman.documents.html_runs import attribute_text, kept_stretches, text_runs
from dragoman.documents.html_tokens import Attribute, Token, page_tokens, tag_attributes
from dragoman.documents.unit import Edit, FillOptions, Plan, Unit, Unwritable, Writer
from dragoman.errors import ConfigError, DataError
from dragoman.translator import Fragment, Tag

TRANSLATED = frozenset(
    {"alt", "title", "placeholder", "label", "summary", "aria-label", "aria-description"}
)
META = frozenset(
    {"description", "og:title", "og:description", "twitter:title", "twitter:description"}
)
BUTTONS = frozenset({"submit", "button", "reset"})

_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")
_SPACE = re.compile("[ \t\n\r\f]+")
_CHARSET = re.compile(rb"<meta\s[^>]*?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML = re.compile(rb"<\?xml\s[^>]*?\bencoding\s*=\s*[\"']([\w.:-]+)")
_REFERENCE = re.compile(r"&(?:[a-zA-Z][a-zA-Z0-9]*|#[0-9]+|#[xX][0-9a-fA-F]+);")


def plan_attributes(raw: bytes, name: str, options: FillOptions) -> Plan:
    """Find the attributes of a page that people read.

    Raises:
        DataError: see ``decode_page`` and ``page_tokens``.
    """
    plan = Plan(decode_page(raw, name))
    tokens = page_tokens(plan.document)
    locked = [False] * len(tokens)
    for start, end in kept_stretches(plan.document, tokens):
        locked[start:end] = [True] * (end - start)
    for token, is_locked in zip(tokens, locked, strict=True):
        if token.name and token.kind != "close" and not is_locked:
            for attribute in _readable(token, tag_attributes(plan.document, token)):
                source = html.unescape(attribute.value)
                if is_blank(source):
                    continue
                write = page_writer(plan.document, (source,), attribute.value, attribute.quote)
                edit = Edit(attribute.start, attribute.end, (0,), write)
                plan.units.append(Unit(token.line, ((source,),), (edit,)))
    return plan


def plan_blocks(raw: bytes, name: str, options: FillOptions) -> Plan:
    """Find the blocks of text of a page.

    Raises:
        DataError: see ``decode_page`` and ``page_tokens``.
    """
    plan = Plan(decode_page(raw, name))
    document = plan.document
    for run in text_runs(document, page_tokens(document)):
        start, end = run[0].start, run[-1].end
        text = document.text[start:end]
        if run[0].kind == "text":
            start += len(text) - len(text.lstrip(" \t\n\r\f"))
        if run[-1].kind == "text":
            end -= len(text) - len(text.rstrip(" \t\n\r\f"))
        source = _fragment(document, run)
        write = page_writer(document, source, document.text[start:end], None)
        edit = Edit(start, end, (0,), write)
        plan.units.append(Unit(run[0].line, (source,), (edit,)))
    return plan


def decode_page(raw: bytes, name: str) -> EncodedText:
    """Decode a page as its byte-order mark or its head says; UTF-8 without both.

    Raises:
        DataError: an encoding that is unknown or not the file's, with the line.
    """
    codec, mark = find_encoding(raw[:4], name)
    match = None if mark else _XML.match(raw) or _CHARSET.search(raw[:4096])
    if match:
        declared = match[1].decode("ascii", "replace")
        line = raw.count(b"\n", 0, match.start()) + 1
        try:
            codec = codec_name(declared)
        except ConfigError:
            problem = f"its encoding {declared!r} is unknown"
            raise DataError(name, problem, "re-save it as UTF-8", line=line) from None
        if codec.startswith(("utf-16", "utf-32")):
            codec = "utf-8"  # as browsers do: the declaration could be read
        if codec in ("latin-1", "ascii"):  # browsers take both for it
            codec = "latin-1" if any(byte in raw for byte in b"\x81\x8d\x8f\x90\x9d") else "cp1252"
    return decode_document(raw, name, codec, mark)


def page_writer(document: EncodedText, source: Fragment, written: str, quote: str | None) -> Writer:
    """Make what writes fragments in place of another.

    Args:
        document: the page; characters that its encoding lacks become references.
        source: what stood there; if it comes back, nothing changes.
        written: how it stood there; a character written as a reference is so written again.
        quote: around the attribute, "" if it had none; None in a block of text.
    """
    escapes = {"\xa0": "&nbsp;"}
    for reference in _REFERENCE.findall(written):
        if len(plain := html.unescape(reference)) == 1:
            escapes[plain] = reference
    escapes |= {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    if quote is not None:
        escapes.setdefault(quote or '"', "&#39;" if quote == "'" else "&quot;")
    table = str.maketrans(escapes)

    def write(fragment: Fragment) -> str:
        if fragment == source:
            return written
        parts = (p.text if isinstance(p, Tag) else p.translate(table) for p in fragment)
        text = "".join(parts)
        if bad := next((each for each in _CONTROL.findall(text) if each not in written), ""):
            raise Unwritable(f"U+{ord(bad):04X} in the translation, which a page cannot hold")
        text = with_references(text, document.codec)
        return f'"{text}"' if quote == "" else text

    return write


def _readable(token: Token, attributes: dict[str, Attribute]) -> Iterator[Attribute]:
    """Give the attributes of a tag that hold words for people."""
    for name, attribute in attributes.items():
        if name in TRANSLATED and attribute.end > attribute.start:
            yield attribute
    kind = attribute_text(attributes, "type").lower()
    about = attribute_text(attributes, "name") or attribute_text(attributes, "property")
    if token.name == "input" and kind in BUTTONS and "value" in attributes:
        yield attributes["value"]
    if token.name == "meta" and about.lower() in META and "content" in attributes:
        yield attributes["content"]


def _fragment(document: EncodedText, run: list[Token]) -> Fragment:
    parts: list[str | Tag] = []
    waiting: list[int] = []
    raw, pairs = "", 0
    for token in [*run, Token("alone", "", run[-1].end, run[-1].line, run[-1].end)]:
        text = document.text[token.start : token.end]
        if token.kind == "text":
            raw += text
            continue
        if raw:
            parts.append(_SPACE.sub(" ", html.unescape(raw)))
            raw = ""
        if token.kind == "open":
            pairs += 1
            waiting.append(pairs)
            parts.append(Tag(text, "open", pairs))
        elif token.kind == "close":
            parts.append(Tag(text, "close", waiting.pop()))
        elif text:
            parts.append(Tag(text, "alone"))
    if parts and isinstance(parts[0], str):
        parts[0] = parts[0].lstrip(" ")
    if parts and isinstance(parts[-1], str):
        parts[-1] = parts[-1].rstrip(" ")
    return tuple(parts)
