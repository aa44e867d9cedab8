"""Packing text with all processors, in order, one part after the other as they are asked for."""

import os
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, TypeVar, cast

from dragoman.errors import DragomanError
from dragoman.tokenization.packing import Packed, Packer
from dragoman.tokenization.packing_process import read_packed, texts_as_bytes, write_vocabularies
from dragoman.tokenization.tokenizer import Tokenizer

T = TypeVar("T")
Part = tuple[T, Sequence[Sequence[str]]]  # anything, and the texts for each vocabulary

_ALONE = 8  # parts that this process packs before others are worth starting


def pack_all(
    parts: Iterable[Part[T]], vocabularies: Sequence[Tokenizer], *, processes: int
) -> Generator[tuple[T, list[Packed]]]:
    """Pack texts of several vocabularies.

    Args:
        parts: read a few ahead of what is given back; some thousand texts each.
        vocabularies: one for each list of texts in a part.
        processes: how many work at once, if there is enough to do; 1 is this process alone.

    Yields:
        What came with each part, and its ids by vocabulary, in order.

    Raises:
        ValueError: a text holds half a surrogate pair.
        DragomanError: one of the processes has ended, or cannot be started.
    """
    waiting = iter(parts)
    packers = [Packer(tokenizer) for tokenizer in vocabularies]
    for came, texts in islice(waiting, None if processes < 2 else _ALONE):
        yield came, [packer.pack(side) for packer, side in zip(packers, texts, strict=True)]
    del packers
    first = next(waiting, None)
    if first is not None:
        with _Pool(vocabularies, processes) as pool:
            yield from pool.pack(first, waiting)


class _Pool:
    """Processes, and a thread for each that talks to it."""

    def __init__(self, vocabularies: Sequence[Tokenizer], processes: int) -> None:
        self._sides = len(vocabularies)
        self._ahead = 2 * processes
        self._threads = ThreadPoolExecutor(processes)
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            for _ in range(processes):
                self._processes.append(_start())
            for process in self._processes:
                with suppress(BrokenPipeError):  # whoever gives it work will say so
                    write_vocabularies(_pipe(process.stdin), vocabularies)
                self._idle.put(process)
        except BaseException as error:
            self._end()
            if isinstance(error, OSError):
                problem = f"cannot start a process that prepares text: {error.strerror or error}"
                raise DragomanError(f"{problem}; make memory free, then try again") from None
            raise

    def __enter__(self) -> "_Pool":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def pack(self, first: Part[T], others: Iterator[Part[T]]) -> Iterator[tuple[T, list[Packed]]]:
        """Keep all processes busy; give answers in order."""
        running: deque[tuple[T, Future[list[Packed]]]] = deque()
        for came, texts in chain([first], others):
            running.append((came, self._threads.submit(self._ask, texts)))
            if len(running) > self._ahead:
                done, answer = running.popleft()
                yield done, answer.result()
        while running:
            done, answer = running.popleft()
            yield done, answer.result()

    def _ask(self, texts: Sequence[Sequence[str]]) -> list[Packed]:
        # All is spelled first: of a task that was sent in part a process would wait for the rest.
        spelled = [texts_as_bytes(side) for side in texts]
        process = self._idle.get()
        try:
            for side in spelled:
                _pipe(process.stdin).write(side)
            _pipe(process.stdin).flush()
            return [read_packed(_pipe(process.stdout)) for _ in range(self._sides)]
        except (OSError, EOFError):
            process.kill()  # if it lives, nobody knows what it would answer next
            raise DragomanError(
                f"a process that prepares text ended by itself (status {process.wait()}), perhaps "
                "for lack of memory; the same command goes on from where it was"
            ) from None
        finally:
            self._idle.put(process)

    def _end(self) -> None:
        for process in self._processes:
            process.kill()  # whatever it does, nobody waits for it
            process.wait()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what was still to be written has no reader
                    _pipe(pipe).close()


def _start() -> "subprocess.Popen[bytes]":
    here = str(Path(__file__).parents[2])  # where this package lies, however it was found
    program = (
        "import sys; sys.path[:] = sys.argv[1:]; "  # not the folder it is started in
        "from dragoman.tokenization.packing_process import serve; serve()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, here, *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Threads of the library beside those of the other processes would only wait for them.
        env={**os.environ, "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"},
        process_group=0 if os.name == "posix" else None,  # Ctrl-C is for the process that asks
    )


def _pipe(stream: object) -> BinaryIO:
    return cast("BinaryIO", stream)
