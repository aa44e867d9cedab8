"""Bytes to lines of text: an encoding is declared, or named by the file's own mark, or UTF-8.

A line ends at LF or CRLF in every encoding; bytes that are not text are an error, never replaced.
"""

import codecs
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import BinaryIO

from dragoman.data.formats.opening import LONGEST_LINE, too_long
from dragoman.errors import ConfigError, DataError

# The longer mark first: that of UTF-32 begins with that of UTF-16.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
# Nearest to certain first; an equal score goes to the earlier.
CANDIDATES = (
    "cp1252", "cp1251", "koi8-r", "euc_kr", "gb18030", "shift_jis",
    "utf-16-le", "utf-16-be", "latin-1",
)  # fmt: skip

_NO_TEXT = {"unicode_escape", "raw_unicode_escape", "idna", "punycode", "utf-7", "mbcs", "oem"}
_CHUNK = 2**16  # bytes
_SAMPLE = 2**12  # bytes that a guess looks at
_SAME_BLOCKS = ("LATIN", "CYRILLIC", "GREEK", "HEBREW", "ARABIC")


def codec_name(encoding: str) -> str:
    """Spell the name of an encoding as Python does.

    Raises:
        ConfigError: it is unknown, no encoding of text, or differs from machine to machine.
    """
    hint = "write utf-8, latin-1, cp1252, utf-16-le, gb18030, shift_jis or another that Python has"
    try:
        name = codecs.lookup(encoding).name
        b"0".decode(name, "ignore")  # refuses what turns bytes into bytes
    except (LookupError, ValueError):
        raise ConfigError("encoding", f"{encoding!r} is no encoding of text", hint) from None
    if name.replace("_", "-") in {word.replace("_", "-") for word in _NO_TEXT}:
        raise ConfigError("encoding", f"{encoding!r} is no encoding of a corpus", hint)
    return "utf-8" if name == "utf-8-sig" else "latin-1" if name == "iso8859-1" else name


def find_encoding(head: bytes, name: str, declared: str | None = None) -> tuple[str, int]:
    """Say how a file is encoded and how many bytes its byte-order mark takes.

    Args:
        head: the first bytes of the file, such as its first line.
        name: what messages call the file.
        declared: what the user says it is; without it the mark decides, or else UTF-8.

    Raises:
        ConfigError: the declared encoding is unknown.
        DataError: the file's mark contradicts what is declared, or nothing says which UTF-16 or
            UTF-32 it is.
    """
    found = next((pair for pair in BYTE_ORDER_MARKS if head.startswith(pair[0])), None)
    codec = codec_name(declared) if declared is not None else None
    if found is not None:
        mark, marked = found
        if codec in (None, marked, marked[:6]):  # utf-16 without an order is that of the mark
            return marked, len(mark)
        problem = f"begins with the byte-order mark of {marked}, but is said to be {declared}"
        raise DataError(name, problem, "leave encoding out")
    if codec in ("utf-16", "utf-32"):
        problem = f"no byte-order mark, so {codec} may be either order"
        raise DataError(name, problem, f"say {codec}-le or {codec}-be")
    if codec is None and (wide := _unmarked_utf_16(head[:_SAMPLE])):
        problem = "begins with many control bytes, as UTF-16 without a byte-order mark does"
        raise DataError(name, problem, f'set encoding = "{wide}" if it is so', line=1)
    return codec or "utf-8", 0


def text_lines(
    stream: BinaryIO, name: str, encoding: str | None = None, *, longest: int | None = None
) -> Iterator[str]:
    """Read lines of text without their ends; arguments and errors are those of ``text_blocks``."""
    return chain.from_iterable(text_blocks(stream, name, encoding, longest=longest))


