"""What users of other servers met (field report 27): what is too large is refused with a reason."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs fastapi: the extra serve")

from starlette.testclient import TestClient

from dragoman.serving import Limits, Served, make_app
from dragoman.translator import Translator
from tests.fixtures import tiny_translator
from tests.serving.raw import PATIENCE, Running, needs_proc, running

TEXT = "der hund schläft ."
QUICK = {"beam": 1, "max_length": 8}
JSON = {"content-type": "application/json"}
MEGABYTE = 1 << 20


class Counting:
    """A translator that counts how often it is asked for anything, and keeps what it was asked."""

    def __init__(self, translator: Translator) -> None:
        self.bundle, self.languages = translator.bundle, translator.languages
        self.engine, self.special = translator.engine, translator.special
        self._translator = translator
        self.asked: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        def ask(*given: Any, **options: Any) -> Any:
            self.asked.append(given)
            return getattr(self._translator, name)(*given, **options)

        return ask


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


@pytest.fixture(scope="module")
def counted(translator: Translator) -> Iterator[tuple[TestClient, Counting]]:
    model: Any = Counting(translator)
    limits = Limits()
    served = Served("tiny", model, limits, source_language="de", target_languages=["en"])
    with TestClient(make_app([served], limits)) as client:
        yield client, model


LIBRE = {"source": "de", "target": "en"}
LONG = "a" * 20_001
TOO_LARGE: dict[str, tuple[str, Any, tuple[str, str]]] = {
    "a character too many": ("/v1/translate", {"text": LONG}, ("20,001", "20,000")),
    "of several": ("/v1/translate", {"text": ["a", LONG]}, ("20,001", "20,000")),
    "in their shape": ("/translate", {"q": LONG, **LIBRE}, ("20,001", "20,000")),
    "to detect": ("/detect", {"q": LONG}, ("20,001", "20,000")),
    "tiny items": ("/v1/translate", {"text": ["a"] * 10_000}, ("10,000", "200")),
    "tiny items in their shape": ("/translate", {"q": ["a"] * 10_000, **LIBRE}, ("10,000", "200")),
    "pairs": ("/v1/score", {"source": ["a"] * 5000, "target": ["b"] * 5000}, ("10,000", "200")),
    "a pair to score": (
        "/v1/score",
        {"source": ["a" * 1000], "target": ["b" * 1001]},
        ("2,001", "2,000"),
    ),
    "a pair to go on from": (
        "/v1/alternatives",
        {"source": "a" * 2000, "target": "b", "position": 0},
        ("2,001", "2,000"),
    ),
    # 1 layer, 2 heads: 2 (s^2 + t^2 + s t); s and t are 600 letters, a space, and the end or start
    "attention": (
        "/v1/attention",
        {"source": "q" * 600, "target": "q" * 600},
        ("2,174,424", "2,000,000"),
    ),
    "more than ever waits": (
        "/v1/translate",
        {"text": ["a" * 5000] * 110},
        ("550,110", "500,000"),
    ),
    "a body": ("/v1/translate", "a" * 1_000_001, ("1,000,001 bytes", "1,000,000 bytes")),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_is_too_large_is_refused_with_limit_and_size_before_the_model_runs(
    name: str, counted: tuple[TestClient, Counting]
) -> None:
    client, model = counted
    path, asked, figures = TOO_LARGE[name]
    before = len(model.asked)
    body = asked if isinstance(asked, str) else json.dumps(asked)
    answer = client.post(path, content=body, headers=JSON)
    assert answer.status_code == 413, answer.text
    assert all(figure in answer.json()["error"] for figure in figures), answer.text
    assert len(model.asked) == before
    assert client.post("/v1/translate", json={"text": TEXT, **QUICK}).status_code == 200
    assert len(model.asked) == before + 1


def test_a_text_at_the_limit_is_translated_whole(counted: tuple[TestClient, Counting]) -> None:
    client, model = counted
    text = f"{'wir gehen . ' * 1666}wir gehe"
    assert len(text) == 20_000
    answer = client.post("/v1/translate", json={"text": text, "beam": 1, "max_length": 1})
    assert answer.status_code == 200
    assert model.asked[-1] == ([text],)


FORM = {"content-type": "application/x-www-form-urlencoded"}
WRONG: dict[str, tuple[bytes, dict[str, str]]] = {
    "a number": (b'{"FIELD": 5, REST}', JSON),
    "null": (b'{"FIELD": null, REST}', JSON),
    "a nested list": (b'{"FIELD": [["a"]], REST}', JSON),
    "a list of null": (b'{"FIELD": ["a", null], REST}', JSON),
    "an object": (b'{"FIELD": {"a": "b"}, REST}', JSON),
    "not UTF-8": (b'{"FIELD": "\xff", REST}', JSON),
    "an overlong slash": (b'{"FIELD": "\xc0\xaf", REST}', JSON),
    "a surrogate in bytes": (b'{"FIELD": "\xed\xa0\xbd", REST}', JSON),
    "half of a surrogate pair": (b'{"FIELD": "\\ud83d", REST}', JSON),
    "half of one in a list": (b'{"FIELD": ["a", "\\ud83d"], REST}', JSON),
    "plain text": (b'{"FIELD": "a", REST}', {"content-type": "text/plain"}),
    "an upload": (b'{"FIELD": "a", REST}', {"content-type": "multipart/form-data; boundary=x"}),
    "JSON as a form": (b'{"FIELD": "a", REST}', FORM),
    "a form in Latin-1": (b"FIELD=%FC&source=de&target=en", FORM),
    "a form as JSON": (b"FIELD=a&source=de&target=en", JSON),
}


@pytest.mark.parametrize("path", ["/v1/translate", "/translate", "/detect"])
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_in_json_before_the_model_runs(
    name: str, path: str, counted: tuple[TestClient, Counting]
) -> None:
    client, model = counted
    body, headers = WRONG[name]
    body = body.replace(b"FIELD", b"text" if path.startswith("/v1") else b"q")
    rest = b'"beam": 1' if path.startswith("/v1") else b'"source": "de", "target": "en"'
    before = len(model.asked)
    answer = client.post(path, content=body.replace(b"REST", rest), headers=headers)
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["error"]
    assert len(model.asked) == before
    assert client.post("/v1/translate", json={"text": TEXT, **QUICK}).status_code == 200


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("reports")) as server:
        yield server


HEAD = "POST {} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{}\r\n"
FIFTY = 50 * MEGABYTE
LENGTH = f"Content-Length: {FIFTY}\r\n"
HUGE = {
    "stated": HEAD.format("/v1/translate", LENGTH),
    "in chunks": HEAD.format("/v1/translate", "Transfer-Encoding: chunked\r\n"),
    "to nowhere": HEAD.format("/nowhere", LENGTH),
    "asking first": HEAD.format("/translate", f"{LENGTH}Expect: 100-continue\r\n"),
}


def fifty_megabytes(name: str) -> bytes:
    body = b'{"text": "'.ljust(FIFTY, b"a")
    if name == "in chunks":
        return b"%x\r\n%s\r\n" % (MEGABYTE, body[:MEGABYTE]) * 50 + b"0\r\n\r\n"
    return b"" if name == "asking first" else body


@needs_proc
@pytest.mark.parametrize("name", HUGE)
def test_fifty_megabytes_are_refused_without_being_kept(name: str, server: Running) -> None:
    assert server.post("/v1/translate", {"text": TEXT, **QUICK}).status == 200
    server.forget_most()
    before = server.resident()
    reply = server.ask(HUGE[name].encode() + fifty_megabytes(name))
    assert reply is not None
    assert (reply.status, "1,000,000 bytes" in reply.error) == (413, True)
    assert name == "in chunks" or f"{FIFTY:,} bytes" in reply.error
    assert server.resident("VmHWM") - before < 8 * MEGABYTE
    assert server.post("/v1/translate", {"text": TEXT, **QUICK}).status == 200


def test_an_ordinary_client_that_sends_fifty_megabytes_reads_why_not(server: Running) -> None:
    address = f"http://127.0.0.1:{server.port}/translate"
    asked = urllib.request.Request(address, fifty_megabytes("stated"), JSON)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, timeout=PATIENCE)
    assert refused.value.code == 413
    assert "1,000,000 bytes" in json.load(refused.value)["error"]
