"""Plain text as documents, for models that read one side only."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dragoman.configfile import record
from dragoman.data.formats import codec_name
from dragoman.data.lines import is_blank, read_lines
from dragoman.errors import DataError
from dragoman.tokenization import Tokenizer


@record
class Text:
    """A file of plain text.

    Args:
        text: a name in ``.gz``, ``.xz``, ``.bz2`` or ``.zst`` is unpacked.
        documents: what is one text to a model: each ``line``, what stands between ``blank-lines``,
            or the whole ``file``.
        encoding: such as ``"cp1252"``; without it a byte-order mark decides, or else it is UTF-8.
    """

    kind: Literal["text"] = "text"
    text: Path
    documents: Literal["line", "blank-lines", "file"] = "line"
    encoding: str | None = None

    def __post_init__(self) -> None:
        """Check what types cannot say."""
        if self.encoding is not None:
            codec_name(self.encoding)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReport:
    """What a file of plain text held."""

    documents: tuple[str, ...]  # none of them blank
    numbers: tuple[int, ...]  # line where each begins, from 1
    lines: int
    sha256: str  # of the file's bytes; empty for a pipe


def read_text(corpus: Text) -> TextReport:
    """Read all documents that are not blank.

    Raises:
        DataError: the file cannot be read, or nothing in it is text.
    """
    documents: list[str] = []
    numbers: list[int] = []
    lines = 0
    gathered: list[str] = []
    for line in read_lines(corpus.text, corpus.encoding):
        lines += 1
        ends = corpus.documents == "blank-lines" and is_blank(line)
        if not ends:
            gathered.append(line)
        if corpus.documents == "line" or ends:
            _close(gathered, documents, numbers, lines if not ends else lines - 1)
    _close(gathered, documents, numbers, lines, ending="\n" if corpus.documents == "file" else "")
    if not documents:
        raise DataError(corpus.text, "holds no text", "give a file with at least one line")
    return TextReport(
        documents=tuple(documents),
        numbers=tuple(numbers),
        lines=lines,
        sha256=_sha256(corpus.text) if corpus.text.is_file() else "",
    )


def _close(
    gathered: list[str], documents: list[str], numbers: list[int], last: int, *, ending: str = ""
) -> None:
    """Make a document of the lines gathered, the last of which is line ``last``."""
    text = "\n".join(gathered) + ending
    if not is_blank(text):
        documents.append(text)
        numbers.append(last - len(gathered) + 1)
    gathered.clear()


def passages(document: str, longest: int = 1 << 16) -> Iterator[str]:
    """Cut a document before line ends, so that a tokenizer never sees too much at once.

    Args:
        document: any text.
        longest: characters, at least 1, after which the next line end is taken; a line is never
            cut.

    Yields:
        Parts that make the document when joined; all but the first begin with a line end.
    """
    start = 0
    while (end := document.find("\n", start + longest)) > 0:
        yield document[start:end]
        start = end
    yield document[start:]


def encode_document(tokenizer: Tokenizer, document: str, *, longest: int = 1 << 16) -> list[int]:
    """Turn a document of any length into ids, as if in one piece.

    Args:
        tokenizer: cuts.
        document: any text.
        longest: characters after which the next passage begins; see ``passages``.
    """
    ids: list[int] = []
    for number, passage in enumerate(passages(document, longest)):
        # A passage after the first begins with a line break.
        ids += encode_rest(tokenizer, passage, broken=True) if number else tokenizer.encode(passage)
    return ids


def encode_rest(tokenizer: Tokenizer, text: str, *, broken: bool = False) -> list[int]:
    """Turn text that goes on after other text into ids: no space belongs before it.

    Args:
        tokenizer: cuts; no piece of it crosses a line break.
        text: what follows.
        broken: whether it begins with a line break.
    """
    before = len(tokenizer.encode("\n"))  # the line break, and the space before a text if any
    if broken:
        return tokenizer.encode(text)[before - 1 :]
    return tokenizer.encode(f"\n{text}")[before:]


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
