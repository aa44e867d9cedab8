"""Clients that break every rule get 4xx or nothing, and whoever comes after them is served."""

import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn: the extra serve")

from tests.fixtures import tiny_translator
from tests.serving import hostile
from tests.serving.raw import Reply, Running, replies, request, running

TEXT = "der hund schläft ."
LATE = 1.0  # seconds that a request may take to arrive
ASKED = {"text": TEXT, "beam": 2, "max_length": 9}
BODY = json.dumps(ASKED).encode()
GOOD = request("/v1/translate", BODY)
HEAD = b"POST /v1/translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"

sent: Counter[str] = Counter()  # requests that were malformed, by group


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("hostile"), body_seconds=LATE, connections=100) as server:
        yield server


@pytest.fixture(scope="module")
def right() -> str:
    return tiny_translator().translate([TEXT], beam=2, max_length=9)[0].text


@pytest.fixture(autouse=True)
def answers_afterwards(server: Running, right: str) -> Iterator[None]:
    """After each group the next good request is answered rightly, and nothing is left behind."""
    yield
    reply = server.post("/v1/translate", ASKED)
    assert reply.status == 200, reply
    assert json.loads(reply.body)["translations"][0]["text"] == right
    assert server.process.poll() is None
    assert "Traceback" not in server.log()


def is_refusal(reply: Reply | None, sent: bytes = b"") -> bool:
    """Whether an answer is a refusal with a reason, or there is none since it was no HTTP."""
    if reply is None or (sent.startswith(b"HEAD ") and not reply.body):
        return reply is None or 400 <= reply.status < 500
    return 400 <= reply.status < 500 and bool(reply.error)


GROUPS: dict[str, Callable[[], Iterable[bytes]]] = {
    "fields": hostile.fields,
    "bodies": hostile.bodies,
    "kinds": hostile.kinds,
    "paths": hostile.paths,
    "heads": hostile.heads,
    "strangers": lambda: hostile.strangers(random.Random(8)),
}


@pytest.mark.parametrize("group", GROUPS)
def test_a_malformed_request_is_refused_with_a_reason(group: str, server: Running) -> None:
    for each in GROUPS[group]():
        reply = server.ask(each)
        assert is_refusal(reply, each), (each[:300], each[-300:], reply)
        assert reply is not None or group in ("heads", "strangers"), each[:300]
        sent[group] += 1


def test_a_good_request_with_a_byte_changed_never_fails(server: Running) -> None:
    rng = random.Random(28)
    for _ in range(150):
        place = rng.randrange(len(GOOD))
        reply = server.ask(GOOD[:place] + rng.randbytes(1) + GOOD[place + 1 :] + b"\r\n\r\n")
        assert reply is None or reply.status == 200 or is_refusal(reply), (place, reply)


SLOW = {
    "nothing": [],
    "half a line": [b"POST /v1/tra"],
    "a head that never ends": [HEAD],
    "a head by the byte": [b"POST / HTTP/1.1\r\n", *[b"A"] * 400],
    "a header for ever": [HEAD, *[b"X: y\r\n"] * 400],
    "blank lines": [b"\r\n"] * 400,
    "no body": [HEAD + b"Content-Length: 90\r\n\r\n"],
    "half a body": [GOOD[:-9]],
    "a body by the byte": [HEAD + b"Content-Length: 900\r\n\r\n", *[b" "] * 400],
    "a chunk for ever": [HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[b"1\r\n \r\n"] * 400],
    "a size that is a lie": [HEAD + b"Content-Length: 9999\r\n\r\n" + BODY],
    "a second request that stays half": [GOOD, HEAD],
    "both at once": [GOOD + HEAD],
    "expecting": [HEAD + b"Expect: 100-continue\r\nContent-Length: 90\r\n\r\n"],
}


def test_who_sends_too_slowly_is_cut_off(server: Running) -> None:
    def ask(name: str) -> tuple[list[Reply], float]:
        began = time.monotonic()
        with server.connect() as connection:
            trickle = threading.Thread(target=_trickle, args=(connection, SLOW[name]))
            trickle.start()
            found = list(replies(connection))
            took = time.monotonic() - began
            trickle.join()
        return found, took

    with ThreadPoolExecutor(len(SLOW)) as pool:
        for name, (found, took) in zip(SLOW, pool.map(ask, SLOW), strict=True):
            assert took < LATE + 8, name  # and not the 20 s that some of them would go on for
            if len(SLOW[name]) < 3:  # who still sends when it is cut off may miss the reason
                assert [reply.status for reply in found][-1:] == ([408] if SLOW[name] else []), name
            assert all(reply.status == 200 or is_refusal(reply) for reply in found), name
            sent["slow"] += 1


