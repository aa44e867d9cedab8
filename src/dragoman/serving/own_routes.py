"""The interface of Dragoman's own: ``/v1/...``."""

import json
import math
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from dragoman.decoding import length_penalty
from dragoman.serving.attending import Attended
from dragoman.serving.desk import Desk, RefusedError
from dragoman.serving.messages import (
    Alternative,
    AlternativesRequest,
    AlternativesResponse,
    AttentionRequest,
    AttentionResponse,
    Hypothesis,
    ModelInfo,
    Problem,
    Scored,
    ScoreRequest,
    ScoreResponse,
    Translated,
    TranslateRequest,
    TranslateResponse,
)
from dragoman.serving.served import Alternatives, Attend, Score, Translate
from dragoman.translator import Candidate, Translation, gap, split_sentences, trimmed

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 401, 403, 404, 408, 413, 415, 422, 429, 431, 503)
}

STREAMED_TOGETHER = 8  # sentences of a streamed text in a batch: the first come before the rest

STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Translations; with stream a line of JSON for each sentence.",
        "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
    }
}


def own_routes(desk: Desk) -> APIRouter:
    """Make the routes."""
    router = APIRouter(prefix="/v1", responses=REFUSALS)

    def admit(request: Request) -> None:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        address = request.client.host if request.client else ""
        desk.admit(key.strip() if scheme.lower() == "bearer" else None, address)

    @router.get("/models", response_model=list[ModelInfo])
    async def models() -> list[ModelInfo]:
        """List the models that answer."""
        return [
            ModelInfo(
                name=model.name,
                source_language=model.source_language,
                target_languages=list(model.target_languages),
                attention=model.shows_attention,
            )
            for model in desk.models.values()
        ]

    @router.post("/translate", response_model=TranslateResponse, responses=STREAMED)
    async def translate(request: Request, asked: TranslateRequest) -> Response:
        """Translate texts; with ``stream`` a line of JSON for each sentence."""
        admit(request)
        model = desk.model(asked.model)
        texts = [asked.text] if isinstance(asked.text, str) else asked.text
        desk.check(texts, asked.beam)
        way = Translate(
            beam=asked.beam,
            alpha=asked.alpha,
            n_best=asked.n_best,
            max_length=asked.max_length,
            sentences=asked.sentences,
            target_language=asked.target_language,
        )
        if asked.stream:
            if len(texts) != 1:
                raise RefusedError(422, "stream: takes one text")
            cut = [trimmed(part) for part in split_sentences(texts[0])]
            # Submitted before the answer begins: once it has, it can no longer be a refusal.
            sentences = [sentence for _, sentence, _ in cut]
            futures = desk.submit(model, way, sentences, bite=STREAMED_TOGETHER)
            lines = _stream(desk, cut, futures, asked.alpha)
            return StreamingResponse(lines, media_type="application/x-ndjson")
        found = await desk.ask(model, way, texts)
        shown = [_translated(each, asked.alpha) for each in found]
        return _written(TranslateResponse(model=model.name, translations=shown))

    @router.post("/score", response_model=ScoreResponse)
    async def score(request: Request, asked: ScoreRequest) -> Response:
        """Say how probable targets are as translations of their sources."""
        admit(request)
        model = desk.model(asked.model)
        if len(asked.source) != len(asked.target):
            counts = f"{len(asked.source)} sources, {len(asked.target)} targets"
            raise RefusedError(422, f"{counts}: give one target for each source")
        desk.check_pairs(asked.source, asked.target)
        pairs = list(zip(asked.source, asked.target, strict=True))
        found = await desk.ask(model, Score(asked.target_language), pairs)
        scores = [
            Scored(log_prob=each.log_prob, token_log_probs=list(each.log_probs)) for each in found
        ]
        return _written(ScoreResponse(model=model.name, scores=scores))

    @router.post("/attention", response_model=AttentionResponse)
    async def attention(request: Request, asked: AttentionRequest) -> Response:
        """Show who attends to whom when a target is written from its source.

        With the ids that a translation was answered with, it is the attention by which it was
        written, piece for piece. Text may be cut into other pieces when it is read again.
        """
        admit(request)
        pair = Attended.of(desk, desk.model(asked.model), asked)
        (maps,) = await desk.ask(pair.served, Attend(), [(pair.source.ids, pair.target.ids)])
        return _written(pair.shown(maps))

    @router.post("/alternatives", response_model=AlternativesResponse)
    async def alternatives(request: Request, asked: AlternativesRequest) -> Response:
        """Find other words at a place of a translation, each with the text it leads to."""
        admit(request)
        model = desk.model(asked.model)
        desk.check_pairs([asked.source], [asked.target])
        way = Alternatives(asked.position, asked.count, asked.target_language)
        (found,) = await desk.ask(model, way, [(asked.source, asked.target)])
        shown = [
            Alternative(
                word=each.word,
                probability=each.probability,
                text=each.text,
                place=each.place,
                token_ids=list(each.ids),
            )
            for each in found
        ]
        return _written(AlternativesResponse(model=model.name, alternatives=shown))

    return router


def _written(answer: BaseModel) -> Response:
    """Write an answer; FastAPI would look through all of it once more before."""
    return Response(answer.model_dump_json(), media_type="application/json")


def _translated(translation: Translation, alpha: float) -> Translated:
    return Translated(
        text=translation.text,
        hypotheses=[_hypothesis(each, translation, alpha) for each in translation.hypotheses],
        copied=translation.copied,
        flags=list(translation.flags),
        parts=translation.parts,
        source_ids=[list(ids) for ids in translation.read],
        error=translation.error,
    )


def _hypothesis(candidate: Candidate, translation: Translation, alpha: float) -> Hypothesis:
    length = len(candidate.tokens)
    whole = translation.parts == 1 and not translation.copied
    return Hypothesis(
        text=candidate.text,
        score=candidate.score,
        log_prob=math.fsum(candidate.token_log_probs),
        length=length,
        length_penalty=length_penalty(length, alpha) if whole else None,
        tokens=list(candidate.tokens),
        token_ids=[list(ids) for ids in candidate.written],
        token_log_probs=list(candidate.token_log_probs),
        truncated=candidate.truncated,
    )


async def _stream(
    desk: Desk, cut: Sequence[tuple[str, str, str]], futures: Sequence[Future[Any]], alpha: float
) -> AsyncIterator[bytes]:
    """Give a line for each sentence, in order, as soon as it is translated.

    ``before`` and ``after`` are the white space around it, and ``gap`` is what goes in front where
    sentences touched and their translations must not: all lines' ``gap + before + text + after``,
    one behind the other, are the translation of the whole.
    """
    done = ""
    try:
        for (before, sentence, after), future in zip(cut, futures, strict=True):
            (found,) = await desk.answers([future])
            shown = _translated(found, alpha).model_dump()
            apart = "" if before else gap(done, found.text)
            done = f"{found.text}{after}"
            around = {"gap": apart, "before": before, "after": after}
            yield _line({"source": sentence, **around, **shown})
    except RefusedError as error:
        yield _line({"error": error.reason})
    finally:
        for future in futures:
            future.cancel()


def _line(shown: dict[str, Any]) -> bytes:
    return json.dumps(shown, ensure_ascii=False).encode() + b"\n"
