"""A server on loopback with two small models that learned four sentences, and a real browser.

Whoever imports this is skipped where there is no browser to be had.
"""

import io
import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="needs fastapi, uvicorn: the extra serve")
pytest.importorskip("playwright", reason="needs playwright: the extra dev")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
if CHROMIUM is None:
    pytest.skip("needs a browser: apt-get install chromium", allow_module_level=True)

import uvicorn  # noqa: E402  # after the check
from PIL import Image  # noqa: E402  # after the check
from playwright.sync_api import (  # noqa: E402  # after the check
    Browser,
    Error,
    Locator,
    Page,
    Route,
    expect,
)

from dragoman.serving.app import make_app  # noqa: E402  # after the check
from dragoman.serving.limits import Limits  # noqa: E402  # after the check
from dragoman.serving.served import Served  # noqa: E402  # after the check
from dragoman.translator import Translator  # noqa: E402  # after the check
from tests.fixtures import ENGLISH, GERMAN  # noqa: E402  # after the check
from tests.serving.taught import by_letter, taught  # noqa: E402  # after the check

__all__ = [  # as they are
    "Browser",
    "Error",
    "Limits",
    "Locator",
    "Page",
    "Route",
    "by_letter",
    "expect",
    "taught",
]

HUND, DOG = GERMAN[0], ENGLISH[0]


@contextmanager
def serving(
    translators: dict[str, Translator], limits: Limits | None = None, **options: Any
) -> Iterator[str]:
    """Serve German-English models on a free port of loopback; gives the address."""
    limits = limits or Limits()
    models = [
        Served(name, each, limits, source_language="de", target_languages=["en"])
        for name, each in translators.items()
    ]
    app = make_app(models, limits, **options)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run, name="page-server")
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)
        for model in models:
            assert model.queue.stop(20)


class Visit:
    """A page with its own storage; notes what went wrong in it and whom it asked."""

    def __init__(self, browser: Browser, address: str, **options: Any) -> None:
        self.address = address
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.problems: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", lambda dialog: self.problems.append(dialog.message))

    def open(self, text: str = "", shown: str = "") -> Page:
        """Open the page, type, and wait until the translation stands there."""
        self.page.goto(self.address)
        if text:
            self.page.locator("#source").fill(text)
            expect(self.page.locator("#translation")).to_have_text(shown or re.compile(r"\w"))
            expect(self.page.locator("#translation")).not_to_have_attribute("aria-busy", "true")
        return self.page

    def close(self) -> None:
        """Hold the page to it: no word on the console, no request to anyone else."""
        self.context.close()
        assert self.problems == []
        own = (f"{self.address}/", "data:")
        assert [url for url in self.asked if not url.startswith(own)] == []


def word(page: Page, text: str) -> Locator:
    return page.locator("#translation .word").get_by_text(text, exact=True).first


def open_attention(page: Page) -> None:
    page.locator("#attention summary").click()
    expect(page.locator("#map tbody td").first).to_be_visible()


def shown_map(page: Page) -> np.ndarray:
    rows = page.locator("#map tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))"
    )
    return np.array(rows, dtype=float) / 100


def picture(locator: Locator) -> np.ndarray:
    """Take a picture of a place on the page: (height, width, 3), 0 to 255."""
    return np.asarray(Image.open(io.BytesIO(locator.screenshot())).convert("RGB")).astype(int)


def line(source: str, target: str, **changes: Any) -> str:
    tokens = [*target.split(" "), "</s>"]
    ids = [[*range(4, 3 + len(tokens)), 2]]
    hypothesis = {"text": target, "score": -1.0, "log_prob": -1.8, "length": len(tokens)}
    hypothesis |= {"length_penalty": 1.8, "tokens": tokens, "token_log_probs": []}
    hypothesis |= {"token_ids": ids}
    hypothesis |= {"truncated": "truncated" in changes.get("flags", [])}
    shown = {"source": source, "gap": "", "before": "", "after": "", "text": target, "error": ""}
    shown |= {"hypotheses": [hypothesis], "copied": False, "flags": [], "parts": 1}
    shown |= {"source_ids": [[4]]}
    return json.dumps(shown | changes) + "\n"
