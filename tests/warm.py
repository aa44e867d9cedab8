"""The command line in a process that has imported everything: a fork runs each command at once.

Importing takes ten times as long as what a command does with little data. ``WarmPrograms`` writes
programs ``dragoman``, ``python`` and ``torchrun`` that hand their arguments, folder, environment
and streams to the process here; what these start comes here too. A program and what it runs end
together, whichever is killed. What a command is asked can be changed by a function that the
variable ``CHANGED_BY`` names, such as ``package.module:function``, from arguments to arguments.

All of them hash text alike; a test for which that matters starts processes of its own.
"""

import atexit
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
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
if not status:
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(status[0])
"""
PROGRAMS = ("dragoman", "python", "torchrun")


class WarmPrograms:
    """Start the process, and write the programs that ask it.

    Args:
        folder: for the socket and the programs.
    """

    def __init__(self, folder: Path) -> None:
        address = folder / "socket"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm", str(address)], cwd=ROOT
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

    def __enter__(self) -> "WarmPrograms":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)


def serve(address: str) -> None:
    """Import all that commands need, then fork for each that asks."""
    import matplotlib.pyplot  # noqa: F401  # for those who are forked
    import torch._dynamo  # the first optimizer would import it
    import torch.distributed.run  # noqa: F401  # as above

    import dragoman.run
    import dragoman.serving.app  # noqa: F401  # as above
    from dragoman import Translator
    from dragoman.bundle import library_versions
    from dragoman.cli.main import main  # noqa: F401  # as above
    from dragoman.data.check import load_identifier
    from dragoman.decoding import choose_engine
    from dragoman.recipe import read_recipe, recipe_toml
    from tests.fixtures import encoder_decoder
    from tests.interop.models import random_bundle

    # What each command would do before its work: find out how a recipe is read, unpack a model of
    # languages, read compiled kernels from the disk.
    recipe_toml(read_recipe(ROOT / "recipes/digits.toml"))
    library_versions()
    load_identifier()
    bundle = random_bundle({})
    engine = choose_engine(encoder_decoder(bundle), bundle.frame, engine="fused")
    Translator(bundle, engine).translate(["a", "b c"])
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
    threading.Thread(target=_end_with, args=(link,), daemon=True).start()
    try:
        status = _work(program, arguments, programs)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    except Exception:  # as Python ends a program
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    link.sendall(bytes([status]))
    os._exit(0)


def _end_with(link: socket.socket) -> None:
    """End this process with the program that asked for it."""
    link.recv(1)
    os._exit(1)


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
        if name := os.environ.pop("CHANGED_BY", ""):  # not what this command starts
            change: Callable[[list[str]], list[str]] = pkgutil.resolve_name(name)
            arguments = change(arguments)
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
