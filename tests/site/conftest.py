"""The built site, and what the tests of it share."""

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.site.pages import ROOT


class Quiet(SimpleHTTPRequestHandler):
    """Says nothing of what it served."""

    def log_message(self, format: str, *args: object) -> None:
        """Leave it out."""


def build(config: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build a site as ``make site`` does; ``--quiet`` would take the warnings from ``--strict``."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; a link that leads nowhere is an error."""
    folder = tmp_path_factory.mktemp("built") / "site"
    built = build(ROOT / "mkdocs.yml", folder)
    assert built.returncode == 0, built.stdout
    return folder


@pytest.fixture
def site_address(site: Path) -> Iterator[str]:
    """Serve the site on a free port of loopback."""
    handler = functools.partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join(20)
