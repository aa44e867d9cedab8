"""The server around the application: a socket, signals, a stop that finishes what was accepted."""

import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType

import uvicorn

from dragoman.errors import ConfigError
from dragoman.serving.app import make_app
from dragoman.serving.connection import connections
from dragoman.serving.limits import Limits
from dragoman.serving.served import Served

STOPPING = (signal.SIGINT, signal.SIGTERM)
TURN_SECONDS = 0.0005  # of one thread before another that waits goes on: many work a moment each
CLOSING_SECONDS = 5.0  # kept for answers to be sent, beside the time that a request may take


class _Server(uvicorn.Server):
    """Tells the application when it is asked to stop; being asked so is no error."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop at a signal, and do not raise it again afterwards."""
        before = {each: signal.signal(each, self.handle_exit) for each in STOPPING}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Accept nothing more; at the second interruption answer nothing more."""
        self.config.app.state.desk.stopping = True  # pyright: ignore  # ours, see serve
        super().handle_exit(sig, frame)


def serve(
    models: Sequence[Served],
    *,
    host: str = "127.0.0.1",
    port: int = 5000,
    limits: Limits | None = None,
    keys: Sequence[str] = (),
    log_requests: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Answer requests until interrupted or terminated; then finish what was accepted.

    Args:
        models: at least one.
        host: address to listen at; others than this machine reach only one that is not loopback.
        port: 0 takes a free one.
        limits: of requests.
        keys: one of which every request must bring; none are asked for when there are none.
        log_requests: a line for each request: address, path and status, never its text.
        say: is told where it listens.

    Raises:
        ConfigError: the address cannot be listened at.
    """
    limits = limits or Limits()
    listening = _listen(host, port)
    config = uvicorn.Config(
        make_app(models, limits, keys=keys),
        log_level=logging.INFO if log_requests else logging.ERROR,
        access_log=log_requests,
        timeout_graceful_shutdown=round(limits.seconds + CLOSING_SECONDS),
        http=connections(limits),
        ws="none",
        server_header=False,
    )
    server = _Server(config)
    shown = f"[{host}]" if ":" in host else host
    gc.collect()
    gc.freeze()  # models stay; looking through them again and again is a third of a request's time
    say(f"listening at http://{shown}:{listening.getsockname()[1]}")
    turn = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        server.run(sockets=[listening])
    finally:
        sys.setswitchinterval(turn)
        for model in models:
            model.queue.stop(limits.seconds)
    say("stopped; all that was accepted has been answered")


def _listen(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(1024)  # who comes now waits until the loop runs
    except OSError as error:
        listening.close()
        problem = f"{host}:{port}: {error.strerror or error}"
        raise ConfigError("--host, --port", problem, "choose others") from None
    return listening
