"""What the body and the address of a request say: JSON, or a form as browsers and curl send it."""

import json
import re
from typing import Any
from urllib.parse import parse_qsl

from fastapi import Request

from dragoman.serving.desk import RefusedError
from dragoman.serving.guard import QUERY

FORM, FILES = "application/x-www-form-urlencoded", "multipart/form-data"

_MOST_FIELDS = 100
_PART_HEAD = 4000  # bytes of the headers of a part
_PARAMETER = re.compile(r';\s*([\w*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))')


async def read_request(request: Request) -> dict[str, Any]:
    """Read a request whose fields stand in JSON, in a form, or behind the address.

    Of forms, fields behind the address come first and line ends are LF.

    Raises:
        RefusedError: it is none of them.
    """
    body = await request.body()
    stated = request.headers.get("content-type", "")
    kind = stated.partition(";")[0].strip().lower()
    try:
        if kind in (FORM, FILES) or not body:
            fields = _parts(stated, body) if kind == FILES else _pairs(body.decode("ascii"))
            fields |= _pairs(request.scope[QUERY].decode("ascii"))
            return {name: _lines(value) for name, value in fields.items()}
        if kind not in ("application/json", ""):
            raise RefusedError(400, f"content-type: {kind[:80]!r} is neither JSON nor a form")
        asked: Any = json.loads(body, parse_constant=_no_number)
    except (ValueError, LookupError, RecursionError):
        raise RefusedError(400, "the body is neither JSON nor a form in UTF-8") from None
    if not isinstance(asked, dict):
        raise RefusedError(400, "the body is no JSON object")
    return asked  # pyright: ignore[reportUnknownVariableType]  # keys of JSON are strings


def _no_number(name: str) -> float:
    """Refuse NaN and Infinity, which Python reads and JSON has not.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{name} is no JSON")


def _pairs(text: str) -> dict[str, str]:
    return dict(
        parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    )


def _parts(stated: str, body: bytes) -> dict[str, str]:
    """Read a form of several parts (RFC 7578); files are left out.

    In one pass: the parser of ``email`` takes seconds for some bodies that are small, and everybody
    would wait so long.
    """
    boundary = _parameters(stated).get("boundary", "").encode("latin-1")
    if not 1 <= len(boundary) <= 70:
        raise ValueError("no boundary")
    parts = (b"\r\n" + body).split(b"\r\n--" + boundary, _MOST_FIELDS + 1)
    if len(parts) < 2 or not parts.pop().startswith(b"--"):
        raise ValueError("no end, or too many fields")
    fields: dict[str, str] = {}
    for part in parts[1:]:  # the first stands before all boundaries
        named = _part(part)
        if named is not None:
            fields[named[0]] = named[1]
    return fields


def _part(part: bytes) -> tuple[str, str] | None:
    """Read the name and the text of a field; None of a file and of what has no name."""
    head, empty, content = part.partition(b"\r\n\r\n")
    if not empty or head.split(b"\r\n", 1)[0].strip(b" \t") or len(head) > _PART_HEAD:
        raise ValueError("no part")
    headers: dict[str, str] = {}
    for line in head.decode("utf-8").split("\r\n")[1:]:
        title, _, value = line.partition(":")
        headers[title.lower()] = value
    coding = headers.get("content-transfer-encoding", "binary").strip().lower()
    if coding not in ("7bit", "8bit", "binary"):
        raise ValueError("a coding that RFC 7578 has given up")
    told = _parameters(headers.get("content-disposition", ""))
    if "name" not in told or told.keys() & {"filename", "filename*"}:
        return None
    return told["name"], content.decode("utf-8")


def _parameters(header: str) -> dict[str, str]:
    """Read what a header says behind its first semicolon."""
    return {
        found[1].lower(): re.sub(r"\\(.)", r"\1", found[2]) if found[3] is None else found[3]
        for found in _PARAMETER.finditer(header)
    }


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
