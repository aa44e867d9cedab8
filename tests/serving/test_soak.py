"""Memory stays flat (field report 28): over requests, lengths, texts, and clients that go away."""

import gc
import json
import random
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("uvicorn", reason="needs uvicorn: the extra serve")

from starlette.testclient import TestClient

from dragoman.decoding.fused.room import MOST_VIEWS, Room
from dragoman.nn import SinusoidalPositions
from dragoman.serving import Limits, Served, make_app
from tests.fixtures import encoder_decoder, tiny_translator
from tests.serving.raw import Reply, Running, needs_proc, request, running

REQUESTS, WARM, THREADS = 2_000, 1_000, 8
# 1,000 requests come after the warm-up, so that 6 KB which each leaves behind would be seen. What
# is taken besides goes up and down by some 2 MB.
MOST_GROWTH = 6 << 20  # bytes


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("soak"), requests_per_minute=10**9) as server:
        yield server


def asked(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """Make a request of a random kind and length, of words that are hardly ever the same."""

    def text(most: int) -> str:
        words = ("".join(rng.choices("abcdefghij", k=5)) for _ in range(most))
        return " ".join(words)[: rng.randint(1, 6 * most)]

    match rng.randrange(8):
        case 0:
            return "/v1/score", {"source": [text(50)], "target": [text(50)]}
        case 1:
            return "/v1/attention", {"source": text(15), "target": text(15)}
        case 2:
            return "/translate", {"q": text(8), "source": "auto", "target": "en"}
        case 3:
            texts = [text(10) for _ in range(rng.randint(1, 8))]
            return "/v1/translate", {"text": texts, "beam": 1, "max_length": 5}
        case _:
            most, beam = rng.randint(1, 12), rng.randint(1, 3)
            return "/v1/translate", {"text": text(60), "beam": beam, "max_length": most}


@needs_proc
def test_memory_is_flat_over_requests_of_any_length_and_clients_that_go_away(
    server: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(28)
    todo = [asked(rng) for _ in range(REQUESTS)]

    def one(number: int) -> int:
        path, body = todo[number]
        if number % 10 == 9:  # this one goes away, some before it has sent all
            data = request(path, json.dumps(body).encode())
            with server.connect() as connection:
                connection.sendall(data[: len(data) - number % 3])
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            return 0
        return server.post(path, body).status

    taken: list[int] = []
    with ThreadPoolExecutor(THREADS) as pool:
        for begin in range(0, REQUESTS, 200):
            statuses = Counter(pool.map(one, range(begin, begin + 200)))
            assert statuses == {200: 180, 0: 20}, statuses
            taken.append(server.resident())
    with capsys.disabled():
        line = f"\nmegabytes after each 200 requests: {[each >> 20 for each in taken]}"
        print(line)  # noqa: T201  # the figures are wanted
    assert taken[-1] - taken[WARM // 200 - 1] < MOST_GROWTH
    until = time.monotonic() + 20
    while server.waiting():  # of those who went away, what had begun is finished
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_request_leaves_no_object_behind() -> None:
    translator = tiny_translator()
    served = Served("t", translator, Limits(), source_language="de", target_languages=["en"])
    rng = random.Random(29)
    limits = Limits(requests_per_minute=10**9)
    with TestClient(make_app([served], limits)) as client:
        counts: list[int] = []
        for _ in range(3):
            for _ in range(100):
                path, body = asked(rng)
                assert client.post(path, json=body).status_code == 200
            gc.collect()
            counts.append(len(gc.get_objects()))
        assert counts[2] - counts[1] < 50, counts  # not one for each request
        # The longest text decides, and not how many lengths there were.
        assert {each.table.size(0) for each in _positions(translator)} <= {256, 512}


def _positions(translator: Any) -> set[SinusoidalPositions]:
    model = encoder_decoder(translator.bundle)
    return {each for each in model.modules() if isinstance(each, SinusoidalPositions)}


def test_buffers_of_the_fused_engine_are_as_many_as_the_largest_batch_needs() -> None:
    room = Room()
    for width in range(1, MOST_VIEWS + 100):
        room.get("a", 1 + width % 7, width, torch.float32)
    (held,) = room._held.values()  # pyright: ignore[reportPrivateUsage]  # nothing else tells
    assert held.numel() <= 7 * (MOST_VIEWS + 100)
    assert len(room._views) <= MOST_VIEWS + 1  # pyright: ignore[reportPrivateUsage]  # nothing else tells


def test_more_than_can_be_done_is_refused_at_once_and_the_rest_is_done(tmp_path: Path) -> None:
    body = {"text": "der hund schläft . " * 10, "beam": 2, "max_length": 30}
    with running(tmp_path, waiting_characters=600, requests=12) as server:  # 3 such may wait
        with ThreadPoolExecutor(40) as pool:
            replies = list(pool.map(lambda _: server.post("/v1/translate", body), range(80)))
        statuses = Counter(reply.status for reply in replies)
        assert statuses[200] >= 1
        assert statuses[429] + statuses[503] >= 1
        assert statuses.total() == statuses[200] + statuses[429] + statuses[503], statuses
        assert all(r.error and int(r.headers["retry-after"]) for r in replies if r.status != 200)
        done = {_text(reply) for reply in replies if reply.status == 200}
        assert done == {_text(server.post("/v1/translate", body))}


def _text(reply: Reply) -> str:
    return json.loads(reply.body)["translations"][0]["text"]
