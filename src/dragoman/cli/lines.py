"""Lines in, lines out, and what is said beside them."""

import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import typer

import dragoman
from dragoman.atomic import new_file
from dragoman.errors import DragomanError


@contextmanager
def lines_in(path: Path | None) -> Generator[Iterator[str]]:
    """Give the lines of a file, or of standard input."""
    if path is None:
        yield dragoman.decode_lines(sys.stdin.buffer, "standard input")
    else:
        yield dragoman.read_lines(path)


@contextmanager
def lines_out(path: Path | None) -> Generator[Callable[[str], None]]:
    """Give a function that writes a line of UTF-8; a file appears only when all is written."""

    def to(stream: BinaryIO) -> Callable[[str], None]:
        def write(line: str) -> None:
            try:
                stream.write(line.encode("utf-8") + b"\n")
                if path is None:
                    stream.flush()
            except BrokenPipeError:  # whoever read our output has gone; nothing is left to say
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(0) from None

        return write

    if path is None:
        if cast("object", sys.stdout) is None:
            raise DragomanError("standard output is closed; give --output")
        sys.stdout.flush()
        yield to(sys.stdout.buffer)
    else:
        with new_file(path) as stream:
            yield to(stream)


def say(line: str) -> None:
    """Print a line to standard error."""
    print(line, file=sys.stderr, flush=True)
