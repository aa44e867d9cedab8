"""The shapes of requests and answers that clients of LibreTranslate speak."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from dragoman.language_names import language_name
from dragoman.serving.desk import Desk, RefusedError
from dragoman.serving.forms import FILES, FORM, read_request
from dragoman.serving.languages import guess_language
from dragoman.serving.own_routes import REFUSALS
from dragoman.serving.served import Served, Translate
from dragoman.serving.web_pages import WebPages, text_of
from dragoman.translator import Translation

_MOST_ALTERNATIVES = 8
_TEXT = ("text", "", None)  # formats of plain text, as clients say it


def libre_routes(desk: Desk) -> APIRouter:
    """Make the routes."""
    router = APIRouter(responses=REFUSALS, tags=["LibreTranslate"])
    pages = WebPages(desk)

    @router.get("/languages")
    async def languages() -> list[dict[str, Any]]:
        """List source languages, and what each is translated into."""
        targets: dict[str, set[str]] = {}
        for model in desk.models.values():
            if model.source_language:
                targets.setdefault(model.source_language, set()).update(model.target_languages)
        return [
            {"code": code, "name": language_name(code), "targets": sorted(into)}
            for code, into in sorted(targets.items())
        ]

    @router.post("/translate", openapi_extra=_body("q", "source", "target"))
    async def translate(request: Request) -> JSONResponse:
        """Translate one text or several, from ``source`` (``auto`` guesses) into ``target``.

        With ``format`` ``html`` texts are web pages or parts of them: tags, scripts and comments
        stay as they are, and there are no alternatives.
        """
        asked = await read_request(request)
        _admit(desk, request, asked)
        texts = _texts(asked)
        source, target = _text(asked, "source"), _text(asked, "target")
        is_page = _is_page(asked)
        more = _number(asked, "alternatives")
        beam = max(4, 1 + more)
        desk.check(texts, beam)
        guess = None
        if source == "auto":
            guess = _guess(desk, [text_of(text) for text in texts] if is_page else texts)
            source = guess["language"]
        model = _model(desk, source, target)
        several = target if model.translator.languages else None
        if is_page:
            made = await pages.translate(model, Translate(target_language=several), texts)
            others: list[list[str]] = [[] for _ in texts]
        else:
            way = Translate(beam=beam, n_best=1 + more, target_language=several)
            found = await desk.ask(model, way, texts)
            made, others = [each.text for each in found], [*map(_others, found)]
        answer: dict[str, Any] = {"translatedText": made}
        if more:
            answer["alternatives"] = others
        if guess:
            answer["detectedLanguage"] = [guess] * len(texts)
        if not isinstance(asked["q"], list):
            answer = {name: value[0] for name, value in answer.items()}
        return JSONResponse(answer)

    @router.post("/detect", openapi_extra=_body("q"))
    async def detect(request: Request) -> JSONResponse:
        """Guess the language of a text, by simple rules."""
        asked = await read_request(request)
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
            "filesTranslation": False,
            "frontendTimeout": 500,
            "keyRequired": desk.visitors.need_key,
            "language": {
                "source": {"code": source, "name": language_name(source)},
                "target": {"code": target, "name": language_name(target)},
            },
            "suggestions": False,
            "supportedFilesFormat": [],
        }

    return router


def _admit(desk: Desk, request: Request, asked: Mapping[str, Any]) -> None:
    key = asked.get("api_key")
    if key is not None and not isinstance(key, str):
        raise RefusedError(400, "api_key: is no text")
    address = request.client.host if request.client else ""
    desk.admit(key or None, address, send="api_key")


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


def _guess(desk: Desk, texts: Sequence[str]) -> dict[str, Any]:
    """Guess the language of all texts together, among those there are models for."""
    known = {model.source_language for model in desk.models.values() if model.source_language}
    if not known:
        raise RefusedError(400, "source: no model here says what language it reads")
    points = dict.fromkeys(sorted(known), 0.0)
    for text in texts:
        for code, confidence in guess_language(text, among=known):
            points[code] += confidence
    likeliest = max(points, key=points.__getitem__)
    confidence = points[likeliest] / (sum(points.values()) or 1.0)
    return {"confidence": round(100 * confidence, 1), "language": likeliest}


def _others(translation: Translation) -> list[str]:
    """Name the other translations, each text once."""
    texts = dict.fromkeys(each.text for each in translation.hypotheses)
    return [text for text in texts if text != translation.text]


def _is_page(asked: Mapping[str, Any]) -> bool:
    if (form := asked.get("format")) not in (*_TEXT, "html"):
        raise RefusedError(400, "format: is neither text nor html")
    return form == "html"


def _detected(guess: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    shown = [{"confidence": round(100 * value, 1), "language": code} for code, value in guess]
    return shown or [{"confidence": 0.0, "language": "en"}]


def _body(*names: str) -> dict[str, Any]:
    """Describe a body that is JSON or a form."""
    kinds: dict[str, Any] = {name: {"type": "string"} for name in names}
    if "source" in names:
        kinds["q"] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
        kinds["format"] = {"enum": [*_TEXT, "html"], "default": "text"}
        kinds["alternatives"] = {"type": "integer", "minimum": 0, "default": 0}
    kinds["api_key"] = {"type": ["string", "null"]}
    schema = {"type": "object", "properties": kinds, "required": list(names)}
    types = ("application/json", FORM, FILES)
    return {
        "requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in types}}
    }
