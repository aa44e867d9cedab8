import asyncio
import gc
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs fastapi: the extra serve")

from starlette.testclient import TestClient

from dragoman.decoding import Waiter
from dragoman.serving import Limits, Served, make_app
from dragoman.serving.desk import Desk
from dragoman.serving.served import Alternatives, Translate
from dragoman.serving.visitors import Visitors
from dragoman.translator import Translation, Translator
from tests.fixtures import tiny_translator

TEXTS = ["der hund schläft .", "die katze trinkt milch .", "wir gehen .", "ein mann ."]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


def serving(translator: Translator, limits: Limits | None = None, **options: Any) -> TestClient:
    limits = limits or Limits()
    served = Served("tiny", translator, limits, source_language="de", target_languages=["en"])
    return TestClient(make_app([served], limits, **options))


@pytest.fixture(scope="module")
def client(translator: Translator) -> Iterator[TestClient]:
    with serving(translator) as client:
        yield client


def test_texts_are_translated_as_the_translator_does(
    client: TestClient, translator: Translator
) -> None:
    answer = client.post("/v1/translate", json={"text": TEXTS, "beam": 2, "n_best": 2}).json()
    expected = translator.translate(TEXTS, beam=2, n_best=2)
    assert answer["model"] == "tiny"
    for shown, translation in zip(answer["translations"], expected, strict=True):
        assert shown["text"] == translation.text
        assert [h["text"] for h in shown["hypotheses"]] == [h.text for h in translation.hypotheses]
        assert shown["flags"] == list(translation.flags)


def test_a_score_is_what_its_terms_make(client: TestClient) -> None:
    answer = client.post("/v1/translate", json={"text": TEXTS[0], "alpha": 0.9, "n_best": 3})
    for each in answer.json()["translations"][0]["hypotheses"]:
        assert each["log_prob"] == pytest.approx(sum(each["token_log_probs"]))
        assert each["length_penalty"] == pytest.approx(((5 + each["length"]) / 6) ** 0.9)
        assert each["score"] == pytest.approx(each["log_prob"] / each["length_penalty"])


def test_blank_text_is_copied(client: TestClient) -> None:
    (shown,) = client.post("/v1/translate", json={"text": " \t"}).json()["translations"]
    assert (shown["text"], shown["copied"]) == (" \t", True)


def test_a_long_text_comes_sentence_by_sentence_and_loses_nothing(
    client: TestClient, translator: Translator
) -> None:
    text = "  Der Hund schläft.  Wir gehen!\n\nDie Katze trinkt Milch."
    answer = client.post("/v1/translate", json={"text": text, "stream": True, "beam": 1})
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert "".join(line["before"] + line["source"] + line["after"] for line in lines) == text
    assert [line["source"] for line in lines] == [
        "Der Hund schläft.",
        "Wir gehen!",
        "Die Katze trinkt Milch.",
    ]
    for line in lines:
        assert line["text"] == translator.translate([line["source"]], beam=1)[0].text
    asked = {"text": "狗睡觉。猫喝奶。\n人读书。", "stream": True, "beam": 1, "max_length": 5}
    touching = client.post("/v1/translate", json=asked).text.splitlines()
    (found,) = translator.translate([asked["text"]], beam=1, max_length=5, sentences=True)
    parts = [json.loads(line) for line in touching]
    assert len(parts) == 3
    whole = "".join(p["gap"] + p["before"] + p["text"] + p["after"] for p in parts)
    assert whole == found.text


@pytest.mark.parametrize(("asked", "batches"), [({"stream": True}, 3), ({"sentences": True}, 1)])
def test_the_first_sentences_of_a_stream_do_not_wait_for_the_last(
    translator: Translator, asked: dict[str, Any], batches: int
) -> None:
    served = Served("tiny", translator, Limits())
    text = {"text": "Der Hund schläft. " * 20, "beam": 1, "max_length": 3}
    with TestClient(make_app([served])) as client:
        assert client.post("/v1/translate", json={**text, **asked}).status_code == 200
        assert served.queue.stop(20)
    assert served.queue.batches == batches  # of 8, 8 and 4; of a single text


