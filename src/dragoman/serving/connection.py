"""A connection of HTTP/1.1: what uvicorn does not bound is bounded, and its own refusals are JSON.

Beside it there are the bounds of ``Guard``, which begin when the head of a request has come.
"""

import asyncio
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, ClassVar, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dragoman.serving.limits import Limits

_PIPELINED = 8  # requests that may wait on a connection for those before them
_TOGETHER = 1 << 16  # bytes that are sent at once, even if more may follow soon
_FRAMES = 8  # times as large as its content may a body in chunks be


def connections(limits: Limits) -> type[asyncio.Protocol]:
    """Make the protocol of a server with these limits."""

    class Connection(_Connection):
        bounds = limits

    return Connection


class _Connection(HttpToolsProtocol):
    bounds: ClassVar[Limits]
    _in_head = True
    _taken = 0  # bytes of the request that is coming, about
    _broken = False  # nothing that comes is read any more
    _lingering = False
    _late: asyncio.TimerHandle | None = None  # when a head has taken too long
    _unread: asyncio.TimerHandle | None = None  # when an answer has been left unread for too long

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # as uvicorn has it
        """Begin; one connection too many is closed."""
        self._below = transport
        super().connection_made(cast("asyncio.Transport", Together(transport, self._close)))
        if len(self.connections) > self.bounds.connections:
            transport.abort()
        else:
            self._see_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        self._broken = True
        for timer in (self._late, self._unread):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        if self._broken or self._lingering:
            return
        self._taken += len(data)
        super().data_received(data)
        most = self.bounds.head_bytes + (0 if self._in_head else _FRAMES * self.bounds.body_bytes)
        if self._taken > most and not (self._broken or self._lingering):
            self._fail(
                431, f"the head of the request is larger than {self.bounds.head_bytes:,} bytes"
            )
        self._see_head()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._taken = max(1, self._taken)

    def on_headers_complete(self) -> None:
        """Begin its answer.

        Raises:
            ValueError: too many wait already; what is raised here ends the connection.
        """
        if len(self.pipeline) >= _PIPELINED:
            raise ValueError("too many requests wait on a connection")
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Know that its body is whole."""
        super().on_message_complete()
        self._in_head, self._taken = True, 0

    def on_response_complete(self) -> None:
        """Go on with what came during an answer."""
        super().on_response_complete()
        if self._in_head and self._taken:
            self._unset_keepalive_if_required()  # this is no pause between two requests

    def pause_writing(self) -> None:
        """Wait for the client to read, for some time."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.bounds.body_seconds, self._below.abort)

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._fail(400, f"{msg.rstrip('.')}: it breaks the rules of HTTP/1.1")

    def _should_upgrade(self) -> bool:
        return False  # nothing else is spoken; any such request may be answered in HTTP/1.1

    def _see_head(self) -> None:
        """Wait for the rest of a head, if there is one to come."""
        if self._broken or not self._in_head or not (self._taken or self.cycle is None):  # pyright: ignore[reportUnnecessaryComparison]  # it is None at first
            if self._late is not None:
                self._late.cancel()
                self._late = None
        elif self._late is None:
            self._late = self.loop.call_later(self.bounds.body_seconds, self._give_up)

    def _give_up(self) -> None:
        self._late = None
        if self._taken:
            seconds = f"{self.bounds.body_seconds:g} s"
            self._fail(408, f"the request did not arrive within {seconds}")
        else:
            self._below.close()  # nothing was asked, so nothing is answered

    def _fail(self, status: int, reason: str) -> None:
        """Read nothing more; say why, unless an answer has begun or is being made."""
        self._broken = True
        cycle: Any = self.cycle
        if cycle is not None and not cycle.response_complete:
            if not cycle.more_body:  # it was asked for rightly; what came behind it was wrong
                cycle.keep_alive = False
                return
            cycle.disconnected = True
            cycle.message_event.set()
        if cycle is None or cycle.response_complete or not cycle.response_started:
            body = json.dumps({"error": reason}).encode()
            head = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nconnection: close\r\n"
                f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()

    def _close(self) -> None:
        """Close it; where a client may still be sending, not before that has run out.

        A connection that is closed while the client sends is reset, and many clients then report
        that, and never read why they were refused.
        """
        cycle: Any = self.cycle
        unread = self._broken or (cycle is not None and cycle.more_body)
        if self._lingering or not unread or self._below.is_closing():
            self._below.close()
            return
        self._lingering = True
        self._below.write_eof()
        self.flow.resume_reading()
        if self._late is not None:
            self._late.cancel()
        self._late = self.loop.call_later(self.bounds.body_seconds, self._below.abort)


class Together:
    """A transport that sends together what is written in one turn of the loop.

    A head and its body are then one call of the system, and wake the client once.

    Args:
        transport: below it.
        close: ends it.
    """

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self._transport, self._closed = transport, False
        self._close = close
        self._written, self._size = list[bytes](), 0
        self._loop = asyncio.get_running_loop()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send it soon."""
        self._written.append(data)
        self._size += len(data)
        if self._size >= _TOGETHER:  # whoever writes so much has to learn whether it is read
            self._send()
        elif len(self._written) == 1:
            self._loop.call_soon(self._send)

    def close(self) -> None:
        """Send what was written, and end."""
        self._closed = True
        self._send()
        self._close()

    def is_closing(self) -> bool:
        """Say whether it ends or has ended."""
        return self._closed or self._transport.is_closing()

    def _send(self) -> None:
        if self._written and not self._transport.is_closing():
            self._transport.write(b"".join(self._written))
        self._written, self._size = [], 0
