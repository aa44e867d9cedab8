"""Many clients at once against ``dragoman serve``: answers, latency, memory, throughput.

    python benchmarks/load.py MODEL --text FILE [--clients 64] [--seconds 120] [--requests N]

Every answer is compared with the translation of its sentence alone. Throughput is a ratio: of what
the server answers to what one process of ``Translator.translate`` does with the same sentences, in
the same run, turn by turn. A turn of the server is counted while all clients ask: not in its first
seconds, nor while the last answers come. Server and clients listen at the loopback interface only
and share the cores.
"""

import argparse
import asyncio
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvloop

LEAD = 2.0  # seconds before a turn of the server counts


@dataclass
class Seen:
    """What the clients saw.

    Args:
        seconds: of each answer.
        wrong: answers that are not those of the sentence alone.
        failed: everything else that is no answer.
    """

    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def add(self, other: "Seen") -> None:
        """Take in what was seen in another turn."""
        self.seconds += other.seconds
        self.wrong += other.wrong
        self.failed += other.failed


def main() -> None:
    """Run it and print the figures as Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--text", type=Path, required=True, help="sentences, one a line")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=120.0, help="of the load")
    parser.add_argument("--rounds", type=int, default=5, help="in turn with translate")
    parser.add_argument("--warm", type=float, default=10.0, help="seconds before it")
    parser.add_argument("--requests", type=int, default=10_000, help="of the soak after it")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--texts", type=int, default=1, help="sentences in a request")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--dtype", default="auto")
    asked = parser.parse_args()
    lines = [line for line in asked.text.read_text(encoding="utf-8").splitlines() if line.strip()]
    from dragoman import Translator

    translator = Translator.load(asked.model, engine=asked.engine, dtype=asked.dtype)
    expected = {line: translator.translate([line], beam=asked.beam)[0].text for line in lines}
    server, port = start(asked)
    rates: list[Rate] = []
    served: list[Rate] = []
    try:
        seen = clients(load(port, asked, lines, expected, asked.warm))
        for _ in range(asked.rounds):
            with clock(rates, os.getpid()) as done:
                translator.translate(lines, beam=asked.beam)
                done.append(len(lines))
            turn = turn_of(server.pid, served, port, asked, lines, expected)
            seen.add(clients(turn))
        before = resident(server.pid)
        soak = clients(load(port, asked, lines, expected, 3600.0, requests=asked.requests))
        after = resident(server.pid)
    finally:
        server.send_signal(signal.SIGTERM)
        status = server.wait(120)
    report(asked, seen, soak, rates, served, before, after, status)


@dataclass
class Rate:
    """How much was done: sentences, in seconds of the clock and of all cores."""

    sentences: int
    seconds: float
    computing: float

    @property
    def by_clock(self) -> float:
        """Sentences a second."""
        return self.sentences / self.seconds

    @property
    def milliseconds(self) -> float:
        """Of a core, for a sentence."""
        return 1000 * self.computing / self.sentences


@contextmanager
def clock(into: list[Rate], pid: int) -> Iterator[list[int]]:
    """Measure what a process does meanwhile; the block puts down how many sentences it did."""
    began, computed, sentences = time.perf_counter(), computing(pid), list[int]()
    yield sentences
    into.append(Rate(sum(sentences), time.perf_counter() - began, computing(pid) - computed))


def clients(work: Coroutine[Any, Any, Seen]) -> Seen:
    """Run clients in the loop that takes the least time of the cores, which the server needs."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def computing(pid: int) -> float:
    """Say for how many seconds cores have worked for a process; Linux only."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(asked: argparse.Namespace) -> tuple[subprocess.Popen[str], int]:
    """Start the server; give it with its port."""
    command = [sys.executable, "-m", "dragoman", "serve", str(asked.model), "--port", "0"]
    command += ["--engine", asked.engine, "--dtype", asked.dtype]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    for line in server.stderr:
        if found := re.search(r"listening at http://127\.0\.0\.1:(\d+)", line):
            return server, int(found[1])
    raise SystemExit("the server did not start")


async def turn_of(
    pid: int,
    served: list[Rate],
    port: int,
    asked: argparse.Namespace,
    lines: list[str],
    expected: dict[str, str],
) -> Seen:
    """Load the server for its share of the time, and measure it while all clients ask."""
    seconds = asked.seconds / asked.rounds
    seen = Seen()
    asking = asyncio.create_task(load(port, asked, lines, expected, LEAD + seconds, seen=seen))
    await asyncio.sleep(LEAD)
    with clock(served, pid) as done:
        before = len(seen.seconds)
        await asyncio.sleep(seconds)
        done.append((len(seen.seconds) - before) * asked.texts)
    return await asking


async def load(
    port: int,
    asked: argparse.Namespace,
    lines: list[str],
    expected: dict[str, str],
    seconds: float,
    requests: int | None = None,
    seen: Seen | None = None,
) -> Seen:
    """Let clients ask for sentence after sentence until the time or the requests are used up."""
    seen = Seen() if seen is None else seen
    until = time.perf_counter() + seconds
    left = iter(range(requests)) if requests is not None else None

    def more() -> bool:
        return next(left, None) is not None if left is not None else time.perf_counter() < until

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        place = number * len(lines) // asked.clients
        while more():
            texts = [lines[(place + n) % len(lines)] for n in range(asked.texts)]
            place += asked.texts
            began = time.perf_counter()
            try:
                found = await ask(reader, writer, texts, asked.beam)
            except (OSError, ValueError, KeyError, asyncio.IncompleteReadError) as error:
                seen.failed.append(f"{type(error).__name__}: {error}")
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                continue
            seen.seconds.append(time.perf_counter() - began)
            seen.wrong += [
                line for line, text in zip(texts, found, strict=True) if text != expected[line]
            ]
        writer.close()

    await asyncio.gather(*(client(number) for number in range(asked.clients)))
    return seen


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, texts: list[str], beam: int
) -> list[str]:
    """Ask for sentences over a connection that stays open."""
    body = json.dumps({"text": texts, "beam": beam}).encode()
    head = "POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(re.search(r"content-length: (\d+)", answer)[1])  # type: ignore[index]  # always stated
    shown = json.loads(await reader.readexactly(length))
    if " 200 " not in answer.partition("\r\n")[0]:
        raise ValueError(shown)
    return [each["text"] for each in shown["translations"]]


def resident(pid: int) -> int:
    """Say how much memory a process holds, in bytes; Linux only."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024  # type: ignore[index]  # always there


