"""The page at ``/``: one file, and a header that lets it ask nobody but its own server."""

import base64
import hashlib
import re
from importlib import resources

from fastapi import APIRouter
from fastapi.responses import HTMLResponse


def page_routes() -> APIRouter:
    """Make the route; it needs no key, since the page itself asks for one."""
    page = resources.files("dragoman.serving").joinpath("page.html").read_text(encoding="utf-8")
    headers = {
        "Content-Security-Policy": content_security_policy(page),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",  # another version of the server brings another page
    }
    router = APIRouter(include_in_schema=False)

    @router.get("/", response_class=HTMLResponse)
    async def index() -> HTMLResponse:
        """Give the page."""
        return HTMLResponse(page, headers=headers)

    return router


def content_security_policy(page: str) -> str:
    """Allow the scripts and styles that stand in a page, requests to its server, nothing else.

    Scripts and styles are told by their SHA-256 (Content Security Policy Level 3, section 2.3.1),
    so not even text that came into the page as markup could run.
    """
    scripts = " ".join(_hashes(page, "script"))
    styles = " ".join(_hashes(page, "style"))
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {scripts}",
            f"style-src {styles}",
            "connect-src 'self'",
            "img-src data:",  # the icon
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _hashes(page: str, tag: str) -> list[str]:
    inside = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    digests = [hashlib.sha256(text.encode()).digest() for text in inside]
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
