"""The plain part of YAML that settings are written in: tables in tables, lists and single values.

Indented tables, lists with dashes or in brackets, strings with and without quotes, numbers, true,
false and null, and comments. What else YAML can do (anchors, tags, text over several lines) is
refused by its line; nothing here can make an object.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from dragoman.errors import ModelError

_KEY = re.compile(r"""("[^"]*"|'[^']*'|[^\s"'\[\]{}#&*!|>%@`,?:-][^#:]*?)\s*:(?:\s+(.*))?$""")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_QUOTED = re.compile(r"""(?:"([^"\\]*)"|'([^']*)')\s*(?:#.*)?$""")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null")),
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
}
_WHOLE, _NUMBER = re.compile(r"[-+]?\d{1,18}"), re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")
# Numbers to other bases than ten or with marks between digits, which YAML reads in its own way.
_ODD_NUMBER = re.compile(r"[-+]?(0[\d_]+|0x[\da-f_]+|0b[01_]+|\d[\d_]*_[\d_]*|\d+(:\d+)+)(\.\d*)?")
_LONGEST = 4_000  # characters of a line
_MOST = 1 << 20  # bytes; settings have a few thousand
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    indent: int
    text: str


def read_plain_yaml(path: Path) -> dict[str, Any]:  # Any: what it holds is known after looking
    """Read a table of settings.

    Raises:
        ModelError: the file is missing, too large, no UTF-8, or uses more of YAML than this.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST + 1)
        if len(data) > _MOST:
            raise ModelError(f"{path}: is larger than settings are")
        text = data.decode("utf-8")
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ModelError(f"{path}: is no text in UTF-8") from None
    return _Reader(path, text).read()


class _Reader:
    """Reads line by line; ``_at`` is the next line."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._at = path, 0
        lines = text.split("\n")
        if any(len(line) > _LONGEST for line in lines):
            raise ModelError(f"{path}: has a line longer than lines of settings are")
        self._lines = [
            _Line(number, len(line) - len(line.lstrip(" ")), line.strip())
            for number, line in enumerate(lines, 1)
            if _COMMENT.sub("", line).strip() not in ("", "---")
        ]

    def read(self) -> dict[str, Any]:
        if not self._lines:
            raise ModelError(f"{self._path}: holds no settings")
        found = self._block(self._lines[0].indent, 0)
        if self._at < len(self._lines):
            raise self._refusal(self._lines[self._at])
        if not isinstance(found, dict):
            raise ModelError(f"{self._path}: holds a list, not a table of settings")
        return cast("dict[str, Any]", found)

    def _block(self, indent: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self._refusal(self._lines[self._at])
        dashed = self._lines[self._at].text.startswith("- ")
        return self._list(indent) if dashed else self._table(indent, depth)

    def _table(self, indent: int, depth: int) -> dict[str, Any]:
        table: dict[str, Any] = {}
        while self._at < len(self._lines) and self._lines[self._at].indent == indent:
            line = self._lines[self._at]
            match = _KEY.match(line.text)
            if match is None:
                raise self._refusal(line)
            key, rest = match[1].strip("\"'"), (match[2] or "").strip()
            if key in table:
                raise ModelError(f"{self._path}: line {line.number}: {key} stands there twice")
            self._at += 1
            value = self._value(rest, line)
            table[key] = self._below(indent, depth) if value is None else value
        return table

    def _below(self, indent: int, depth: int) -> Any:
        """Read what stands below a key without a value: more lines, or nothing."""
        if self._at == len(self._lines):
            return None
        following = self._lines[self._at]
        dashed = following.indent == indent and following.text.startswith("- ")
        if following.indent > indent or dashed:
            return self._block(following.indent, depth + 1)
        return None

    def _list(self, indent: int) -> list[Any]:
        items: list[Any] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.indent != indent or not line.text.startswith("- "):
                break
            if _KEY.match(line.text[2:].strip()):
                raise self._refusal(line)  # a table in a list
            items.append(self._value(line.text[2:].strip(), line))
            self._at += 1
        return items

    def _value(self, text: str, line: _Line) -> Any:
        if quoted := _QUOTED.match(text):
            return quoted[1] if quoted[1] is not None else quoted[2]
        text = _COMMENT.sub("", text).strip()
        if text.startswith("[") and text.endswith("]"):
            inside = text[1:-1].strip()
            return [self._value(each.strip(), line) for each in inside.split(",")] if inside else []
        if _ODD_NUMBER.fullmatch(text.lower()) or text[:1] in tuple("[]{}&*!|>%@`\"',?"):
            raise self._refusal(line)
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        if _WHOLE.fullmatch(text):
            return int(text)
        return float(text) if _NUMBER.fullmatch(text.lower()) else text

    def _refusal(self, line: _Line) -> ModelError:
        return ModelError(
            f"{self._path}: line {line.number}: {line.text[:60]!r} is more of YAML than is read "
            "here; write it as key: value, in tables by indentation"
        )
