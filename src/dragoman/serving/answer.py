"""How an answer is sent: as fast as its client reads, and no more at once than memory bears."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

_PART = 1 << 16  # bytes that are sent before the next wait for the client


class Unsent:
    """The bytes of large answers that clients have not yet read.

    Args:
        most: of all together.
    """

    def __init__(self, most: int) -> None:
        self.most, self.bytes = most, 0


class Answer:
    """Sends one answer; callable as the ``send`` of ASGI.

    Args:
        send: to the client.
        unsent: of all answers; one that finds no room there is refused instead.
    """

    def __init__(self, send: Send, unsent: Unsent) -> None:
        self._send, self._unsent = send, unsent
        self._start: Message | None = None
        self._refused = False
        self.status = 499  # as some servers call a client that has gone

    async def __call__(self, message: Message) -> None:
        """Send a message; the head waits until it is known that there is room for the body."""
        if self._refused:
            return
        if message["type"] == "http.response.start":
            self._start = message
            return
        body = message.get("body", b"")
        if len(body) > _PART and self._unsent.bytes + len(body) > self._unsent.most:
            self._refused = True
            if self._start is not None:
                self._start = None
                await self.refuse(503, "too much is being sent already; try again in a moment", 5)
                return
            raise ConnectionAbortedError("no room for the rest of an answer")
        await self._begin()
        await self._body(body, message)

    async def refuse(self, status: int, reason: str, wait_seconds: int | None = None) -> None:
        """Say why there is no answer, and after how long to try again; the connection ends."""
        body = json.dumps({"error": reason}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        ]
        if wait_seconds is not None:
            headers.append((b"retry-after", b"%d" % wait_seconds))
        self.status = status
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def _begin(self) -> None:
        if self._start is not None:
            start, self._start = self._start, None
            self.status = start["status"]
            await self._send(start)

    async def _body(self, body: bytes, message: Message) -> None:
        large = len(body) if len(body) > _PART else 0
        self._unsent.bytes += large
        try:
            begin = 0
            while len(body) - begin > _PART:
                part = body[begin : begin + _PART]
                await self._send({"type": message["type"], "body": part, "more_body": True})
                begin += _PART
            await self._send({**message, "body": body[begin:]})
        finally:
            self._unsent.bytes -= large
