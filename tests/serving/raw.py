"""A server in a process of its own, and requests as bytes on a socket, so that any can be wrong."""

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures import tiny_folder

needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc: Linux")
PATIENCE = 30.0  # seconds after which a server counts as hung; a shared machine is slow at times

_PROGRAM = """
import json, sys
from dragoman.serving import Limits, load_served, serve
limits = Limits(**json.loads(sys.argv[2]))
models = load_served([sys.argv[1]], limits, engine="torch", device="cpu")
serve(models, port=0, limits=limits, say=lambda line: print(line, file=sys.stderr, flush=True))
"""


@dataclass(frozen=True)
class Reply:
    """An answer: its status, its headers by name in lower case, its body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> str:
        """The reason in the body, which must be JSON."""
        assert self.headers["content-type"].startswith("application/json"), self
        reason = json.loads(self.body)["error"]
        assert isinstance(reason, str), self
        return reason


class Running:
    """A server that runs.

    Args:
        process: of it.
        port: on loopback.
        log: what it writes.
    """

    def __init__(self, process: subprocess.Popen[str], port: int, log: Path) -> None:
        self.process, self.port, self._log = process, port, log

    def log(self) -> str:
        """Give what it has written so far."""
        return self._log.read_text(errors="replace")

    def waiting(self) -> int:
        """Tell how many characters wait, as its figures for Prometheus have it."""
        reply = self.ask(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        assert reply is not None
        (line,) = re.findall(
            rb"^dragoman_waiting_characters\{.*\} (\S+)$", reply.body, re.MULTILINE
        )
        return int(float(line))

    def connect(self) -> socket.socket:
        """Open a connection."""
        opened = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    def ask(self, sent: bytes) -> Reply | None:
        """Send bytes; give the first final answer, None if the connection was closed without."""
        with self.connect() as connection:
            with suppress(ConnectionError):  # what was answered before can still be read
                connection.sendall(sent)
            return next(replies(connection, head_only=sent.startswith(b"HEAD ")), None)

    def post(self, path: str, asked: Any) -> Reply:
        """Send a request as it should be."""
        reply = self.ask(request(path, json.dumps(asked).encode()))
        assert reply is not None
        return reply

    def resident(self, which: str = "VmRSS") -> int:
        """Tell the bytes of memory it has, or with ``VmHWM`` had at most."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(which):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {which}")

    def forget_most(self) -> None:
        """Let ``VmHWM`` begin anew."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")


@contextmanager
def running(folder: Path, **limits: Any) -> Iterator[Running]:
    """Start a server of a tiny model of German and English; end it afterwards."""
    model = f"de-en={tiny_folder(folder / 'model')}"
    command = [sys.executable, "-c", _PROGRAM, model, json.dumps(limits)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stderr=log, text=True)
        try:
            yield Running(process, _port(process, folder / "log"), folder / "log")
        finally:
            process.kill()
            process.wait()


def _port(process: subprocess.Popen[str], log: Path) -> int:
    until = time.monotonic() + 120
    while "listening at" not in (said := log.read_text()):
        assert process.poll() is None, said
        assert time.monotonic() < until, said
        time.sleep(0.05)
    return int(said.partition("listening at")[2].split()[0].rpartition(":")[2])


def request(
    path: str, body: bytes, *, kind: str | None = "application/json", also: Sequence[str] = ()
) -> bytes:
    """Write a request by POST."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *also]
    if kind is not None:
        lines.append(f"Content-Type: {kind}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def replies(connection: socket.socket, *, head_only: bool = False) -> Iterator[Reply]:
    """Read final answers until the server closes the connection.

    Args:
        connection: what was asked on it.
        head_only: answers have no bodies, whatever length they state.

    Raises:
        TimeoutError: it neither answers nor closes it.
    """
    came = bytearray()
    while True:
        if (head := came.find(b"\r\n\r\n")) < 0:
            if not _more(connection, came):
                return
            continue
        first, *lines = bytes(came[:head]).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        status = int(first.split()[1])
        del came[: head + 4]
        if status < 200:
            continue
        length = int(headers["content-length"]) if "content-length" in headers else None
        length = 0 if head_only else length
        while (length is None or len(came) < length) and _more(connection, came):
            pass
        body = bytes(came[:length])
        del came[: len(body)]
        yield Reply(status, headers, body)


def _more(connection: socket.socket, came: bytearray) -> bool:
    try:
        part = connection.recv(1 << 16)
    except ConnectionError:
        return False
    came += part
    return bool(part)
