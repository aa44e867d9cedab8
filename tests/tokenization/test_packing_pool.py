"""Many processes that pack text: the same answers, in order, and nothing left when it ends."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.errors import DragomanError
from dragoman.tokenization import (
    Packer,
    TokenizerConfig,
    learn_tokenizer,
    pack_all,
    packing_pool,
)
from dragoman.tokenization.packing_pool import Part

SOURCE = learn_tokenizer(["ein Hund läuft", "zwei Hunde"] * 9, TokenizerConfig(size=290))
TARGET = learn_tokenizer(["a dog runs", "two dogs"] * 9, TokenizerConfig(size=280, kind="unigram"))
BOTH = (SOURCE, TARGET)


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start processes at the second part, and see that each is gone after the test."""
    started: list[subprocess.Popen[bytes]] = []
    start = packing_pool._start

    def watched() -> subprocess.Popen[bytes]:
        started.append(start())
        return started[-1]

    monkeypatch.setattr(packing_pool, "_ALONE", 1)
    monkeypatch.setattr(packing_pool, "_start", watched)
    yield
    assert all(process.returncode is not None for process in started)  # no zombie
    for process in started:
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)
        assert process.stdin is not None
        assert process.stdin.closed


def parts(count: int) -> Iterator[Part[int]]:
    """Make parts of different sizes; some texts are empty, and some parts too."""
    for number in range(count):
        size = number % 4
        sources = [f"Hund {number} läuft 狗 {each}" for each in range(size)]
        yield number, [sources, ["", *(f"dog {text}" for text in sources)][:size]]


def answers(count: int, processes: int) -> list[tuple[int, list[list[int]]]]:
    return [
        (number, [side.ids.tolist() + side.lengths.tolist() for side in packed])
        for number, packed in pack_all(parts(count), BOTH, processes=processes)
    ]


def test_two_processes_give_what_one_gives_in_order() -> None:
    alone = answers(23, processes=1)
    assert [number for number, _ in alone] == [*range(23)]
    assert answers(23, processes=2) == alone
    packed = Packer(SOURCE).pack(next(texts for number, texts in parts(8) if number == 7)[0])
    assert alone[7][1][0] == packed.ids.tolist() + packed.lengths.tolist()


@pytest.mark.parametrize("count", [0, 1, 2])
def test_little_text_is_packed_too(count: int) -> None:
    assert len(answers(count, processes=2)) == count


def test_no_process_is_started_for_little_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(packing_pool, "_start", never)
    assert len(answers(1, processes=2)) == 1


def test_text_is_read_only_a_few_parts_ahead() -> None:
    read: list[int] = []

    def counted() -> Iterator[Part[int]]:
        for part in parts(100):
            read.append(part[0])
            yield part

    running = pack_all(counted(), BOTH, processes=2)
    for number, _ in running:
        assert len(read) <= number + 1 + 5  # two for each process, and the one in hand
    assert len(read) == 100


def test_leaving_early_leaves_no_process_behind() -> None:
    running = pack_all(parts(100), BOTH, processes=2)
    assert [next(running)[0] for _ in range(5)] == [*range(5)]
    running.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), DragomanError("line 9 is wrong")])
def test_an_error_while_reading_comes_through(error: BaseException) -> None:
    def broken() -> Iterator[Part[int]]:
        yield from parts(9)
        raise error

    with pytest.raises((KeyboardInterrupt, DragomanError)):
        list(pack_all(broken(), BOTH, processes=2))


@pytest.mark.parametrize("side", [0, 1])
def test_half_a_surrogate_pair_is_an_error_on_either_side(side: int) -> None:
    def odd() -> Iterator[Part[int]]:
        yield from parts(9)
        texts = [["a"], ["b"]]
        texts[side] = ["\ud800"]
        yield 9, texts
        yield from parts(9)

    running = pack_all(odd(), BOTH, processes=2)
    assert [next(running)[0] for _ in range(9)] == [*range(9)]
    with pytest.raises(ValueError, match="surrogates not allowed"):
        next(running)


