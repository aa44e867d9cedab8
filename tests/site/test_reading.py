"""The site in a real browser: it asks nobody else, complains of nothing, and finds words."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.browser import CHROMIUM, Browser, expect

pytestmark = pytest.mark.slow
PAGES = ("index", "start", "concepts/paper", "concepts/corrections", "reference/nn")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def read(browser: Browser, address: str, *, search: bool = False) -> tuple[list[str], list[str]]:
    """Open pages; give whom they asked beside ``address``, and their complaints."""
    asked, complaints = list[str](), list[str]()
    with browser.new_page() as page:
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        for name in PAGES:
            page.goto(f"{address}{name}.html")
            broken = "all => all.filter(each => !each.naturalWidth).map(each => each.src)"
            assert page.locator("article img").evaluate_all(broken) == []
        if search:
            page.locator("input[name=query]").click()
            page.keyboard.type("rotary")
            found = page.locator(".md-search-result__item")
            expect(found.first).to_be_visible(timeout=30_000)
    return [url for url in asked if not url.startswith((address, "data:"))], complaints


def test_served_pages_ask_nobody_else_and_the_search_finds(
    browser: Browser, site_address: str
) -> None:
    assert read(browser, site_address, search=True) == ([], [])


def test_pages_read_from_disk_ask_nobody(browser: Browser, site: Path) -> None:
    assert read(browser, f"file://{site}/") == ([], [])
