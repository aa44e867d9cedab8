"""Loss, speed and time since the last line of progress."""

import time


class Clock:
    """Seconds of this sitting and of the whole run.

    Args:
        before: seconds of earlier sittings.
    """

    def __init__(self, before: float = 0.0) -> None:
        self._before, self._start = before, time.monotonic()

    @property
    def sitting(self) -> float:
        """Seconds since this sitting began."""
        return time.monotonic() - self._start

    @property
    def seconds(self) -> float:
        """Seconds of all sittings."""
        return self._before + self.sitting


class Meter:
    """Mean loss and real target pieces per second since the last reset.

    Args:
        clock: tells the time.
        target_tokens: pieces seen before.
    """

    def __init__(self, clock: Clock, target_tokens: int) -> None:
        self._clock, self._seen = clock, target_tokens
        self.reset()

    def reset(self) -> None:
        """Begin again from now."""
        self._loss, self._tokens, self._since = 0.0, 0, self._clock.seconds

    def add(self, loss: float, target_tokens: int) -> None:
        """Take in one update: its summed loss in nats, and the pieces seen in the run so far."""
        self._loss += loss
        self._tokens += target_tokens - self._seen
        self._seen = target_tokens

    def leave_out(self, target_tokens: int) -> None:
        """Pass over one update that did nothing: its pieces have no loss."""
        self._seen = target_tokens

    @property
    def empty(self) -> bool:
        """Whether nothing was learned from since the last reset."""
        return self._tokens == 0

    @property
    def loss_nats(self) -> float:
        """Mean loss per target piece."""
        return self._loss / max(self._tokens, 1)

    @property
    def tokens_per_second(self) -> float:
        """Real target pieces per second."""
        return self._tokens / max(self._clock.seconds - self._since, 1e-9)
