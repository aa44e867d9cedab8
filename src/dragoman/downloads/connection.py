"""One request for a file, or the rest of one, over HTTP or HTTPS.

The standard library does this well enough, and a download needs no more: redirects keep the Range
header, HTTPS is verified, and only http and https addresses are followed.
"""

import http.client
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

_NUMBER = re.compile(r"[0-9]{1,18}")  # of bytes or seconds; Python reads no endless ones
_TRANSIENT_STATUS = {408, 425, 429, 500, 502, 503, 504}


class TryAgain(Exception):
    """The same address may well answer later."""

    def __init__(self, problem: str, *, after_seconds: float = 0.0) -> None:
        super().__init__(problem)
        self.after_seconds = after_seconds  # what the server asks us to wait


class GiveUp(Exception):
    """The address will not give what is wanted."""


class Unresumable(Exception):
    """The server has no bytes at this place: what is on disk does not belong to its file."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Bytes of a file, from ``start`` on."""

    body: http.client.HTTPResponse
    start: int
    total: int | None  # bytes of the whole file, when the server says so

    def more(self, most: int = 1 << 18) -> bytes:
        """Give what has come, at least a byte, or nothing at the end.

        Raises:
            TryAgain: the connection broke or is silent for too long.
        """
        try:
            return self.body.read1(most)
        except (OSError, http.client.HTTPException) as error:
            raise TryAgain(describe(error)) from None


@contextmanager
def ask(url: str, start: int, timeout_seconds: float) -> Generator[Answer]:
    """Ask for a file from byte ``start`` on; a server that cannot do so gives all of it.

    Raises:
        TryAgain: no connection, a timeout, or a server in trouble.
        GiveUp: the file is not there, or the connection is not to be trusted.
        Unresumable: there is nothing from byte ``start`` on.
    """
    headers = {"Accept-Encoding": "identity", "User-Agent": "dragoman"}
    if start:
        headers["Range"] = f"bytes={start}-"
    request = urllib.request.Request(url, headers=headers)
    with _open(request, start, timeout_seconds) as body:
        yield _understand(body, start)


def describe(error: BaseException) -> str:
    """Say in a few words what broke."""
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return "no answer in time"
    if isinstance(error, http.client.IncompleteRead | http.client.RemoteDisconnected):
        return "the connection ended early"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return str(reason) or type(reason).__name__


def _open(
    request: urllib.request.Request, start: int, timeout_seconds: float
) -> http.client.HTTPResponse:
    try:
        return _opener().open(request, timeout=timeout_seconds)
    except urllib.error.HTTPError as error:
        with error:
            _refuse(error, start)
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise GiveUp(f"certificate: {reason.verify_message}") from None
        if "unknown url type" in str(reason):
            raise GiveUp("leads to an address that is not http or https") from None
        raise TryAgain(describe(error)) from None


def _opener() -> urllib.request.OpenerDirector:
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _refuse(error: urllib.error.HTTPError, start: int) -> NoReturn:
    """Sort the answers that are no file."""
    if error.code == 416 and start:
        raise Unresumable from None
    problem = f"{error.code} {error.reason}"
    if error.code not in _TRANSIENT_STATUS:
        raise GiveUp(problem) from None
    wait = error.headers.get("Retry-After", "") if error.headers else ""
    raise TryAgain(problem, after_seconds=float(wait) if _NUMBER.fullmatch(wait) else 0.0) from None


def _understand(body: http.client.HTTPResponse, start: int) -> Answer:
    """Find out which bytes the server is going to send."""
    if body.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise GiveUp("the server packs the file in a way that was not asked for")
    length = body.headers.get("Content-Length", "")
    if body.status == 200:
        return Answer(body, 0, int(length) if _NUMBER.fullmatch(length) else None)
    if body.status != 206:
        raise GiveUp(f"{body.status} {body.reason}")
    place = re.fullmatch(
        r"bytes (\d{1,18})-\d+/(\d{1,18}|\*)", body.headers.get("Content-Range", "")
    )
    if place is None or int(place[1]) != start:
        raise Unresumable
    return Answer(body, start, None if place[2] == "*" else int(place[2]))