def spread(values: list[float], form: str = ".2f") -> str:
    """Give the median with the least and the largest."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:{form}} [{low:{form}} to {high:{form}}]"


def report(
    asked: argparse.Namespace,
    loaded: Seen,
    soak: Seen,
    rates: list[Rate],
    served: list[Rate],
    before: int,
    after: int,
    status: int,
) -> None:
    """Print the figures."""
    times = sorted(loaded.seconds)
    ratios = [many.by_clock / alone.by_clock for many, alone in zip(served, rates, strict=True)]
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
        f"{asked.clients} clients, {asked.texts} sentences a request, beam {asked.beam}, "
        f"engine {asked.engine}, {asked.dtype}\n"
    )
    print("| figure | value |\n| --- | --- |")
    print(f"| answers under load | {len(times):,} |")
    print(f"| failed, wrong | {len(loaded.failed)}, {len(loaded.wrong)} |")
    print(
        f"| latency p50, p95 | {1000 * times[len(times) // 2]:.0f} ms, "
        f"{1000 * times[int(0.95 * len(times))]:.0f} ms |"
    )
    for name, each in (("served", served), ("of translate", rates)):
        print(f"| sentences/s {name} | {spread([r.by_clock for r in each], '.0f')} |")
        print(f"| ms of a core for one, {name} | {spread([r.milliseconds for r in each])} |")
    print(f"| ratio, turn by turn | {spread(ratios)} |")
    print(
        f"| soak | {len(soak.seconds):,} answers, {len(soak.failed)} failed, "
        f"{len(soak.wrong)} wrong |"
    )
    print(f"| memory before and after it | {before / 1e6:.1f} MB, {after / 1e6:.1f} MB |")
    print(f"| exit status after SIGTERM | {status} |")
    for problem in [*loaded.failed, *soak.failed][:5]:
        print(problem)


if __name__ == "__main__":
    main()
