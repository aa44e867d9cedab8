"""A short way to the endpoints, for requests that are as they should be.

FastAPI looks for a route twice, solves dependencies and opens exit stacks: as much work again as
all else that HTTP needs of a server that translates. A ``POST`` of JSON that its model accepts
needs none of it. Everything else, every mistake among it, goes on to FastAPI, which says what is
wrong; and routes, and what the page of OpenAPI says of them, are FastAPI's.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel

from dragoman.serving.answer import Message, Send
from dragoman.serving.desk import RefusedError
from dragoman.serving.guard import App, Receive, Scope

_JSON = b"application/json"


class Direct:
    """Answers what can be answered without FastAPI; has to stand behind ``Guard``.

    Args:
        app: FastAPI's part, for all else.
        routers: whose routes may be gone directly: those of a ``POST`` whose endpoint takes the
            request and a model of its body, in this order, and makes the response itself.
        refuse: makes the response to a refusal.
    """

    def __init__(
        self, app: App, routers: Iterable[APIRouter], refuse: Callable[[RefusedError], Response]
    ) -> None:
        self.app, self.refuse = app, refuse
        self._routes = {
            route.path: (route, form)
            for router in routers
            for route in router.routes
            if isinstance(route, APIRoute) and (form := _form(route)) is not None
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        found = self._routes.get(scope["path"]) if scope["type"] == "http" else None
        if found is None or scope["method"] != "POST" or not _says_json(scope):
            await self.app(scope, receive, send)
            return
        route, form = found
        body = [await receive()]  # all of it, see Guard
        try:
            asked = form.model_validate(json.loads(body[0]["body"]))
        except (ValueError, RecursionError):  # pydantic's is a ValueError

            async def again() -> Message:
                return body.pop() if body else await receive()

            await self.app(scope, again, send)
            return
        scope["route"] = route
        try:
            response = await route.endpoint(Request(scope, receive), asked)
        except RefusedError as error:
            response = self.refuse(error)
        await response(scope, receive, send)


def _form(route: APIRoute) -> type[BaseModel] | None:
    """Give the model of a body that is posted; None of any other route."""
    if route.methods != {"POST"} or route.body_field is None:
        return None
    form: Any = route.body_field.field_info.annotation
    return form if isinstance(form, type) and issubclass(form, BaseModel) else None


def _says_json(scope: Scope) -> bool:
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    return len(kinds) == 1 and kinds[0].partition(b";")[0].strip().lower() == _JSON
