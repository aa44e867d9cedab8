"""The shapes of requests and answers that clients of LibreTranslate speak."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from dragoman.serving.desk import Desk, RefusedError
from dragoman.serving.languages import NAMES, guess_language
from dragoman.serving.own_routes import REFUSALS
from dragoman.serving.served import Served, Translate

_MOST_ALTERNATIVES = 8


def libre_routes(desk: Desk) -> APIRouter:
    """Make the routes."""
    router = APIRouter(responses=REFUSALS, tags=["LibreTranslate"])

    @router.get("/languages")
    async def languages() -> list[dict[str, Any]]:
        """List source languages, and what each is translated into."""
        targets: dict[str, set[str]] = {}
        for model in desk.models.values():
            if model.source_language:
                targets.setdefault(model.source_language, set()).update(model.target_languages)
        return [
            {"code": code, "name": NAMES.get(code, code), "targets": sorted(into)}
            for code, into in sorted(targets.items())
        ]

    @router.post("/translate", openapi_extra=_body("q", "source", "target"))
    async def translate(request: Request) -> JSONResponse:
        """Translate one text or several, from ``source`` (``auto`` guesses) into ``target``."""
        asked = await _read(request)
        _admit(desk, request, asked)
        texts = _texts(asked)
        source, target = _text(asked, "source"), _text(asked, "target")
        if _text(asked, "format", "text") != "text":
            raise RefusedError(400, "format: only text is translated here")
        more = _number(asked, "alternatives")
        guesses = [guess_language(text) for text in texts] if source == "auto" else []
        model = _model(desk, source if source != "auto" else _likeliest(desk, guesses), target)
        beam = max(4, 1 + more)
        desk.check(texts, beam)
        several = target if model.translator.languages else None
        way = Translate(beam=beam, n_best=1 + more, target_language=several)
        found = await desk.ask(model, way, texts)
        answer: dict[str, Any] = {"translatedText": [each.text for each in found]}
        if more:
            answer["alternatives"] = [[h.text for h in each.hypotheses[1:]] for each in found]
        if guesses:
            answer["detectedLanguage"] = [_detected(each)[0] for each in guesses]
        if not isinstance(asked["q"], list):
            answer = {name: value[0] for name, value in answer.items()}
        return JSONResponse(answer)

    @router.post("/detect", openapi_extra=_body("q"))
    async def detect(request: Request) -> JSONResponse:
        """Guess the language of a text, by simple rules."""
        asked = await _read(request)
        _admit(desk, request, asked)
        (text,) = _texts(asked, one=True)
        desk.check([text])
        return JSONResponse(_detected(guess_language(text))[:5])

    @router.get("/frontend/settings")
    async def settings() -> dict[str, Any]:
        """Say what a page should know of this server."""
        first = next(iter(desk.models.values()))
        source, target = first.source_language or "auto", next(iter(first.target_languages), "")
        return {
            "apiKeys": desk.visitors.need_key,
            "charLimit": desk.limits.text_characters,
            "frontendTimeout": 500,
            "keyRequired": desk.visitors.need_key,
            "language": {
                "source": {"code": source, "name": NAMES.get(source, source)},
                "target": {"code": target, "name": NAMES.get(target, target)},
            },
            "suggestions": False,
            "supportedFilesFormat": [],
        }

    return router


async def _read(request: Request) -> dict[str, Any]:
    """Read a body that is JSON or a form."""
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind == "application/x-www-form-urlencoded":
            return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict"))
        if kind not in ("application/json", ""):
            raise RefusedError(400, f"content-type: {kind[:80]!r} is neither JSON nor a form")
        asked = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise RefusedError(400, "the body is neither JSON nor a form in UTF-8") from None
    if not isinstance(asked, dict):
        raise RefusedError(400, "the body is no JSON object")
    return asked  # pyright: ignore[reportUnknownVariableType]  # keys of JSON are strings


def _no_number(name: str) -> float:
    """Refuse NaN and Infinity, which Python reads and JSON has not.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{name} is no JSON")


def _admit(desk: Desk, request: Request, asked: Mapping[str, Any]) -> None:
    key = asked.get("api_key")
    address = request.client.host if request.client else ""
    desk.admit(key if isinstance(key, str) and key else None, address)


def _texts(asked: Mapping[str, Any], *, one: bool = False) -> list[str]:
    given: Any = asked.get("q")
    several = isinstance(given, list) and not one
    texts = cast("list[Any]", given if several else [given])
    for text in texts:
        if not isinstance(text, str):
            raise RefusedError(400, "q: is no text" if one else "q: is neither text nor a list")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise RefusedError(400, "q: holds half of a surrogate pair") from None
    return [*texts]


def _text(asked: Mapping[str, Any], name: str, otherwise: str | None = None) -> str:
    given = asked.get(name, otherwise)
    if not isinstance(given, str) or not given:
        raise RefusedError(400, f"{name}: is missing")
    return given


def _number(asked: Mapping[str, Any], name: str) -> int:
    given: Any = asked.get(name, 0)
    if isinstance(given, str) and given.isascii() and given.isdecimal():
        given = int(given[:9])
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise RefusedError(400, f"{name}: is no number from 0")
    return min(given, _MOST_ALTERNATIVES)


def _model(desk: Desk, source: str, target: str) -> Served:
    for model in desk.models.values():
        if model.source_language == source and target in model.target_languages:
            return model
    raise RefusedError(400, f"{source[:20]} to {target[:20]} is not translated here")


def _likeliest(desk: Desk, guesses: Sequence[Sequence[tuple[str, float]]]) -> str:
    """Take the language that all texts together are likeliest in, of those there are models for."""
    known = [model.source_language for model in desk.models.values() if model.source_language]
    points = dict.fromkeys(known, 0.0)
    for guess in guesses:
        for code, confidence in guess:
            if code in points:
                points[code] += confidence
    if not points:
        raise RefusedError(400, "source: no model here says what language it reads")
    return max(points, key=points.__getitem__)


def _detected(guess: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    shown = [{"confidence": round(100 * value, 1), "language": code} for code, value in guess]
    return shown or [{"confidence": 0.0, "language": "en"}]


def _body(*names: str) -> dict[str, Any]:
    """Describe a body that is JSON or a form."""
    kinds: dict[str, Any] = {name: {"type": "string"} for name in names}
    if "source" in names:
        kinds["q"] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    schema = {"type": "object", "properties": kinds, "required": list(names)}
    types = ("application/json", "application/x-www-form-urlencoded")
    return {
        "requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in types}}
    }
