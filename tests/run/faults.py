"""Real processes that are killed, and real disks that are full, for the tests of faults.

Everything here runs in processes forked from a server that has loaded PyTorch and started no
thread, so a process costs milliseconds.
"""

import builtins
import ctypes
import functools
import io
import multiprocessing
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import torch

from dragoman.cli.main import main

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    # An optimizer loads the second of them when it is made, in seconds.
    ["dragoman.cli.console", "torch._dynamo", "dragoman.run", "sacrebleu", "tests.run.test_faults"]
)

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000  # sched.h
_READ_ONLY, _REMOUNT, _PRIVATE = 1, 32, 0x4000 | 0x40000  # sys/mount.h; recursive


def start(log: Path, target: Callable[..., int | None], *arguments: Any) -> ForkServerProcess:
    """Begin ``target`` in a process of its own, whose output goes to ``log``."""
    process = CONTEXT.Process(target=_logged, args=(log, target, *arguments))
    process.start()
    assert isinstance(process, ForkServerProcess)
    return process


def run(log: Path, target: Callable[..., int | None], *arguments: Any) -> int:
    """Run ``target`` in a process of its own; give its exit status, negative for a signal."""
    process = start(log, target, *arguments)
    process.join(timeout=240)
    assert process.exitcode is not None, log.read_text(encoding="utf-8")
    return process.exitcode


def forked(target: Callable[..., int | None], *arguments: Any) -> int:
    """Run ``target`` in a copy of this process, which must have no other threads."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = target(*arguments) or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def command(*arguments: str) -> int:
    """Run the command line."""
    torch.set_num_threads(1)
    return main(list(arguments))


def command_killed_at_byte(count: int, folder: Path, *arguments: str) -> int:
    """Run the command line until it has written ``count`` bytes below ``folder``."""
    kill_at_byte(count, folder)
    return command(*arguments)


def kill_at_byte(count: int, folder: Path) -> None:
    """Let this process kill itself when it has written ``count`` bytes below ``folder``."""
    left = [count]

    class Cut(io.FileIO):
        def write(self, data: Any) -> int:
            view = memoryview(data).cast("B")
            if len(view) < left[0]:
                left[0] -= len(view)
                return super().write(view)
            super().write(view[: left[0]])
            os.kill(os.getpid(), signal.SIGKILL)
            raise AssertionError

    plain = io.open

    @functools.wraps(plain)
    def cut_open(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        inside = not isinstance(file, int) and str(file).startswith(str(folder))
        if not inside or mode not in ("w", "wb", "a"):
            return plain(file, mode, *rest, **options)
        buffered = io.BufferedWriter(Cut(str(file), mode[0]))
        if mode == "wb":
            return buffered
        return io.TextIOWrapper(
            buffered, encoding=options.get("encoding"), newline=options.get("newline")
        )

    io.open = builtins.open = cut_open  # pathlib's, and everybody's


def kill_at_operation(number: int, folder: Path) -> None:
    """Let this process kill itself before operation ``number``, from 1, on files below ``folder``.

    Making, opening, renaming and removing are operations; all that others could see of the process
    changes in one of them or within a write.
    """
    _at_operation(number, folder, lambda: os.kill(os.getpid(), signal.SIGKILL))


def interrupt_at_operation(number: int, folder: Path) -> None:
    """Raise what Ctrl-C raises, where ``kill_at_operation`` would kill."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    _at_operation(number, folder, lambda: signal.raise_signal(signal.SIGINT))


def _at_operation(number: int, folder: Path, act: Callable[[], None]) -> None:
    left = [number]

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"):
            return
        path = str(arguments[0])  # relative to an open folder, as rmtree removes, is inside too
        if path.startswith(str(folder)) or (event in ("os.remove", "os.rmdir") and path[0] != "/"):
            left[0] -= 1
            if left[0] == 0:
                act()

    sys.addaudithook(watch)


def own_disk(path: Path, size: str) -> bool:
    """Put an empty file system of ``size`` at ``path``, seen by this process and its children only.

    Returns:
        Whether the system allows it.
    """
    system = ctypes.CDLL(None, use_errno=True)
    if not hasattr(system, "unshare"):
        return False
    user, group = os.getuid(), os.getgid()
    if system.unshare(_NEW_MOUNTS) != 0:
        if system.unshare(_NEW_MOUNTS | _NEW_USER) != 0:
            return False
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    if system.mount(b"none", b"/", None, _PRIVATE, None) != 0:
        return False
    return system.mount(b"none", bytes(path), b"tmpfs", 0, f"size={size}".encode()) == 0


def remount(path: Path, size: str, *, read_only: bool) -> None:
    """Change what ``own_disk`` made."""
    system = ctypes.CDLL(None, use_errno=True)
    flags = _REMOUNT | (_READ_ONLY if read_only else 0)
    if system.mount(b"none", bytes(path), b"tmpfs", flags, f"size={size}".encode()) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))


@contextmanager
def largest_file(size: int) -> Generator[None]:
    """Allow no file of more than ``size`` bytes: an error instead, as a quota gives it."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _logged(log: Path, target: Callable[..., int | None], *arguments: Any) -> None:
    with log.open("a", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.exit(target(*arguments) or 0)
