import pytest

from dragoman.serving.visitors import Visitors


def test_without_keys_everyone_is_known() -> None:
    assert Visitors().knows(None)
    assert not Visitors().need_key


@pytest.mark.parametrize("key", [None, "", "on", "one ", "ONE", "\ud800", "ünbekannt"])
def test_only_a_key_that_was_given_is_known(key: str | None) -> None:
    visitors = Visitors(["one", "zwei"])
    assert visitors.knows("one")
    assert visitors.knows("zwei")
    assert not visitors.knows(key)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_client_may_ask_so_often_a_minute_and_others_are_not_held_up() -> None:
    clock = Clock()
    visitors = Visitors(per_minute=3, clock=clock)
    assert [visitors.wait("a") for _ in range(3)] == [0, 0, 0]
    assert visitors.wait("a") == pytest.approx(20)
    assert visitors.wait("b") == 0
    clock.now += 19
    assert visitors.wait("a") == pytest.approx(1)
    clock.now += 1
    assert visitors.wait("a") == 0
    clock.now += 1000
    assert [visitors.wait("a") for _ in range(4)] == [0, 0, 0, pytest.approx(20)]


def test_memory_is_bounded_however_many_clients_come() -> None:
    visitors = Visitors(per_minute=3, clock=Clock())
    for number in range(20_000):
        visitors.wait(f"{number}{'x' * 1000}")
    assert max(map(len, visitors._buckets)) == 200  # pyright: ignore[reportPrivateUsage]  # nothing else tells
    assert len(visitors._buckets) == 10_000  # pyright: ignore[reportPrivateUsage]  # nothing else tells
