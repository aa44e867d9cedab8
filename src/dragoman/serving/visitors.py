"""Who may ask, and how often."""

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Collection

_REMEMBERED = 10_000  # clients whose requests are counted
_TOLD_APART = 200  # characters by which; a proxy may pass on any as an address


class Visitors:
    """Keys and rates.

    A client is its key, or else its address. Each may ask so many times a minute: a bucket that
    holds a minute's requests, and fills evenly.

    Args:
        keys: one of which every request must bring; none are asked for when there are none.
        per_minute: requests of a client; None is no limit.
        clock: seconds.
    """

    def __init__(
        self,
        keys: Collection[str] = (),
        per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = [key.encode() for key in keys]
        self._per_minute, self._clock = per_minute, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # left, when

    @property
    def need_key(self) -> bool:
        """Whether a request must bring a key."""
        return bool(self._keys)

    def knows(self, key: str | None) -> bool:
        """Say whether a request with this key may be answered; takes as long for any wrong key."""
        if not self._keys:
            return True
        given = (key or "").encode("utf-8", "surrogatepass")
        return sum(hmac.compare_digest(given, known) for known in self._keys) > 0

    def wait(self, client: str) -> float:
        """Count a request; say for how many seconds its client has to wait, 0 if it may go on."""
        if self._per_minute is None:
            return 0.0
        client = client[:_TOLD_APART]
        now, rate = self._clock(), self._per_minute / 60
        left, when = self._buckets.pop(client, (float(self._per_minute), now))
        left = min(self._per_minute, left + (now - when) * rate)
        short = max(0.0, 1 - left)
        self._buckets[client] = (left if short else left - 1, now)
        while len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return short / rate