def test_scores_are_those_of_the_translator(client: TestClient, translator: Translator) -> None:
    pairs = {"source": TEXTS[:2], "target": ["the dog .", "milk"]}
    answer = client.post("/v1/score", json=pairs).json()
    expected = translator.score(pairs["source"], pairs["target"])
    assert [each["log_prob"] for each in answer["scores"]] == pytest.approx(
        [each.log_prob for each in expected], abs=1e-4
    )


def test_attention_is_that_of_the_model_and_its_rows_sum_to_one(
    client: TestClient, translator: Translator
) -> None:
    pair = {"source": TEXTS[0], "target": "the dog sleeps ."}
    answer = client.post("/v1/attention", json=pair).json()
    (expected,) = translator.attention([pair["source"]], [pair["target"]])
    for kind in ("encoder", "decoder", "cross"):
        assert answer[kind] == getattr(expected, kind).tolist()
        for row in (r for layer in answer[kind] for head in layer for r in head):
            assert sum(row) == pytest.approx(1, abs=1e-5)
    assert answer["source_pieces"] == list(expected.source_pieces)
    served = client.app.state.desk.models["tiny"]  # type: ignore[attr-defined]  # ours
    weights = sum(getattr(expected, kind).size for kind in ("encoder", "decoder", "cross"))
    pieces = len(expected.source_pieces) - 1, len(expected.target_pieces) - 1
    assert served.attention_weights(*pieces) == weights


def test_a_translation_is_the_same_after_its_attention_was_asked_for(client: TestClient) -> None:
    before = client.post("/v1/translate", json={"text": TEXTS[0]}).json()
    shown = before["translations"][0]["text"]
    client.post("/v1/attention", json={"source": TEXTS[0], "target": shown})
    assert client.post("/v1/translate", json={"text": TEXTS[0]}).json() == before


def test_alternatives_are_those_of_the_translator(
    client: TestClient, translator: Translator
) -> None:
    asked = {"source": TEXTS[0], "target": "the dog sleeps .", "position": 4, "count": 3}
    answer = client.post("/v1/alternatives", json=asked).json()["alternatives"]
    expected = translator.alternatives(TEXTS[0], "the dog sleeps .", 4, 3)
    assert [each["text"] for each in answer] == [each.text for each in expected]


