import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.downloads.server import Server, serving


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test of downloads leave this machine, whatever proxies are set."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    connect = socket.socket.connect

    def only_here(self: socket.socket, address: Any) -> None:
        assert address[0] == "127.0.0.1", f"a test asked for {address}"
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_here)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running
