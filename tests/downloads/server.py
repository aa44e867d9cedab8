"""A web server on loopback that answers as it is told, also badly."""

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast


@dataclass(slots=True)
class Reply:
    """What one request gets."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    ranges: bool = True  # honours Range
    cut_at: int | None = None  # drops the connection after so many bytes of the answer
    hang_seconds: float = 0.0  # silent for so long before the body
    drip: bool = False  # a byte at a time, a tenth of a second between
    length: int | None = None  # the Content-Length it claims, when another
    chunked: bool = False  # no Content-Length at all


class Server:
    """The server, its address, and what it was asked."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.address = f"http://127.0.0.1:{server.server_address[1]}"
        self.replies: dict[str, list[Reply]] = {}
        self.asked: list[tuple[str, str]] = []  # path, Range

    def put(self, path: str, *replies: Reply | bytes) -> str:
        """Answer requests for ``path`` in turn; the last answer stays. Gives the address."""
        self.replies[path] = [
            reply if isinstance(reply, Reply) else Reply(reply) for reply in replies
        ]
        return self.address + path


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # Any: the base class says so
        """Stay silent."""

    def do_GET(self) -> None:
        told = cast("Server", self.server.told)  # type: ignore[attr-defined]  # put there below
        wanted = self.headers.get("Range", "")
        told.asked.append((self.path, wanted))
        replies = told.replies.get(self.path, [Reply(b"none", 404)])
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        start = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted else 0
        try:
            self._answer(reply, start if reply.ranges and reply.status == 200 else 0)
        except OSError:  # the client has had enough
            self.close_connection = True

    def _answer(self, reply: Reply, start: int) -> None:
        whole = reply.body
        if start >= len(whole) and start:
            self.send_response(416)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else reply.status)
        body = whole[start:]
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(whole) - 1}/{len(whole)}")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.chunked:
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(reply.length or len(body)))
        self.end_headers()
        self.wfile.flush()
        time.sleep(reply.hang_seconds)
        if reply.drip:
            for byte in body:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(0.1)
        else:
            self.wfile.write(body[: reply.cut_at])
        if reply.cut_at is not None or reply.chunked or reply.length:
            self.close_connection = True


@contextmanager
def serving() -> Generator[Server]:
    """Serve as long as the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    told = Server(server)
    server.told = told  # type: ignore[attr-defined]  # read by the handler
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
