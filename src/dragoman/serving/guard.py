"""What stands before every route: requests must be small, come in time, and be waited for."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from dragoman.serving.limits import Limits

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Guard:
    """Reads the body of a request whole, within bounds, before a route sees it.

    What a client no longer waits for is cancelled.

    Args:
        app: what answers.
        limits: of bodies.
        observe: is told route, status and seconds of every answer.
    """

    def __init__(
        self, app: App, limits: Limits, observe: Callable[[str, int, float], None]
    ) -> None:
        self.app, self.limits, self.observe = app, limits, observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 499  # as some servers call a client that has gone

        async def sending(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._serve(scope, receive, sending)
        finally:
            route: str = getattr(scope.get("route"), "path", "other")
            self.observe(route, status, time.perf_counter() - began)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                body = await self._body(scope, receive)
        except TimeoutError:
            seconds = f"{self.limits.body_seconds:g} s"
            await _refuse(send, 408, f"the request did not arrive within {seconds}")
            return
        except _TooLargeError:
            most = f"{self.limits.body_bytes:,} bytes"
            await _refuse(send, 413, f"the request is larger than {most}; send it in parts")
            return
        if body is not None:
            await self._while_waited_for(scope, body, receive, send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Read a body; None when the client has gone."""
        stated = dict(scope["headers"]).get(b"content-length", b"0")
        if stated.isdigit() and len(stated) < 20 and int(stated) > self.limits.body_bytes:
            raise _TooLargeError
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self.limits.body_bytes:
                raise _TooLargeError
            if not message.get("more_body", False):
                return bytes(body)

    async def _while_waited_for(
        self, scope: Scope, body: bytes, receive: Receive, send: Send
    ) -> None:
        parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        left = asyncio.Event()

        async def replay() -> Message:
            if parts:
                return parts.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            left.set()

        answering = asyncio.ensure_future(self.app(scope, replay, send))
        watching = asyncio.ensure_future(watch())
        try:
            await asyncio.wait({answering, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                answering.cancel()
            await asyncio.gather(answering, return_exceptions=False)
        except asyncio.CancelledError:
            if not answering.cancelled():
                answering.cancel()
                raise
        finally:
            watching.cancel()


class _TooLargeError(Exception):
    """The body is larger than allowed."""


async def _refuse(send: Send, status: int, reason: str) -> None:
    body = json.dumps({"error": reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
