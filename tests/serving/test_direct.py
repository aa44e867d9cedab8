import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs fastapi: the extra serve")

from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from dragoman.serving import Limits, Served, make_app
from dragoman.serving.desk import Desk
from dragoman.serving.direct import Direct
from dragoman.serving.own_routes import own_routes
from dragoman.serving.visitors import Visitors
from tests.fixtures import tiny_translator

# FastAPI reads both; the second one is not gone directly.
STRAIGHT, AROUND = "application/json", "application/hal+json"

SOURCE, TARGET = "der hund schläft .", "the dog sleeps ."
RIGHT: dict[str, dict[str, Any]] = {
    "/v1/translate": {"text": [SOURCE, ""], "beam": 2, "n_best": 2},
    "/v1/score": {"source": [SOURCE], "target": [TARGET]},
    "/v1/attention": {"source": SOURCE, "target": TARGET},
    "/v1/alternatives": {"source": SOURCE, "target": TARGET, "position": 4, "count": 2},
}
REFUSED: dict[str, tuple[str, bytes]] = {
    "no such model": ("/v1/translate", b'{"text": "a", "model": "other"}'),
    "too wide a beam": ("/v1/translate", b'{"text": "a", "beam": 99}'),
    "counts differ": ("/v1/score", b'{"source": ["a"], "target": []}'),
    "a mistake": ("/v1/translate", b'{"text": 3, "beam": "4", "none": 0}'),
    "half a surrogate pair": ("/v1/translate", rb'{"text": "\ud800"}'),
    "no number": ("/v1/translate", b'{"text": "a", "alpha": NaN}'),
    "no object": ("/v1/translate", b"[]"),
    "no JSON": ("/v1/translate", b'{"text": '),
    "nothing": ("/v1/translate", b""),
    "too deep": ("/v1/translate", b'{"text": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    served = Served("tiny", tiny_translator(), Limits(), source_language="de")
    with TestClient(make_app([served])) as client:
        yield client


def post(client: TestClient, path: str, body: bytes, kind: str) -> Any:
    return client.post(path, content=body, headers={"content-type": kind})


@pytest.mark.parametrize("path", RIGHT)
def test_the_answer_is_that_of_fastapi(path: str, client: TestClient) -> None:
    body = json.dumps(RIGHT[path]).encode()
    straight, around = (post(client, path, body, kind) for kind in (STRAIGHT, AROUND))
    assert straight.status_code == 200
    assert straight.json() == around.json()
    assert straight.headers == around.headers


@pytest.mark.parametrize("name", REFUSED)
def test_the_refusal_is_that_of_fastapi(name: str, client: TestClient) -> None:
    straight, around = (post(client, *REFUSED[name], kind) for kind in (STRAIGHT, AROUND))
    assert 400 <= straight.status_code < 500
    assert straight.status_code == around.status_code
    assert straight.json() == around.json()
    assert straight.headers == around.headers


def test_a_key_is_asked_for_and_rates_are_kept() -> None:
    served = Served("tiny", tiny_translator(), Limits())
    with TestClient(make_app([served], Limits(requests_per_minute=1), keys=["k"])) as client:
        body = {"text": "a"}
        unknown = client.post("/v1/translate", json=body)
        assert (unknown.status_code, unknown.headers["www-authenticate"]) == (401, "Bearer")
        key = {"authorization": "Bearer k"}
        assert client.post("/v1/translate", json=body, headers=key).status_code == 200
        often = client.post("/v1/translate", json=body, headers=key)
        assert often.status_code == 429
        assert int(often.headers["retry-after"]) >= 1


def test_answers_are_counted_by_their_route(client: TestClient) -> None:
    def count() -> float:
        counted = 'dragoman_requests_total{route="/v1/score",status="200"} '
        lines = client.get("/metrics").text.splitlines()
        return sum(float(line.removeprefix(counted)) for line in lines if counted in line)

    before = count()
    body = json.dumps(RIGHT["/v1/score"]).encode()
    for kind in (STRAIGHT, AROUND):
        assert post(client, "/v1/score", body, kind).status_code == 200
    assert count() == before + 2


def reached(method: str, path: str, body: bytes, kind: str) -> bool:
    """Say whether a request goes on to FastAPI, with its body."""
    seen = list[bytes]()

    async def around(scope: Any, receive: Any, send: Any) -> None:
        seen.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(_: Any) -> None:
        pass

    served = Served("tiny", tiny_translator(), Limits())
    desk = Desk([served], Limits(), Visitors())
    direct = Direct(around, [own_routes(desk)], lambda error: PlainTextResponse(error.reason))
    headers = [(b"content-type", kind.encode())]
    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    asyncio.run(direct(scope, receive, send))
    assert seen in ([], [body])
    return bool(seen)


@pytest.mark.parametrize("path", RIGHT)
def test_what_is_right_does_not_reach_fastapi(path: str) -> None:
    body = json.dumps(RIGHT[path]).encode()
    assert not reached("POST", path, body, STRAIGHT)
    assert not reached("POST", path, body, "Application/JSON; charset=utf-8")
    assert reached("POST", path, body, AROUND)
    assert reached("POST", path, b"[]", STRAIGHT)
    assert reached("GET", path, body, STRAIGHT)
    assert reached("POST", path + "/", body, STRAIGHT)


def test_a_refusal_by_an_endpoint_does_not_reach_fastapi() -> None:
    assert not reached("POST", *REFUSED["no such model"], STRAIGHT)
