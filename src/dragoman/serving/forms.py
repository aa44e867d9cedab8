"""What the body and the address of a request say: JSON, or a form as browsers and curl send it."""

import json
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl

from fastapi import Request

from dragoman.serving.desk import RefusedError
from dragoman.serving.guard import QUERY

FORM, FILES = "application/x-www-form-urlencoded", "multipart/form-data"


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
    return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100))


def _parts(stated: str, body: bytes) -> dict[str, str]:
    """Read a form of several parts (RFC 7578); files are left out."""
    header = f"Content-Type: {stated}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(header + body)
    if not message.is_multipart():
        raise ValueError("no parts")
    fields: dict[str, str] = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if isinstance(name, str) and part.get_filename() is None and isinstance(content, bytes):
            fields[name] = content.decode("utf-8")
    return fields


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
