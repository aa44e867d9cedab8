"""The application: routes, and what every answer has in common."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from dragoman.serving.desk import Desk, RefusedError
from dragoman.serving.guard import Guard
from dragoman.serving.libre_routes import libre_routes
from dragoman.serving.limits import Limits
from dragoman.serving.messages import Health, Problem
from dragoman.serving.own_routes import own_routes
from dragoman.serving.page import page_routes
from dragoman.serving.served import Served
from dragoman.serving.visitors import Visitors


def make_app(
    models: Sequence[Served], limits: Limits | None = None, *, keys: Sequence[str] = ()
) -> FastAPI:
    """Make an application of ASGI that answers for models.

    Args:
        models: at least one.
        limits: of requests.
        keys: one of which every request must bring; none are asked for when there are none.
    """
    limits = limits or Limits()
    desk = Desk(models, limits, Visitors(keys, limits.requests_per_minute))
    # The pages of documentation that FastAPI brings load scripts from elsewhere.
    app = FastAPI(
        title="Dragoman", version="1", docs_url=None, redoc_url=None, redirect_slashes=False
    )
    app.state.desk = desk
    app.include_router(page_routes())
    app.include_router(own_routes(desk))
    app.include_router(libre_routes(desk))
    _status_routes(app, desk)
    _errors(app)
    app.add_middleware(Guard, limits=limits, observe=desk.metrics.observe)
    return app


def _status_routes(app: FastAPI, desk: Desk) -> None:
    @app.get("/health", response_model=Health)
    async def health() -> Health:
        """Say that the server runs."""
        return Health(status="stopping" if desk.stopping else "ok")

    @app.get("/ready", response_model=Health, responses={503: {"model": Problem}})
    async def ready() -> Health:
        """Say whether requests are accepted."""
        if desk.stopping:
            raise RefusedError(503, "the server is stopping")
        return Health(status="ok")

    @app.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Give figures to Prometheus."""
        return Response(desk.metrics.text(), media_type="text/plain; version=0.0.4")


def _errors(app: FastAPI) -> None:
    """Make every refusal a line of JSON: ``{"error": reason}``."""

    @app.exception_handler(RefusedError)
    async def refused(_: Request, error: RefusedError) -> JSONResponse:
        headers: dict[str, str] = {}
        if error.wait_seconds is not None:
            headers["Retry-After"] = str(max(1, round(error.wait_seconds)))
        if error.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return _refusal(error.reason, error.status, headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        kind = request.headers.get("content-type", "")
        return _refusal(_no_json(error, kind) or _mistakes(error), 422)

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> JSONResponse:
        return _refusal(str(error.detail), error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def failed(_: Request, __: Exception) -> JSONResponse:  # it is logged after this
        return _refusal("the server failed; its log says how", 500)


def _refusal(reason: str, status: int, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Write a reason, in which half of a surrogate pair may stand that was sent."""
    shown = reason.encode("utf-8", "replace").decode()
    return JSONResponse({"error": shown}, status, headers)


def _no_json(error: RequestValidationError, kind: str) -> str:
    """Say that a body was not read because of its content type; empty if that was not so."""
    unread = any(each["loc"] == ("body",) and each["type"] != "missing" for each in error.errors())
    stated = kind.partition(";")[0].strip().lower()
    if not unread or re.fullmatch(r"application/(.*\+)?json", stated):
        return ""
    return f"content-type: {kind[:80]!r} is not application/json"


def _mistakes(error: RequestValidationError) -> str:
    """Say in a line what is wrong, without what was sent."""
    return "; ".join(_mistake(each) for each in error.errors()[:5])


_READERS = ("function-", "list[")  # how pydantic read a field; it puts that behind the name


def _mistake(found: Mapping[str, Any]) -> str:
    if found["type"] == "json_invalid":
        return f"body: not JSON, at character {found['loc'][-1]}: {found['ctx']['error'][:200]}"
    names = (str(part)[:80] for part in found["loc"][1:])
    place = ".".join(each for each in names if not each.startswith(_READERS)) or "body"
    return f"{place}: {found['msg'][:200]}"
