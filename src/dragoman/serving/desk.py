"""Where requests are taken in: models by name, bounds of texts, answers in time."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from dragoman.errors import DragomanError
from dragoman.serving.batcher import OverloadedError, StoppedError
from dragoman.serving.limits import Limits
from dragoman.serving.metrics import Metrics
from dragoman.serving.served import Served, Way
from dragoman.serving.visitors import Visitors


class RefusedError(Exception):
    """A request that is not answered: a status of HTTP and the reason."""

    def __init__(self, status: int, reason: str, *, wait_seconds: float | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.wait_seconds = status, reason, wait_seconds


class Desk:
    """Takes requests for models.

    Args:
        models: at least one; the first answers where none is named.
        limits: of requests.
        visitors: who may ask.
    """

    def __init__(self, models: Sequence[Served], limits: Limits, visitors: Visitors) -> None:
        self.models = {model.name: model for model in models}
        self.limits, self.visitors = limits, visitors
        self.metrics = Metrics(models)
        self.stopping = False

    def model(self, name: str | None) -> Served:
        """Find a model.

        Raises:
            RefusedError: there is none of that name.
        """
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            known = ", ".join(self.models)
            raise RefusedError(404, f"model: there is no {name[:80]!r}; choose from {known}")
        return self.models[name]

    def admit(
        self, key: str | None, address: str, *, send: str = "Authorization: Bearer KEY"
    ) -> None:
        """Let a client ask, or not; ``send`` is how a key comes where it is asked for.

        Raises:
            RefusedError: its key is not known, or it asks too often.
        """
        if not self.visitors.knows(key):
            if key:
                raise RefusedError(403, "this key is not known here")
            raise RefusedError(401, f"a key is needed: send {send}")
        wait = self.visitors.wait(key if self.visitors.need_key and key else address)
        if wait:
            most = self.limits.requests_per_minute
            raise RefusedError(
                429, f"more than {most} requests a minute; wait {wait:.1f} s", wait_seconds=wait
            )

    def check(self, texts: Sequence[str], beam: int = 1) -> None:
        """See that texts are within the limits.

        Raises:
            RefusedError: there are too many, one is too long, or the beam is too wide.
        """
        limits = self.limits
        if len(texts) > limits.texts:
            raise RefusedError(413, f"{len(texts):,} texts, at most {limits.texts:,} at a time")
        for number, text in enumerate(texts):
            if len(text) > limits.text_characters:
                raise RefusedError(
                    413,
                    f"text {number}: {len(text):,} characters, at most "
                    f"{limits.text_characters:,}; send it in parts",
                )
        if beam > limits.beam:
            raise RefusedError(422, f"beam: {beam} is more than {limits.beam}")
        self.metrics.characters.inc(sum(map(len, texts)))

    def check_pairs(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        """See that pairs are within the limits; a model reads each in one piece.

        Raises:
            RefusedError: there are too many, or one is too long.
        """
        self.check([*sources, *targets])
        most = self.limits.pair_characters
        for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
            if (length := len(source) + len(target)) > most:
                raise RefusedError(
                    413, f"pair {number}: {length:,} characters, at most {most:,}; send it in parts"
                )

    def check_attention(self, model: Served, source: int, target: int) -> None:
        """See that the attention of a pair of so many pieces is within the limits.

        Raises:
            RefusedError: it is too much.
        """
        weights, most = model.attention_weights(source, target), self.limits.attention_weights
        if weights > most:
            raise RefusedError(
                413, f"{weights:,} weights of attention, at most {most:,}; ask for shorter texts"
            )

    def submit(
        self, model: Served, way: Way, items: Sequence[Any], *, bite: int | None = None
    ) -> list[Future[Any]]:
        """Put a request into the queue of a model, at most ``bite`` items of it in a batch.

        Raises:
            RefusedError: the queue is full, or never has so much room, or the server is stopping.
        """
        size, room = sum(model.sizes(way, items)), model.queue.room
        if size > room:
            raise RefusedError(413, f"{size:,} characters of work, at most {room:,} at a time")
        try:
            return model.submit(way, items, bite=bite)
        except OverloadedError:
            raise RefusedError(
                429, "too much is waiting already; try again in a moment", wait_seconds=1
            ) from None
        except StoppedError:
            raise RefusedError(503, "the server is stopping", wait_seconds=5) from None

    async def ask(self, model: Served, way: Way, items: Sequence[Any]) -> list[Any]:
        """Get the answers to a request, in order.

        Raises:
            RefusedError: it cannot be done, or not in time.
        """
        return await self.answers(self.submit(model, way, items))

    async def answers(self, futures: Sequence[Future[Any]]) -> list[Any]:
        """Wait for what was submitted; what is no longer waited for is left undone.

        Raises:
            RefusedError: it cannot be done, or not in time.
        """
        seconds = self.limits.seconds
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.gather(*map(asyncio.wrap_future, futures))
        except TimeoutError:
            raise RefusedError(
                503, f"not done within {seconds:g} s; send less, or try again", wait_seconds=seconds
            ) from None
        except (DragomanError, ValueError) as error:
            raise RefusedError(422, str(error)) from None
        finally:
            for future in futures:
                future.cancel()
