"""What the first process does for all: it alone reads and writes the folder of a run."""

import time
from collections.abc import Callable
from contextlib import suppress

from dragoman.errors import DragomanError
from dragoman.training.distributed.group import Group

_DONE, _FAILED = "done ", "failed"


class LeaderFailed(DragomanError):
    """The first process ended with an error, which it says itself; this one adds nothing."""


def lead(group: Group, work: Callable[[], str | None]) -> str:
    """Let the leader do something while the others wait; give the text it made to all.

    Every process must call it, and only the leader's ``work`` is done. The others wait as long as
    one waits for another at all.

    Raises:
        LeaderFailed: in the others, when the leader's work raised an error; without a text, so that
            the error is shown once.
    """
    if group.size == 1:
        return work() or ""
    if group.leader:
        try:
            text = work() or ""
        except Exception:
            with suppress(RuntimeError):  # the others are gone: the error itself says more
                group.tell(_FAILED)
            raise
        group.tell(_DONE + text)
        return text
    told = group.tell("")
    if told == _FAILED:
        # torchrun names the first error by whole seconds; the leader's must be the earlier one.
        time.sleep(1.01 - time.time() % 1)
        raise LeaderFailed
    return told.removeprefix(_DONE)
