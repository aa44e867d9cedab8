"""What tests of the page share; the browser is imported only where one is asked for."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from dragoman.translator import Translator

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.serving.browser import Visit


@pytest.fixture(scope="session")
def models() -> dict[str, Translator]:
    """Two models that say the same and attend otherwise."""
    from tests.serving.browser import taught

    return {"one": taught(1), "two": taught(2)}


@pytest.fixture(scope="module")
def address(models: dict[str, Translator]) -> Iterator[str]:
    """A server of both; gives where it is."""
    from tests.serving.browser import serving

    with serving(models) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Chromium; not for longer, since no other event loop can run in this thread meanwhile."""
    from playwright.sync_api import expect, sync_playwright

    from tests.serving.browser import CHROMIUM

    expect.set_options(timeout=20_000)  # a shared machine is slow at times
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: "Browser", address: str) -> "Iterator[Visit]":
    """A page at the width of a desk, held to having asked nobody else and complained of nothing."""
    from tests.serving.browser import Visit

    visit = Visit(browser, address, viewport={"width": 1180, "height": 800})
    yield visit
    visit.close()
