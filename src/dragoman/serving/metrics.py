"""Figures for Prometheus; no text of a user is in them."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from dragoman.serving.served import Served

_SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60)


class Metrics:
    """Counts of one server, not of the process.

    Args:
        models: whose queues are shown.
    """

    def __init__(self, models: Iterable[Served]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "dragoman_requests",
            "Requests by route and status.",
            ["route", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "dragoman_request_seconds",
            "Time to answer.",
            ["route"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.characters = Counter(
            "dragoman_characters", "Characters of texts accepted.", registry=self.registry
        )
        waiting = Gauge(
            "dragoman_waiting_characters",
            "Accepted and not yet done.",
            ["model"],
            registry=self.registry,
        )
        batches = Gauge(
            "dragoman_batches",
            "Batches done since the start: requests over these is how many share one.",
            ["model"],
            registry=self.registry,
        )
        for model in models:
            batches.labels(model.name).set_function(lambda queue=model.queue: queue.batches)
            waiting.labels(model.name).set_function(lambda queue=model.queue: queue.waiting)

    def text(self) -> bytes:
        """Write them as Prometheus reads them."""
        return generate_latest(self.registry)

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)
