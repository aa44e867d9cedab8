"""A connection of HTTP/1.1: what uvicorn does not bound is bounded, and its own refusals are JSON.

Beside it there are the bounds of ``Guard``, which begin when the head of a request has come.
"""

import asyncio
import json
from http import HTTPStatus
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from dragoman.serving.limits import Limits


def connections(limits: Limits) -> type[H11Protocol]:
    """Make the protocol of a server with these limits.

    It is that of h11, which keeps to the rules of HTTP more strictly than httptools, wherever
    both are installed.
    """

    class Connection(_Connection):
        bounds = limits

    return Connection


class _Connection(H11Protocol):
    bounds: ClassVar[Limits]
    _late: asyncio.TimerHandle | None = None  # when a head has taken too long
    _unread: asyncio.TimerHandle | None = None  # when an answer has been left unread for too long

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # as uvicorn has it
        """Begin; one connection too many is closed."""
        super().connection_made(transport)
        if len(self.connections) > self.bounds.connections:
            transport.abort()
        else:
            self._see_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        for timer in (self._late, self._unread):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        super().data_received(data)
        self._see_head()

    def on_response_complete(self) -> None:
        """Go on with what came during an answer."""
        super().on_response_complete()
        if self.conn.trailing_data[0] and self.conn.their_state is h11.IDLE:
            self._unset_keepalive_if_required()  # this is no pause between two requests
            self._see_head()

    def pause_writing(self) -> None:
        """Wait for the client to read, for some time."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.bounds.body_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        most = f"{self.bounds.head_bytes:,} bytes"
        self._refuse(400, f"{msg.rstrip('.')}: it is no HTTP/1.1, or its head is over {most}")

    def _should_upgrade(self) -> bool:
        return (
            False  # there is no other protocol here; a request may always be answered in HTTP/1.1
        )

    def _see_head(self) -> None:
        """Wait for the rest of a head; no longer if it is there."""
        if self.conn.their_state is h11.IDLE:
            if self._late is None:
                self._late = self.loop.call_later(self.bounds.body_seconds, self._give_up)
        elif self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        if self.conn.trailing_data[0]:
            seconds = f"{self.bounds.body_seconds:g} s"
            self._refuse(408, f"the request did not arrive within {seconds}")
        elif self.conn.their_state is h11.IDLE:
            self.transport.close()  # nothing was asked, so nothing is answered

    def _refuse(self, status: int, reason: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps({"error": reason}).encode()
            headers = [
                ("Content-Type", "application/json"),
                ("Content-Length", str(len(body))),
                ("Connection", "close"),
            ]
            phrase = HTTPStatus(status).phrase
            for event in (
                h11.Response(status_code=status, headers=headers, reason=phrase),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
