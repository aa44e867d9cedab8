"""The command line in a process that has imported everything: a fork runs each command at once.

Importing takes ten times as long as what a command does with little data. ``WarmCommand`` writes
programs ``dragoman``, ``python`` and ``torchrun`` that hand their arguments, folder, environment
and streams to the process here; what these start comes here too. Whatever trains is cut down to a
few updates of a small model, beside what its command asks for.
"""

import atexit
import io
import json
import os
import runpy
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
asked = json.dumps([{name!r}, sys.argv[1:], dict(os.environ), os.getcwd()]).encode()
socket.send_fds(link, [len(asked).to_bytes(4, "big")], [0, 1, 2])
link.sendall(asked)
number = int.from_bytes(link.recv(4), "big")
for each in (signal.SIGINT, signal.SIGTERM):
    signal.signal(each, lambda which, _: os.kill(number, which))
status = link.recv(1)
sys.exit(status[0] if status else "the process of the command was lost")
"""
PROGRAMS = ("dragoman", "python", "torchrun")
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
    """Start the process, and write the programs that ask it.

    Args:
        folder: for the socket and the programs.
    """

    def __init__(self, folder: Path) -> None:
        address = folder / "socket"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.site.warm", str(address)], cwd=ROOT
        )
        for name in PROGRAMS:
            client = _CLIENT.format(python=sys.executable, address=str(address), name=name)
            (folder / name).write_text(client)
            (folder / name).chmod(0o755)
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
    import torch._dynamo  # the first optimizer would import it
    import torch.distributed.run  # noqa: F401  # as above

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
            _run(link, Path(address).parent)
        link.close()


def _run(link: socket.socket, programs: Path) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    size, streams, _, _ = socket.recv_fds(link, 4, 3)
    asked = b""
    while len(asked) < int.from_bytes(size, "big"):
        asked += link.recv(1 << 16)
    program, arguments, environment, folder = json.loads(asked)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(os.fdopen(number, mode, closefd=False), encoding="utf-8")
        for number, mode in enumerate(("rb", "wb", "wb"))
    )
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    link.sendall(os.getpid().to_bytes(4, "big"))
    try:
        status = _work(program, arguments, programs)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    link.sendall(bytes([status]))
    os._exit(0)


def _work(program: str, arguments: list[str], programs: Path) -> int:
    """Do what a program would, and give its status."""
    from torch.distributed.run import main as torchrun

    from dragoman.cli.main import main

    sys.executable = str(programs / "python")  # what this starts comes back here
    if arguments[:1] == ["-u"]:
        arguments = arguments[1:]
    if program == "python" and arguments[:2] == ["-m", "dragoman"]:
        program, arguments = "dragoman", arguments[2:]
    if program == "dragoman":
        if not os.environ.setdefault("CUT_DOWN", ""):  # else whoever started this was
            arguments, os.environ["CUT_DOWN"] = cut_down(arguments), "1"
        sys.argv = ["dragoman", *arguments]
        return main(arguments)
    if program == "torchrun":
        torchrun(arguments)
    elif arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        exec(arguments[1], {"__name__": "__main__"})
    else:
        sys.argv = arguments
        sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    serve(sys.argv[1])
