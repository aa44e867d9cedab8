import asyncio
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn: the extra serve")

from dragoman.serving.connection import Together


class Transport:
    def __init__(self) -> None:
        self.seen, self.closing = list[Any](), False

    def write(self, data: bytes) -> None:
        self.seen.append(data)

    def is_closing(self) -> bool:
        return self.closing


def written(act: Callable[[Together, Transport], None]) -> list[Any]:
    """Give what reaches a transport of what is done with it in one turn of the loop."""
    below: Any = Transport()

    async def run() -> None:
        act(Together(below, lambda: below.seen.append("closed")), below)
        await asyncio.sleep(0)

    asyncio.run(run())
    return below.seen


def test_what_is_written_in_one_turn_is_sent_together() -> None:
    def act(transport: Together, below: Transport) -> None:
        transport.write(b"head ")
        transport.write(b"body")
        assert below.seen == []

    assert written(act) == [b"head body"]


def test_much_is_sent_at_once_and_nothing_twice() -> None:
    large = bytes(1 << 16)

    def act(transport: Together, below: Transport) -> None:
        transport.write(b"head")
        transport.write(large)
        assert below.seen == [b"head" + large]
        transport.write(b"tail")

    assert written(act) == [b"head" + large, b"tail"]


def test_what_was_written_is_sent_before_the_end() -> None:
    def act(transport: Together, _: Transport) -> None:
        transport.write(b"last words")
        transport.close()
        assert transport.is_closing()

    assert written(act) == [b"last words", "closed"]


def test_nothing_is_sent_to_who_has_gone() -> None:
    def act(transport: Together, below: Transport) -> None:
        transport.write(b"too late")
        below.closing = True

    assert written(act) == []
