from collections.abc import Iterator

import pytest

fastapi = pytest.importorskip("fastapi", reason="needs fastapi: the extra serve")

from starlette.testclient import TestClient  # noqa: E402

from dragoman.serving.app import make_app  # noqa: E402
from dragoman.serving.limits import Limits  # noqa: E402
from dragoman.serving.served import Served  # noqa: E402
from dragoman.translator import Translator  # noqa: E402
from tests.fixtures import tiny_translator  # noqa: E402


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


@pytest.fixture
def client(translator: Translator) -> Iterator[TestClient]:
    served = Served("tiny", translator, Limits(), source_language="de", target_languages=["en"])
    with TestClient(make_app([served])) as client:
        yield client
    assert served.queue.stop(20)


def test_it(client: TestClient, translator: Translator) -> None:
    answer = client.post("/v1/translate", json={"text": "der hund schläft ."})
    assert answer.status_code == 200
    assert answer.json()["translations"][0]["text"] == translator.translate(["der hund schläft ."])[0].text
    print(client.post("/v1/attention", json={"source": "der hund", "target": "the dog"}).status_code)
    print(client.post("/v1/alternatives", json={"source": "der hund", "target": "the dog", "position":4}).text[:300])
    print(client.post("/v1/score", json={"source": ["der hund"], "target": ["the dog"]}).text[:300])
    print(client.post("/v1/translate", json={"text": "der hund. Die katze!", "stream": True}).text[:300])
    print(client.post("/translate", data={"q": "der hund.", "source":"de", "target":"en"}).text[:300])
    print(client.post("/translate", json={"q": ["der hund."], "source":"auto", "target":"en", "alternatives": 2}).text[:300])
    print(client.post("/detect", json={"q": "der hund ist nicht da."}).text[:300])
    print(client.get("/languages").text, client.get("/frontend/settings").text, client.get("/metrics").text[:2000])
    print(client.post("/v1/translate", content=b'{"text": "\\ud800"}', headers={"content-type":"application/json"}).text)
    print(client.post("/v1/translate", content=b'['*100000, headers={"content-type":"application/json"}).text)