@pytest.mark.parametrize("when", ["before its first task", "between tasks"])
def test_a_killed_process_is_an_error_that_says_what_to_do(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = packing_pool._start

    def kept() -> subprocess.Popen[bytes]:
        process = start()
        started.append(process)
        if when == "before its first task":
            process.kill()
        return process

    monkeypatch.setattr(packing_pool, "_start", kept)
    running = (
        started[1].kill() if number == 20 else None
        for number, _ in pack_all(parts(1_000), BOTH, processes=2)
    )
    with pytest.raises(DragomanError, match=r"status -9.*; the same command goes on from where"):
        list(running)


def test_a_process_that_answers_too_little_is_ended_like_one_that_died(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short = "import os, sys; os.write(1, b'1234'); os.close(1); sys.stdin.read()"

    def odd() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", short]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(packing_pool, "_start", odd)
    with pytest.raises(DragomanError, match="ended by itself"):
        list(pack_all(parts(9), BOTH, processes=1 + 1))


def test_a_process_that_cannot_be_started_is_an_error_and_ends_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, count = packing_pool._start, iter(range(9))

    def second_fails() -> subprocess.Popen[bytes]:
        if next(count):
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return start()

    monkeypatch.setattr(packing_pool, "_start", second_fails)
    with pytest.raises(DragomanError, match=r"cannot start a process .* temporarily unavailable; "):
        list(pack_all(parts(9), BOTH, processes=2))


def script(folder: Path, body: str) -> list[str]:
    """Write a plain script, without a guard for ``__main__``; parts come from number 1 on."""
    vocabulary = folder / "tokenizer.json"
    SOURCE.save(vocabulary)
    before = f"""
        from pathlib import Path
        from dragoman.tokenization import Tokenizer, pack_all, packing_pool
        packing_pool._ALONE = 1
        both = [Tokenizer.load(Path({str(vocabulary)!r}))] * 2
        parts = ((n, [[f"Hund {{n}}"]] * 2) for n in range(10**9))
    """
    file = folder / "plain.py"
    file.write_text(textwrap.dedent(before) + textwrap.dedent(body), encoding="utf-8")
    return [sys.executable, "-W", "error", str(file)]


def test_a_plain_script_may_pack_and_files_beside_it_are_not_taken_for_modules(
    tmp_path: Path,
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("json.py", "numpy.py", "tokenizers.py"):  # of the user's own
        (elsewhere / name).write_text("raise SystemExit('the wrong file')\n", encoding="utf-8")
    body = """
        running = pack_all(parts, both, processes=2)
        print([next(running)[0] for _ in range(9)])
        running.close()
    """
    done = subprocess.run(
        script(tmp_path, body), cwd=elsewhere, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.stderr, done.returncode) == (f"{[*range(9)]}\n", "", 0)


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in found.split()]


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_the_one_that_asks_whatever_ends_it(
    how: signal.Signals, tmp_path: Path
) -> None:
    body = """
        import signal
        signal.signal(signal.SIGINT, signal.default_int_handler)  # where it is ignored too
        try:
            for number, _ in pack_all(parts, both, processes=2):
                if number == 50:
                    print("busy", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    with subprocess.Popen(
        script(tmp_path, body),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "busy\n"
        workers = children(process.pid)
        assert len(workers) == 2
        try:
            os.killpg(process.pid, how)  # as a terminal or a scheduler does
            out, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert errors == ""  # the others do not complain
    assert out == ("interrupted\n" if how == signal.SIGINT else "")
    deadline = time.monotonic() + 60
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers))


def test_the_vocabulary_may_be_larger_than_a_pipe_holds() -> None:
    words = [f"w{number}x{each}" for number in range(4_000) for each in "ab"]
    large = learn_tokenizer(words, TokenizerConfig(kind="word", size=9_000))
    assert len(large.to_json()) > 2**17
    many = ((number, [words]) for number in range(5))
    found = [packed[0].ids.size for _, packed in pack_all(many, [large], processes=2)]
    assert found == [sum(map(len, large.encode_many(words)))] * 5