def text_blocks(
    stream: BinaryIO, name: str, encoding: str | None = None, *, longest: int | None = None
) -> Iterator[list[str]]:
    """Read lines of text without their ends, some thousands at a time.

    A stream that waits for its writer, such as a pipe, is read as far as it has come.

    Args:
        stream: bytes, from their beginning.
        name: what messages call the stream.
        encoding: as ``find_encoding`` has it.
        longest: characters that no line exceeds; ``LONGEST_LINE`` unless given.

    Yields:
        One line or more.

    Raises:
        ConfigError: the declared encoding is unknown.
        DataError: bytes that the encoding does not have, with line, byte and offset and a guess
            what the encoding is; a line longer than ``longest``; what ``find_encoding`` says.
    """
    bound = LONGEST_LINE if longest is None else longest
    read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
    head = b""
    while b"\n" not in head and len(head) < _SAMPLE and (more := read(_CHUNK)):
        head += more
    first = head[: head.find(b"\n") + 1] or head
    codec, mark = find_encoding(first, name, encoding)
    chunks = chain([head[mark:]], iter(lambda: read(_CHUNK), b""))
    if codec == "utf-8":
        yield from _utf_8_blocks(chunks, name, mark, bound)
    else:
        yield from _decoded_blocks(chunks, name, (codec, mark), bound)


def decoded_lines(chunks: Iterable[bytes], name: str, encoding: tuple[str, int]) -> Iterator[str]:
    """Read lines as ``text_lines`` does, once it is known what encoding they are in.

    Args:
        chunks: bytes after the byte-order mark.
        name: what messages call the file.
        encoding: its name and the bytes of the mark, as ``find_encoding`` gives them.
    """
    return chain.from_iterable(_decoded_blocks(chunks, name, encoding, LONGEST_LINE))


def guess_encoding(raw: bytes) -> str:
    """Guess which encoding makes the most plausible text of bytes that are not UTF-8.

    Every character outside ASCII is for or against: a letter beside letters of its own alphabet, a
    common ideograph; or a control, a sign, a capital inside a word. Good for a hint, no more.
    """
    scores = {codec: _plausibility(raw[:_SAMPLE], codec) for codec in CANDIDATES}
    return max(scores, key=lambda codec: scores[codec])


def _unmarked_utf_16(head: bytes) -> str:
    # Latin, Greek, Cyrillic, Hebrew and Arabic letters have a high byte below 9.
    low, high = (sum(byte < 9 for byte in half) for half in (head[::2], head[1::2]))
    if (low + high) * 4 <= len(head):
        return ""
    return "utf-16-be" if low > high else "utf-16-le"


def _utf_8_blocks(
    chunks: Iterable[bytes], name: str, mark: int, longest: int
) -> Iterator[list[str]]:
    read, held, size = 0, list[bytes](), 0  # lines given; what has come of the next one
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        held.append(chunk[:end] if end else chunk)
        size += len(held[-1])
        if end:
            block = b"".join(held)
            for lines in _split(block, name, (read, mark)):
                if size > longest:
                    _refuse_longer(lines, longest, name, read)
                read += len(lines)
                yield lines
            held, size = ([chunk[end:]], len(chunk) - end) if end < len(chunk) else ([], 0)
        if size > longest:
            raise too_long(name, read + 1)
    if size:
        yield from _split(b"".join(held), name, (read, mark))


def _split(block: bytes, name: str, place: tuple[int, int]) -> Iterator[list[str]]:
    """Decode whole lines at once; those before a bad one come first, then the error.

    Args:
        block: whole lines of UTF-8; the last one may lack its end.
        name: what messages call the file.
        place: lines before the block, and the bytes of the file's byte-order mark.
    """
    try:
        text, wrong = block.decode("utf-8"), None
    except UnicodeDecodeError as error:
        start = block.rfind(b"\n", 0, error.start) + 1
        text, wrong = block[:start].decode("utf-8"), error
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()  # the text ended with a line end, or there is none
    if lines:
        yield lines
    if wrong is not None:
        read, mark = place
        line = read + len(lines) + 1
        start = block.rfind(b"\n", 0, wrong.start) + 1
        offset = wrong.start - start + (mark if line == 1 else 0)
        problem = f"not UTF-8 (byte 0x{block[wrong.start]:02x} at byte {offset} of the line)"
        bad = block[start : block.find(b"\n", start) + 1 or len(block)]
        raise DataError(name, problem, _hint(bad), line=line)