REFUSED: dict[str, tuple[str, Any, int, str]] = {
    "unknown model": ("translate", {"text": "a", "model": "other"}, 404, "choose from tiny"),
    "unknown key": ("translate", {"text": "a", "beams": 4}, 422, "beams"),
    "no text": ("translate", {}, 422, "text"),
    "a number for text": ("translate", {"text": 4}, 422, "text"),
    "more asked than kept": ("translate", {"text": "a", "beam": 2, "n_best": 3}, 422, "n_best"),
    "too wide": ("translate", {"text": "a", "beam": 17}, 422, "beam: 17 is more than 16"),
    "a number": ("translate", {"text": 5}, 422, "text: Input should be a valid string; text: In"),
    "a long text": ("translate", {"text": "a" * 20_001}, 413, "20,001 characters"),
    "many texts": ("translate", {"text": ["a"] * 201}, 413, "201 texts"),
    "much attention": ("attention", {"source": "a" * 3000, "target": "b"}, 413, "3,001"),
    "a stream of several": ("translate", {"text": ["a", "b"], "stream": True}, 422, "one text"),
    "uneven pairs": ("score", {"source": ["a"], "target": []}, 422, "1 sources, 0 targets"),
    "a language": ("translate", {"text": "a b", "target_language": "fr"}, 422, "target_language"),
    "infinite": ("translate", '{"text": "a", "alpha": Infinity}', 422, "alpha"),
    "not a number": ("translate", '{"text": "a", "alpha": NaN}', 422, "alpha"),
    "half a pair": ("translate", '{"text": "\\ud800"}', 422, "surrogate"),
    "a deep body": ("translate", "[" * 100_000, 400, "body"),
    "no JSON": ("translate", "text=a", 422, "body: not JSON, at character 0: Expecting value"),
    "JSON cut off": ("translate", '{"text": "a"', 422, "body: not JSON, at character 12"),
    "not UTF-8": ("translate", b'{"text": "\xff"}', 400, "body"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_is_refused_with_a_reason(name: str, client: TestClient) -> None:
    route, body, status, reason = REFUSED[name]
    sent = json.dumps(body) if isinstance(body, dict) else body
    headers = {"content-type": "application/json"}
    answer = client.post(f"/v1/{route}", content=sent, headers=headers)
    assert answer.status_code == status, answer.text
    assert reason in answer.json()["error"]
    assert client.post("/v1/translate", json={"text": TEXTS[0]}).status_code == 200


@pytest.mark.parametrize(
    ("kind", "blamed"),
    [
        ("application/json; charset=utf-8", False),
        ("application/hal+json", False),  # is read as JSON, so the fault is what stands there
        ("application/xml", True),
        ("text/plain", True),
    ],
)
def test_a_content_type_is_blamed_where_it_is_not_json(
    kind: str, blamed: bool, client: TestClient
) -> None:
    answer = client.post("/v1/translate", content="[]", headers={"content-type": kind})
    assert answer.status_code == 422
    assert ("is not application/json" in answer.json()["error"]) == blamed


def test_a_body_that_is_too_large_is_refused(translator: Translator) -> None:
    with serving(translator, Limits(body_bytes=1000)) as client:
        answer = client.post("/v1/translate", json={"text": "a" * 1000})
        assert answer.status_code == 413
        assert "1,000 bytes" in answer.json()["error"]


def test_a_key_is_asked_for_where_there_are_keys(translator: Translator) -> None:
    with serving(translator, keys=["one", "zwei"]) as client:
        asked = {"text": TEXTS[0]}
        missing = client.post("/v1/translate", json=asked)
        assert missing.status_code == 401
        assert missing.json()["error"].endswith("send Authorization: Bearer KEY")
        wrong = client.post("/v1/translate", json=asked, headers={"authorization": "Bearer three"})
        assert (wrong.status_code, wrong.json()["error"]) == (403, "this key is not known here")
        right = {"authorization": "Bearer zwei"}
        assert client.post("/v1/translate", json=asked, headers=right).status_code == 200
        form = {"q": TEXTS[0], "source": "de", "target": "en"}
        missing = client.post("/translate", json=form)
        assert (missing.status_code, missing.json()["error"][-12:]) == (401, "send api_key")
        assert client.post("/translate", json={**form, "api_key": "one"}).status_code == 200


def test_who_asks_too_often_is_told_how_long_to_wait(translator: Translator) -> None:
    with serving(translator, Limits(requests_per_minute=2)) as client:
        statuses = [client.post("/v1/translate", json={"text": "a"}).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        answer = client.post("/v1/translate", json={"text": "a"})
        assert 1 <= int(answer.headers["retry-after"]) <= 30


class Slow:
    """A translator that waits until it is let through."""

    def __init__(self, translator: Translator) -> None:
        self.bundle, self.languages = translator.bundle, translator.languages
        self._translator, self.engine = translator, translator.engine
        self.open, self.began = threading.Event(), threading.Event()
        self.seen: list[str] = []

    def translate(self, texts: list[str], **options: Any) -> Any:
        self.began.set()
        assert self.open.wait(20)
        self.seen += texts
        return self._translator.translate(texts, **options)


def test_what_is_not_done_in_time_is_given_up_and_left_undone(translator: Translator) -> None:
    slow: Any = Slow(translator)
    with serving(slow, Limits(seconds=0.2)) as client:
        answers = [client.post("/v1/translate", json={"text": text}) for text in TEXTS[:2]]
        assert [answer.status_code for answer in answers] == [503, 503]
        assert "0.2 s" in answers[0].json()["error"]
        slow.open.set()
        queue = client.app.state.desk.models["tiny"].queue  # type: ignore[attr-defined]  # ours
        assert queue.stop(20)
    assert slow.seen == TEXTS[:1]  # the second had not begun


def test_who_leaves_before_the_answer_is_not_complained_of(translator: Translator) -> None:
    slow: Any = Slow(translator)
    served = Served("tiny", slow, Limits())
    desk, said = Desk([served], Limits(), Visitors((), None)), list[Any]()

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
        asking = asyncio.ensure_future(desk.ask(served, Translate(), TEXTS))
        await asyncio.sleep(0.05)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        del asking
        gc.collect()
        await asyncio.sleep(0)

    asyncio.run(leave())
    slow.open.set()
    assert served.queue.stop(20)
    assert said == []


class Noting:
    """A translator that notes what it has found."""

    def __init__(self, translator: Translator) -> None:
        self._translator, self.began = translator, threading.Event()
        self.found: list[Translation] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._translator, name)

    def translate(self, texts: list[str], **options: Any) -> list[Translation]:
        waiter: Waiter[Translation] = options.pop("waiter")

        def wants(place: int) -> bool:
            self.began.set()
            return waiter.wants(place)

        told = Waiter(wants, waiter.take)
        self.found += self._translator.translate(texts, **options, waiter=told)
        return self.found


def test_a_search_is_broken_off_once_nobody_waits_for_it(translator: Translator) -> None:
    noting: Any = Noting(translator)
    served = Served("tiny", noting, Limits())
    (endless,) = served.submit(Translate(max_length=10_000), TEXTS[:1])
    assert noting.began.wait(20)
    assert endless.cancel()
    assert served.queue.stop(20)
    assert [each.error for each in noting.found] == ["broken off, as nobody waited for it any more"]


def test_the_search_for_alternatives_learns_that_nobody_waits_any_more(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, gone, told = threading.Event(), threading.Event(), list[bool]()

    def alternatives(*_: Any, wanted: Callable[[], bool], **__: Any) -> list[Any]:
        told.append(wanted())
        began.set()
        assert gone.wait(20)
        told.append(wanted())
        return []

    monkeypatch.setattr(translator, "alternatives", alternatives)
    served = Served("tiny", translator, Limits())
    (asked,) = served.submit(Alternatives(0, 20), [(TEXTS[0], "the dog")])
    assert began.wait(20)
    assert asked.cancel()
    gone.set()
    assert served.queue.stop(20)
    assert told == [True, False]


def test_what_finds_no_room_is_refused_at_once(translator: Translator) -> None:
    slow: Any = Slow(translator)
    with serving(slow, Limits(seconds=0.2, waiting_characters=30)) as client:
        client.post("/v1/translate", json={"text": TEXTS[0]})
        answer = client.post("/v1/translate", json={"text": TEXTS[1]})
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "1"
        slow.open.set()


def test_figures_count_answers_and_hold_no_text(client: TestClient) -> None:
    client.post("/v1/translate", json={"text": "geheimes Wort"})
    client.get("/nowhere")
    text = client.get("/metrics").text
    assert 'dragoman_requests_total{route="/v1/translate",status="200"}' in text
    assert 'dragoman_requests_total{route="other",status="404"}' in text
    assert "geheim" not in text


def test_health_is_told(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/ready").status_code == 200


def test_a_server_that_stops_is_not_ready(translator: Translator) -> None:
    with serving(translator) as client:
        client.app.state.desk.stopping = True  # type: ignore[attr-defined]  # ours
        assert client.get("/ready").status_code == 503
        assert client.get("/health").json() == {"status": "stopping"}
