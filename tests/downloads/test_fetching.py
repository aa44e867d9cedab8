import hashlib
import resource
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.downloads import Archive, Event, Fetching, Patience, Received, Trouble, Verified
from dragoman.downloads.fetching import fetch, part_of
from dragoman.errors import DataError
from tests.downloads.corpora import copy
from tests.downloads.server import Reply, Server

DATA = bytes(range(256)) * 40
WAITS: list[float] = []
FAST = Patience(tries=3, timeout_seconds=5.0, wait_seconds=1.0, sleep=WAITS.append)


@pytest.fixture(autouse=True)
def _no_waits() -> None:
    WAITS.clear()


def archive(*urls: str, **changes: object) -> Archive:
    return Archive(
        name="file", copies=(copy(urls[0], DATA, urls=urls, packing="plain", **changes),)
    )


def run(wanted: Archive, folder: Path, patience: Patience = FAST) -> list[Event]:
    return list(fetch(wanted, folder, patience))


def file_of(wanted: Archive, folder: Path) -> Path:
    return folder / wanted.file_name(wanted.copies[0])


def test_the_file_gets_its_name_when_its_digest_is_right(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", DATA))
    events = run(wanted, tmp_path)
    assert isinstance(events[-1], Verified)
    assert events[-1].digest == f"sha256 {hashlib.sha256(DATA).hexdigest()}"
    assert [path.name for path in tmp_path.iterdir()] == [events[-1].path.name]
    assert events[-1].path.read_bytes() == DATA


def test_progress_is_told_in_bytes(server: Server, tmp_path: Path) -> None:
    events = run(archive(server.put("/file", DATA)), tmp_path)
    assert events[0] == Fetching(
        file="file-" + hashlib.sha256(DATA).hexdigest()[:8],
        url=server.address + "/file",
        have_bytes=0,
        total_bytes=len(DATA),
    )
    last = [event for event in events if isinstance(event, Received)][-1]
    assert (last.have_bytes, last.total_bytes) == (len(DATA), len(DATA))


def test_a_connection_that_breaks_is_resumed_where_it_broke(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", Reply(DATA, cut_at=4000), Reply(DATA)))
    events = run(wanted, tmp_path)
    assert file_of(wanted, tmp_path).read_bytes() == DATA
    assert server.asked == [("/file", ""), ("/file", "bytes=4000-")]
    (trouble,) = [event for event in events if isinstance(event, Trouble)]
    assert trouble.problem == "the connection ended early, at 4,000 of 10,240 bytes"
    assert WAITS == [1.0]


def test_a_part_of_an_earlier_run_is_gone_on_from(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", DATA))
    part_of(file_of(wanted, tmp_path)).write_bytes(DATA[:1000])
    run(wanted, tmp_path)
    assert server.asked == [("/file", "bytes=1000-")]
    assert file_of(wanted, tmp_path).read_bytes() == DATA


def test_a_server_without_ranges_starts_over(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", Reply(DATA, ranges=False)))
    part_of(file_of(wanted, tmp_path)).write_bytes(b"x" * 9000)
    run(wanted, tmp_path)
    assert file_of(wanted, tmp_path).read_bytes() == DATA


def test_a_part_of_another_file_is_thrown_away_and_fetched_anew(
    server: Server, tmp_path: Path
) -> None:
    wanted = archive(server.put("/file", DATA))
    part_of(file_of(wanted, tmp_path)).write_bytes(b"x" * 1000)
    events = run(wanted, tmp_path)
    (trouble,) = [event for event in events if isinstance(event, Trouble)]
    assert trouble.then == "starting over"
    assert file_of(wanted, tmp_path).read_bytes() == DATA


@pytest.mark.parametrize("length", [len(DATA), len(DATA) + 5])
def test_a_part_that_is_long_enough_already_is_verified_or_dropped(
    server: Server, tmp_path: Path, length: int
) -> None:
    wanted = archive(server.put("/file", DATA))
    part_of(file_of(wanted, tmp_path)).write_bytes((DATA + b"extra")[:length])
    run(wanted, tmp_path)
    assert len(server.asked) == (0 if length == len(DATA) else 1)
    assert file_of(wanted, tmp_path).read_bytes() == DATA


def test_a_part_past_the_end_of_a_file_of_unknown_size_is_dropped(
    server: Server, tmp_path: Path
) -> None:
    wanted = archive(server.put("/file", DATA), size=None)
    part_of(file_of(wanted, tmp_path)).write_bytes(DATA + b"extra")
    run(wanted, tmp_path)
    assert file_of(wanted, tmp_path).read_bytes() == DATA


def test_what_is_there_and_right_is_not_fetched(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", DATA))
    file_of(wanted, tmp_path).write_bytes(DATA)
    (event,) = run(wanted, tmp_path)
    assert isinstance(event, Verified)
    assert (event.url, server.asked) == ("", [])


def test_what_is_there_and_wrong_is_replaced(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", DATA))
    file_of(wanted, tmp_path).write_bytes(b"damaged")
    run(wanted, tmp_path)
    assert file_of(wanted, tmp_path).read_bytes() == DATA


def test_a_wrong_digest_is_refused_with_both_digests_named(server: Server, tmp_path: Path) -> None:
    other = DATA[::-1]
    wanted = archive(server.put("/file", other))
    with pytest.raises(DataError) as caught:
        run(wanted, tmp_path)
    assert hashlib.sha256(other).hexdigest() in str(caught.value)
    assert hashlib.sha256(DATA).hexdigest() in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_digest_may_be_an_md5(server: Server, tmp_path: Path) -> None:
    wanted = archive(
        server.put("/file", DATA), algorithm="md5", digest=hashlib.md5(DATA).hexdigest()
    )
    (event,) = [event for event in run(wanted, tmp_path) if isinstance(event, Verified)]
    assert event.digest.startswith("md5 ")


def test_a_wrong_size_is_refused_before_a_byte_is_taken(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", DATA + b"more"))
    with pytest.raises(DataError, match=r"has 10,244 bytes, the catalogue 10,240"):
        run(wanted, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_bytes_beyond_the_known_size_are_refused(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", Reply(DATA + b"more", chunked=True)))
    with pytest.raises(DataError, match="sends more than 10,240 bytes"):
        run(wanted, tmp_path)


def test_a_missing_file_sends_to_the_next_address_at_once(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.address + "/none", server.put("/file", DATA))
    run(wanted, tmp_path)
    assert [path for path, _ in server.asked] == ["/none", "/file"]
    assert WAITS == []


def test_the_next_copy_is_tried_when_the_first_is_not_to_be_had(
    server: Server, tmp_path: Path
) -> None:
    first = archive(server.put("/one", b"other")).copies[0]
    second = copy(server.put("/two", b"packed otherwise"), b"packed otherwise")
    events = run(Archive(name="file", copies=(first, second)), tmp_path)
    assert isinstance(events[-1], Verified)
    assert events[-1].path.read_bytes() == b"packed otherwise"


def test_server_errors_are_tried_again_with_longer_waits(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", Reply(status=500), Reply(status=503), Reply(DATA)))
    run(wanted, tmp_path)
    assert WAITS == [1.0, 2.0]


def test_a_server_may_say_how_long_to_wait(server: Server, tmp_path: Path) -> None:
    busy = Reply(status=429, headers={"Retry-After": "7"})
    run(archive(server.put("/file", busy, Reply(DATA))), tmp_path)
    assert WAITS == [7.0]


def test_trying_ends(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", Reply(status=500)))
    with pytest.raises(DataError, match="500 Internal Server Error, 3 times"):
        run(wanted, tmp_path)
    assert len(server.asked) == 3


def test_a_redirect_keeps_the_range(server: Server, tmp_path: Path) -> None:
    server.put("/there", DATA)
    moved = Reply(status=302, headers={"Location": server.address + "/there"})
    wanted = archive(server.put("/file", moved))
    part_of(file_of(wanted, tmp_path)).write_bytes(DATA[:1000])
    run(wanted, tmp_path)
    assert server.asked[-1] == ("/there", "bytes=1000-")
    assert file_of(wanted, tmp_path).read_bytes() == DATA


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/file"])
def test_a_redirect_to_anything_but_http_is_not_followed(
    server: Server, tmp_path: Path, target: str
) -> None:
    wanted = archive(server.put("/file", Reply(status=302, headers={"Location": target})))
    with pytest.raises(DataError, match="no copy could be fetched"):
        run(wanted, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_redirect_in_a_circle_ends(server: Server, tmp_path: Path) -> None:
    around = Reply(status=302, headers={"Location": server.address + "/file"})
    with pytest.raises(DataError, match="302"):
        run(archive(server.put("/file", around)), tmp_path)


def test_silence_is_given_up(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", Reply(DATA, hang_seconds=1.5)))
    with pytest.raises(DataError, match="no answer in time, 2 times"):
        run(wanted, tmp_path, replace(FAST, timeout_seconds=0.2, tries=2))


def test_a_trickle_is_given_up(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", Reply(DATA, drip=True), Reply(DATA)))
    events = run(wanted, tmp_path, replace(FAST, timeout_seconds=0.3))
    (trouble,) = [event for event in events if isinstance(event, Trouble)]
    assert trouble.problem == "hardly any bytes come"
    assert file_of(wanted, tmp_path).read_bytes() == DATA


def test_no_server_at_all_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Connection refused, 3 times"):
        run(archive("http://127.0.0.1:1/file"), tmp_path)


def test_a_body_packed_on_the_way_is_refused(server: Server, tmp_path: Path) -> None:
    packed = Reply(DATA, headers={"Content-Encoding": "gzip"})
    with pytest.raises(DataError, match="packs the file in a way that was not asked for"):
        run(archive(server.put("/file", packed)), tmp_path)


def test_a_full_disk_keeps_the_part(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", DATA))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, hard))  # no file may grow beyond
    try:
        with pytest.raises(DataError, match="make room and run the same command again"):
            run(wanted, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert part_of(file_of(wanted, tmp_path)).read_bytes() == DATA[:6000]
    run(wanted, tmp_path)
    assert file_of(wanted, tmp_path).read_bytes() == DATA


def test_too_little_room_is_told_before_anything_comes(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = archive(server.put("/file", DATA), size=None)
    usage = type("Usage", (), {"free": 100})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)  # pyright: ignore[reportUnknownLambdaType]  # a fake
    with pytest.raises(DataError, match="10,240 bytes are still to come, 100 are free"):
        run(wanted, tmp_path)


def test_an_interrupt_leaves_a_part_to_go_on_from(server: Server, tmp_path: Path) -> None:
    wanted = archive(server.put("/file", Reply(DATA, drip=True), Reply(DATA)))
    events = fetch(wanted, tmp_path, FAST)
    for event in events:
        if isinstance(event, Received) and event.have_bytes >= 3:
            break
    with pytest.raises(KeyboardInterrupt):
        events.throw(KeyboardInterrupt())  # type: ignore[attr-defined]  # it is a generator
    part = part_of(file_of(wanted, tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [part.name]
    have = len(part.read_bytes())
    assert part.read_bytes() == DATA[:have]
    run(wanted, tmp_path)
    assert server.asked[-1] == ("/file", f"bytes={have}-")
    assert file_of(wanted, tmp_path).read_bytes() == DATA


def test_no_test_of_downloads_can_leave_this_machine() -> None:
    with socket.socket() as plug, pytest.raises(AssertionError, match="a test asked for"):
        plug.connect(("192.0.2.1", 80))


def test_a_length_of_thousands_of_digits_is_none(server: Server, tmp_path: Path) -> None:
    reply = Reply(DATA, status=206, headers={"Content-Range": f"bytes 0-9/{'9' * 5000}"})
    with pytest.raises(DataError, match="no copy could be fetched"):
        run(archive(server.put("/file", reply)), tmp_path)
