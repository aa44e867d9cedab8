import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs fastapi: the extra serve")

from dragoman.serving import Limits, Served, make_app
from dragoman.serving.guard import Guard
from tests.fixtures import tiny_translator

Message = dict[str, Any]


def scope(**headers: str) -> Message:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {
        "type": "http",
        "method": "POST",
        "path": "/v1/translate",
        "raw_path": b"/v1/translate",
        "query_string": b"",
        "headers": [(b"host", b"a"), (b"content-type", b"application/json"), *pairs],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "scheme": "http",
        "http_version": "1.1",
    }


def part(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def ask(
    app: Any,
    messages: Iterable[Message],
    then: Callable[[], Awaitable[Message]] | None = None,
    **headers: str,
) -> list[Message]:
    """Send messages to an application; then what ``then`` gives, or nothing for ever."""
    sent: list[Message] = []

    async def run() -> None:
        coming = iter(messages)

        async def receive() -> Message:
            for message in coming:
                return message
            if then is not None:
                return await then()
            await asyncio.sleep(60)
            raise AssertionError("waited for more")

        async def send(message: Any) -> None:
            sent.append(message)

        await app(scope(**headers), receive, send)

    asyncio.run(run())
    return sent


def guarded(**limits: Any) -> tuple[Guard, list[tuple[str, int]]]:
    observed: list[tuple[str, int]] = []
    guard = Guard(echo, Limits(**limits), lambda route, status, _: observed.append((route, status)))
    return guard, observed


def test_a_body_in_parts_arrives_whole() -> None:
    guard, observed = guarded()
    sent = ask(guard, [part(b"a", more=True), part(b"b", more=True), part(b"c")])
    assert sent[1]["body"] == b"abc"
    assert observed == [("other", 200)]


def test_an_endless_body_is_refused_as_soon_as_it_is_too_large() -> None:
    guard, observed = guarded(body_bytes=1000)
    taken = 0

    def endless() -> Iterable[Message]:
        nonlocal taken
        while True:
            taken += 1
            yield part(b"a" * 100, more=True)

    sent = ask(guard, endless())
    assert sent[0]["status"] == 413
    assert "1,000 bytes" in json.loads(sent[1]["body"])["error"]
    assert taken == 11
    assert observed == [("other", 413)]


def test_a_stated_length_that_is_too_large_is_refused_unread() -> None:
    guard, _ = guarded(body_bytes=1000)
    sent = ask(guard, [], content_length="1001")
    assert sent[0]["status"] == 413
    assert json.loads(sent[1]["body"])["error"].startswith("the request has 1,001 bytes")


HEADS: dict[str, tuple[dict[str, str], int, str]] = {
    "compressed": ({"content_encoding": "gzip"}, 415, "content-encoding"),
    "two ends": ({"content_length": "3", "transfer_encoding": "chunked"}, 400, "exclude"),
    "two hosts": ({"host": "b"}, 400, "not 2 times"),
    "large": ({"x": "a" * 64_000}, 431, "64,000"),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_is_wrong_is_refused(name: str) -> None:
    headers, status, reason = HEADS[name]
    sent = ask(guarded()[0], [part(b"a")], None, **headers)
    assert sent[0]["status"] == status
    assert reason in json.loads(sent[1]["body"])["error"]


def test_what_is_asked_in_the_address_reaches_no_log() -> None:
    asked = {**scope(), "query_string": b"q=geheim"}

    async def run() -> None:
        coming = iter([part(b"a")])

        async def receive() -> Message:
            return next(coming, {"type": "http.disconnect"})

        async def send(_: Any) -> None:
            pass

        await guarded()[0](asked, receive, send)

    asyncio.run(run())
    assert asked["query_string"] == b""  # uvicorn writes its line from this


@pytest.mark.parametrize("body", ["ü".encode("latin-1"), b"a\0b", "{}".encode("utf-16-le")])
def test_a_body_that_is_no_text_in_utf_8_is_refused(body: bytes) -> None:
    sent = ask(guarded()[0], [part(body)])
    assert sent[0]["status"] == 400
    assert "byte" in json.loads(sent[1]["body"])["error"]


def test_more_requests_than_may_be_at_once_are_refused_and_counted_down_again() -> None:
    guard, _ = guarded(requests=2)
    guard.requests = 2  # two more are being answered
    sent = ask(guard, [part(b"a")])
    assert sent[0]["status"] == 503
    assert (b"retry-after", b"1") in sent[0]["headers"]
    assert guard.requests == 2
    guard.requests = 1
    assert ask(guard, [part(b"a")])[0]["status"] == 200


def test_a_large_answer_is_sent_in_parts_and_refused_where_many_are_unread() -> None:
    guard, observed = guarded(unsent_bytes=300_000)
    body = b"a" * 200_000
    sent = ask(guard, [part(body)])
    assert [len(message.get("body", b"")) for message in sent] == [0, 65_536, 65_536, 65_536, 3392]
    assert [message.get("more_body") for message in sent[1:]] == [True, True, True, None]
    assert b"".join(message["body"] for message in sent[1:]) == body
    assert guard.unsent.bytes == 0
    guard.unsent.bytes = 100_001  # of another answer
    sent = ask(guard, [part(body)])
    assert sent[0]["status"] == 503
    assert "too much is being sent" in json.loads(sent[1]["body"])["error"]
    assert ask(guard, [part(b"a")])[0]["status"] == 200  # a small one finds its way
    assert observed == [("other", 200), ("other", 503), ("other", 200)]


def test_a_body_that_comes_too_slowly_is_refused() -> None:
    guard, _ = guarded(body_seconds=0.05)
    sent = ask(guard, [part(b"a", more=True)])
    assert sent[0]["status"] == 408
    assert "0.05 s" in json.loads(sent[1]["body"])["error"]


def test_a_client_that_goes_while_it_sends_gets_nothing() -> None:
    guard, observed = guarded()
    sent = ask(guard, [part(b"a", more=True), {"type": "http.disconnect"}])
    assert sent == []
    assert observed == [("other", 499)]


def test_what_a_client_no_longer_waits_for_is_left_undone() -> None:
    translator = tiny_translator()
    opened, began, seen = threading.Event(), threading.Event(), list[str]()

    class Slow:
        bundle, languages = translator.bundle, translator.languages
        engine = translator.engine

        def translate(self, texts: list[str], **options: Any) -> Any:
            began.set()
            assert opened.wait(20)
            seen.extend(texts)
            return translator.translate(texts, **options)

    slow: Any = Slow()
    served = Served("tiny", slow, Limits())
    served.queue.at_once = 1
    body = json.dumps({"text": ["der hund", "wir gehen"]}).encode()

    async def leave() -> Message:
        await asyncio.to_thread(began.wait, 20)
        return {"type": "http.disconnect"}

    sent = ask(make_app([served]), [part(body)], leave)
    opened.set()
    assert served.queue.stop(20)
    assert sent == []
    assert seen == ["der hund"]  # the other had not begun


def test_who_is_cancelled_from_outside_stays_so() -> None:
    seen = list[str]()

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            seen.append("broken off")

    messages = iter([part(b"")])

    async def receive() -> Message:
        for message in messages:
            return message
        await asyncio.sleep(60)
        raise AssertionError("waited for more")

    async def send(_: Any) -> None:
        pass

    async def run() -> None:
        guard = Guard(endless, Limits(), lambda *_: None)
        asking = asyncio.ensure_future(guard(scope(), receive, send))
        await asyncio.sleep(0.05)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(run())
    assert seen == ["broken off"]
