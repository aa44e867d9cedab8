"""The command line in a process that has imported everything: a fork runs each command at once.

Importing takes ten times as long as what a command does with little data. ``WarmCommand`` writes a
program ``dragoman`` that hands its arguments, folder, environment and streams to the process here.
Whatever trains is cut down to a few updates of a small model, beside what its command asks for.
"""

import atexit
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
_CLIENT = """#!{python} -SE
import json, os, signal, socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect({address!r})
asked = json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode()
socket.send_fds(link, [len(asked).to_bytes(4, "big")], [0, 1, 2])
link.sendall(asked)
number = int.from_bytes(link.recv(4), "big")
for each in (signal.SIGINT, signal.SIGTERM):
    signal.signal(each, lambda which, _: os.kill(number, which))
status = link.recv(1)
sys.exit(status[0] if status else "the process of the command was lost")
"""
_SETTINGS = ("training.steps=6", "training.batch_tokens=1024", "training.checkpoint_every=3")
_SETTINGS += ("training.log_every=3", "validation.every=3", "training.warmup=2")
_SHAPE = ("model.layers=1", "model.d_model=32", "model.heads=2", "model.d_ff=64")


def cut_down(arguments: list[str]) -> list[str]:
    """Make a training a matter of seconds; other commands stay as they are."""
    if arguments[:1] == ["compare"] and "--minutes" in arguments:
        place = arguments.index("--minutes") + 1
        return [*arguments[:place], "0.01", *arguments[place + 1 :]]
    if arguments[:1] not in (["train"], ["verify-resume"]) or "--help" in arguments:
        return arguments
    settings = _SETTINGS if "--from" in arguments else (*_SETTINGS, *_SHAPE)
    few = ["--updates", "4", "--stop-at", "2"] if arguments[0] == "verify-resume" else []
    return [*arguments, *few, *(word for each in settings for word in ("--set", each))]


class WarmCommand:
    """Start the process, and write the program that asks it.

    Args:
        folder: for the socket and the program.
    """

    def __init__(self, folder: Path) -> None:
        self.program = folder / "dragoman"
        address = folder / "socket"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.site.warm", str(address)], cwd=ROOT
        )
        self.program.write_text(_CLIENT.format(python=sys.executable, address=str(address)))
        self.program.chmod(0o755)
        deadline = time.monotonic() + 120
        while not address.exists():
            assert self._process.poll() is None, "the process that runs the commands has ended"
            assert time.monotonic() < deadline, "the process that runs the commands does not start"
            time.sleep(0.02)

    def __enter__(self) -> "WarmCommand":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)


def serve(address: str) -> None:
    """Import all that commands need, then fork for each that asks."""
    import matplotlib.pyplot  # noqa: F401  # for those who are forked

    import dragoman.decoding.fused
    import dragoman.run
    import dragoman.serving.app
    import dragoman.translator  # noqa: F401  # as above
    from dragoman.cli.main import main  # noqa: F401  # as above

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # none is left as a zombie
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address + ".new")
    listener.listen()
    os.rename(address + ".new", address)  # whoever sees it can connect
    while True:
        link, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _run(link)
        link.close()


def _run(link: socket.socket) -> None:
    from dragoman.cli.main import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    size, streams, _, _ = socket.recv_fds(link, 4, 3)
    asked = b""
    while len(asked) < int.from_bytes(size, "big"):
        asked += link.recv(1 << 16)
    arguments, environment, folder = json.loads(asked)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(os.fdopen(number, mode, closefd=False), encoding="utf-8")
        for number, mode in enumerate(("rb", "wb", "wb"))
    )
    arguments = cut_down(arguments)
    sys.argv = ["dragoman", *arguments]
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    link.sendall(os.getpid().to_bytes(4, "big"))
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    link.sendall(bytes([status]))
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
