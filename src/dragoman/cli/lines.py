"""Lines in, lines out, and what is said beside them."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import BinaryIO, cast

import typer

import dragoman
from dragoman.atomic import new_file
from dragoman.errors import DragomanError

_STOPPED_BY: dict[int, str] = {
    signal.SIGINT: "interrupted; ",
    signal.SIGTERM: "terminated; ",
}


@contextmanager
def lines_in(path: Path | None) -> Generator[Iterator[str]]:
    """Give the lines of a file, or of standard input."""
    if path is None:
        yield dragoman.decode_lines(sys.stdin.buffer, "standard input")
    else:
        yield dragoman.read_lines(path)


@contextmanager
def lines_out(path: Path | None) -> Generator[Callable[[str], None]]:
    """Give a function that writes a line of UTF-8; a file appears only when all is written.

    Whatever ends it early, whole lines are what is there: on standard output, or, of a file, in
    ``PATH.partial``. How many is said on standard error.
    """
    if path is None:
        if cast("object", sys.stdout) is None:
            raise DragomanError("standard output is closed; give --output")
        sys.stdout.flush()
        with whole_lines(sys.stdout.buffer) as lines:
            try:
                yield lines.write_through
            except BaseException:
                if lines.stopped or (lines.count and not lines.unread):
                    say(f"{lines.reason}{lines.count:,} whole lines were written")
                raise
        return
    with new_file(path) as stream, whole_lines(stream) as lines:
        try:
            yield lines.write
        except BaseException:
            _keep_part(path, stream, lines)
            raise


def say(line: str) -> None:
    """Print a line to standard error."""
    print(line, file=sys.stderr, flush=True)


class Lines:
    """Writes lines to a binary stream; a signal waits until the line in hand is whole."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.count = 0
        self.bytes = 0
        self.writing = False  # and no signal may come between
        self.unread = False  # nobody reads any more
        self.stopped = 0  # by this signal

    @property
    def reason(self) -> str:
        """Name the signal that stopped it, before what is said of the lines."""
        return _STOPPED_BY.get(self.stopped, "")

    def write(self, line: str) -> None:
        """Write a line, which is in the file some time later."""
        self._write(line, through=False)

    def write_through(self, line: str) -> None:
        """Write a line, so that whoever reads has it now.

        Raises:
            typer.Exit: nobody reads any more; nothing is left to say.
        """
        try:
            self._write(line, through=True)
        except BrokenPipeError:
            self.unread = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None

    def stop(self, number: int, frame: FrameType | None = None) -> None:
        """Handle a signal: at once, or after the line in hand.

        Raises:
            KeyboardInterrupt: it is that of Ctrl-C.
            typer.Exit: it is SIGTERM; the status is 143.
        """
        self.stopped = number
        if self.writing:
            return
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise typer.Exit(128 + number)

    def _write(self, line: str, *, through: bool) -> None:
        data = line.encode("utf-8") + b"\n"
        self.writing = True
        try:
            self.stream.write(data)
            if through:
                self.stream.flush()
            self.count += 1
            self.bytes += len(data)
        finally:
            self.writing = False
        if self.stopped:
            self.stop(self.stopped)


@contextmanager
def whole_lines(stream: BinaryIO) -> Generator[Lines]:
    """Write lines to a stream, and see that Ctrl-C and SIGTERM cut none."""
    lines = Lines(stream)
    plain = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    if threading.current_thread() is not threading.main_thread():  # no signal comes here
        plain = {}
    ours = {n: handler for n, handler in plain.items() if signal.getsignal(n) == handler}
    for number in ours:
        signal.signal(number, lines.stop)
    try:
        yield lines
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)


def _keep_part(path: Path, stream: BinaryIO, lines: Lines) -> None:
    """Keep the whole lines of a file that will not be finished; another signal does not matter."""
    lines.writing = True
    aside = Path(stream.name)
    if not lines.count or ".writing-" not in aside.name:  # or it is a device, which has them
        if lines.stopped:
            say(f"{lines.reason}{lines.count:,} whole lines were written")
        return
    with suppress(OSError):  # the disk may be full; then what is on it is kept
        stream.flush()
    count, size = lines.count, lines.bytes
    if aside.stat().st_size < size:
        count, size = whole_part(aside)
    os.truncate(aside, size)
    kept = aside.with_name(f"{path.name}.partial")
    aside.replace(kept)
    say(f"{lines.reason}{kept} holds the first {count:,} lines")


def whole_part(path: Path) -> tuple[int, int]:
    """Count the lines of a file that end, and the bytes they have."""
    count = size = 0
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                count, size = count + 1, size + len(line)
    return count, size
