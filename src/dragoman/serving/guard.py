"""What stands before every route: requests must be small, come in time, and be waited for."""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from dragoman.serving.answer import Answer, Message, Send, Unsent
from dragoman.serving.limits import Limits

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

QUERY = "dragoman.query"  # of a scope: what stood behind the path


class Guard:
    """Reads the body of a request whole, within bounds, before a route sees it.

    What a client no longer waits for is cancelled.

    Args:
        app: what answers.
        limits: of bodies, and of requests at once.
        observe: is told route, status and seconds of every answer.
    """

    def __init__(
        self, app: App, limits: Limits, observe: Callable[[str, int, float], None]
    ) -> None:
        self.app, self.limits, self.observe = app, limits, observe
        self.requests = 0
        self.unsent = Unsent(limits.unsent_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, answer = time.perf_counter(), Answer(send, self.unsent)
        self.requests += 1
        try:
            await self._serve(scope, receive, answer)
        except Exception:
            answer.status = 500  # which is sent from outside
            raise
        finally:
            self.requests -= 1
            route: str = getattr(scope.get("route"), "path", "other")
            self.observe(route, answer.status, time.perf_counter() - began)

    async def _serve(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        try:
            self._see_head(scope)
            async with asyncio.timeout(self.limits.body_seconds):
                body = await self._body(receive)
        except TimeoutError:
            seconds = f"{self.limits.body_seconds:g} s"
            await answer.refuse(408, f"the request did not arrive within {seconds}")
        except _UnreadError as error:
            await answer.refuse(error.status, error.reason, error.wait_seconds)
        else:
            if body is None:
                return
            if problem := _not_text(body):
                await answer.refuse(400, problem)
            else:
                await self._while_waited_for(scope, body, receive, answer)

    def _see_head(self, scope: Scope) -> None:
        """See by its head that a request may be read.

        Raises:
            _UnreadError: it may not.
        """
        limits, headers, size = self.limits, dict(scope["headers"]), _head_bytes(scope)
        # A log of paths would hold what stands behind them; who reads it finds it elsewhere.
        scope[QUERY], scope["query_string"] = scope["query_string"], b""
        if self.requests > limits.requests:
            reason = f"{limits.requests:,} requests are being answered; try again in a moment"
            raise _UnreadError(503, reason, 1)
        if scope["http_version"] not in ("1.0", "1.1"):
            raise _UnreadError(400, "HTTP/1.0 and HTTP/1.1 are spoken here")
        hosts = sum(name == b"host" for name, _ in scope["headers"])
        if hosts > 1 or (not hosts and scope["http_version"] == "1.1"):
            raise _UnreadError(400, f"host: it must stand there once, not {hosts} times")
        if size > limits.head_bytes:
            reason = f"the head of the request has {size:,} bytes, at most {limits.head_bytes:,}"
            raise _UnreadError(431, reason)
        if headers.get(b"content-encoding", b"identity").strip().lower() not in (b"", b"identity"):
            raise _UnreadError(415, "content-encoding: bodies are read as they are, not compressed")
        stated = headers.get(b"content-length")
        if stated is None:
            return
        if b"transfer-encoding" in headers:  # servers on the way may not agree where it ends
            raise _UnreadError(400, "content-length and transfer-encoding exclude each other")
        if stated.isdigit() and len(stated) < 20 and int(stated) > limits.body_bytes:
            raise _too_large(f"{int(stated):,} bytes", limits.body_bytes)

    async def _body(self, receive: Receive) -> bytes | None:
        """Read a body; None when the client has gone.

        Raises:
            _UnreadError: it is too large.
        """
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self.limits.body_bytes:
                raise _too_large("more", self.limits.body_bytes)
            if not message.get("more_body", False):
                return bytes(body)

    async def _while_waited_for(
        self, scope: Scope, body: bytes, receive: Receive, send: Send
    ) -> None:
        parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        left = asyncio.Event()
        answering = asyncio.current_task()
        assert answering is not None  # as this is a coroutine

        async def replay() -> Message:
            if parts:
                return parts.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            left.set()
            answering.cancel()

        watching = asyncio.ensure_future(watch())
        try:
            await self.app(scope, replay, send)
        except asyncio.CancelledError:
            if not left.is_set():
                raise
            answering.uncancel()
        finally:
            watching.cancel()


class _UnreadError(Exception):
    """A request is refused before its body has been read."""

    def __init__(self, status: int, reason: str, wait_seconds: int | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.wait_seconds = status, reason, wait_seconds


def _head_bytes(scope: Scope) -> int:
    """Count the bytes of what a request is asked with, without signs between."""
    target = len(scope["raw_path"]) + len(scope["query_string"])
    return target + sum(len(name) + len(value) for name, value in scope["headers"])


def _too_large(found: str, most: int) -> _UnreadError:
    return _UnreadError(413, f"the request has {found}, at most {most:,} bytes; send it in parts")


def _not_text(body: bytes) -> str:
    """Say what is wrong with a body that is not UTF-8 (RFC 8259, section 8.1); empty if it is.

    In UTF-16 and UTF-32, which parsers of JSON may guess, every key would hold a NUL.
    """
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"the body is not UTF-8: byte {error.start}"
    return f"the body is no text: byte {body.index(0)} is NUL" if 0 in body else ""