def _trickle(connection: socket.socket, parts: Iterable[bytes]) -> None:
    try:
        for part in parts:
            connection.sendall(part)
            time.sleep(0.05)
    except OSError:
        pass  # cut off


def test_who_goes_away_at_any_moment_leaves_nothing_behind(server: Running) -> None:
    streamed = request("/v1/translate", json.dumps({**ASKED, "stream": True}).encode())
    texts = {**ASKED, "text": f"{TEXT} " * 300, "max_length": 30, "stream": True}
    long = request("/v1/translate", json.dumps(texts).encode())
    rng = random.Random(27)
    moments = [rng.randrange(len(GOOD)) for _ in range(40)] + [0, 1, len(GOOD) - 1, len(GOOD)]
    for end, reset in [(end, reset) for end in moments for reset in (False, True)]:
        with server.connect() as connection:
            connection.sendall(GOOD[:end])
            _go(connection, reset=reset)
        sent["gone"] += 1
    for data in (streamed, long, long):  # half-way through an answer
        with server.connect() as connection:
            connection.sendall(data)
            assert connection.recv(99).startswith(b"HTTP/1.1 200")
            _go(connection, reset=True)
        sent["gone"] += 1
    _until(lambda: server.waiting() == 0, "what nobody waits for is left undone")


def _go(connection: socket.socket, *, reset: bool) -> None:
    """Close a connection, or break it off."""
    if reset:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def _until(is_so: Callable[[], bool], what: str, seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def test_what_follows_a_request_on_its_connection_is_judged_for_itself(server: Running) -> None:
    bad = request("/v1/translate", b"{")
    short = HEAD + b"Content-Length: %d\r\n\r\n" % (len(BODY) - 5) + BODY  # stated too small
    for data, statuses in (
        (GOOD + GOOD, [200, 200]),
        (bad + GOOD, [422, 200]),
        (GOOD + b"\x16\x03\x01garbage\r\n\r\n", [200]),
        (GOOD + bad + b"nonsense\r\n\r\n", [200, 422]),
        (short + b"\r\n\r\n", [422]),
        (bad * 7 + b"\0\r\n\r\n", [422] * 7),
        (bad * 5000, [422] * 9),  # and no more are kept in memory
    ):
        with server.connect() as connection:
            with suppress(ConnectionError):
                connection.sendall(data)
            found = replies(connection)
            assert [next(found).status for _ in statuses] == statuses, data[:99]
            if data not in (GOOD + GOOD, bad + GOOD):
                assert next(found, None) is None  # it is closed
        sent["pipelined"] += len([status for status in statuses if status != 200])


def test_who_does_not_read_the_answer_is_cut_off(server: Running) -> None:
    pair = {
        "source": "x " * 200,
        "target": "y " * 200,
    }  # more megabytes of attention than wait on the way
    asked = request("/v1/attention", json.dumps(pair).encode())
    with server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        connection.sendall(asked)
        time.sleep(LATE + 2)
        (reply,) = replies(connection)
        assert len(reply.body) < int(reply.headers["content-length"])
    whole = server.ask(asked)
    assert whole is not None
    assert len(whole.body) == int(whole.headers["content-length"]) > 1_000_000


def test_more_connections_than_may_be_are_closed_and_make_room_again(server: Running) -> None:
    opened = [server.connect() for _ in range(130)]
    try:
        _until(lambda: sum(_closed(each) for each in opened) > 20, "the last are closed")
    finally:
        for each in opened:
            each.close()
    _until(lambda: server.ask(GOOD) is not None, "there is room again")


def _closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_there_were_more_than_five_hundred_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    if set(GROUPS) - set(sent):
        pytest.skip("counts what the other tests sent, and not all of them ran")
    with capsys.disabled():
        line = f"\nmalformed requests: {sent.total():,}: {dict(sent)}"
        print(line)  # noqa: T201  # the count is wanted
    assert sent.total() >= 500