def _refuse_longer(lines: list[str], longest: int, name: str, read: int) -> None:
    for number, line in enumerate(lines, start=read + 1):
        if len(line) > longest:
            raise too_long(name, number)


def _decoded_blocks(
    chunks: Iterable[bytes], name: str, encoding: tuple[str, int], longest: int
) -> Iterator[list[str]]:
    """Decode in any encoding; ``encoding`` is its name and the bytes of the file's mark."""
    codec, offset = encoding
    decoder = codecs.getincrementaldecoder(codec)()
    number, held, begun = 1, 0, list[str]()  # begun: what has come of line `number` so far
    for chunk in chain(chunks, [b""]):
        offset += len(chunk)
        try:
            first, *others = decoder.decode(chunk, final=not chunk).split("\n")
        except UnicodeDecodeError as error:
            raise _bad_bytes(error, name, codec, (number, offset)) from None
        begun.append(first)
        held += len(first)
        if held > longest:
            raise too_long(name, number)
        if others:
            lines = ["".join(begun), *others[:-1]]
            yield [line.removesuffix("\r") for line in lines]
            number, held, begun = number + len(lines), len(others[-1]), others[-1:]
    if held:
        yield ["".join(begun)]


def _bad_bytes(
    error: UnicodeDecodeError, name: str, codec: str, place: tuple[int, int]
) -> DataError:
    """Locate bytes that cannot be decoded in a chunk: its first line, where it ends in the file."""
    before, bad = error.object[: error.start], error.object[error.start :]
    number = place[0] + before.decode(codec, "ignore").count("\n")
    offset = place[1] - len(bad)
    problem = f"not {codec} (byte 0x{bad[0]:02x} at byte {offset} of the file)"
    return DataError(name, problem, _hint(bad), line=number)


def _hint(raw: bytes) -> str:
    return f'set encoding = "{guess_encoding(raw)}" if it looks right, or re-save it as UTF-8'


def _plausibility(raw: bytes, codec: str) -> float:
    try:
        text = codecs.getincrementaldecoder(codec)().decode(raw)  # may end within a character
    except UnicodeDecodeError:
        return float("-inf")
    points = [_points(text[i - 1] if i else " ", c) for i, c in enumerate(text) if _is_telling(c)]
    unmarked = 0.1 if codec.startswith("utf-16") else 0.0  # rare, and any bytes make ideographs
    return sum(points) / len(points) - unmarked if points else -1.0


def _is_telling(c: str) -> bool:
    return c > "\x7f" or (c < " " and c not in "\t\r\n")


def _points(before: str, c: str) -> float:
    category, word = unicodedata.category(c), unicodedata.name(c, "").split(" ")[0]
    if word in ("CJK", "HANGUL", "HIRAGANA", "KATAKANA"):
        mixed = before > "\x7f" and "HANGUL" in (word, unicodedata.name(before, "").split(" ")[0])
        alone = mixed and not unicodedata.name(before, "").startswith(word)
        return 1.0 if _is_common(c) and not alone else -1.0
    if category in ("Lu", "Ll", "Lo", "Mn") and word in _SAME_BLOCKS:
        if not before.isalpha():
            return 0.9
        other = not unicodedata.name(before, "").startswith(word)
        odd_case = category == "Lu" and before.islower()
        crowded = word == "LATIN" and before > "\x7f"
        return -1.0 if other or odd_case or crowded else 0.9 if category == "Lu" else 1.0
    return 0.5 if category in ("Pi", "Pf", "Pd", "Zs", "Po", "Ps", "Pe") else -1.0


def _is_common(c: str) -> bool:
    """Say whether a sign is among those that GB 2312, JIS or KS put first for being frequent."""
    for codec, low, high in (("gb2312", 0xA1, 0xD7), ("shift_jis", 0x81, 0x97)):
        try:
            if low <= c.encode(codec)[0] <= high:
                return True
        except UnicodeEncodeError:
            pass
    return "\uac00" <= c <= "\ud7a3" and _has(c, "euc_kr")


def _has(c: str, codec: str) -> bool:
    try:
        return bool(c.encode(codec))
    except UnicodeEncodeError:
        return False
