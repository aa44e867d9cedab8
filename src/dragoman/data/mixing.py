"""Batches of several corpora in turn, as often as their shares say, and other shares later on.

A batch is of one corpus. An epoch has as many batches as all corpora together; each stage gives
every corpus its part of them, to the nearest batch, in a random order drawn anew in each epoch. A
corpus goes through its own pairs batch by batch, however long that takes: it loses none, and one
with a small share is read to its end before any of it comes again.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Annotated, Generic, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dragoman.configfile import record
from dragoman.data.batching import B, Batches
from dragoman.data.corpora import Corpus
from dragoman.errors import CheckpointError, ConfigError

Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@record
class Stage:
    """A stretch of training with shares of its own.

    Args:
        weights: how much of the batches is of each corpus, in their order; only ratios count.
        until: the last update of the stage; the last stage has none.
    """

    weights: tuple[Share, ...]
    until: Annotated[int, Field(ge=1, le=10**12)] | None = None

    def __post_init__(self) -> None:
        """Check what no single field can."""
        if not any(self.weights):
            raise ConfigError("weights", "nothing is left to learn from", "give one above 0")


@record
class Several:
    """Several corpora of parallel text; a list in a recipe stands for one without more choices.

    Args:
        parts: the corpora. Their weights say how much of the batches is of each.
        temperature: where no weights are given, shares go with the size of each corpus to the
            power 1 / temperature: 1 takes all text alike, 5 shows small corpora much more often
            (Arivazhagan et al. 2019, arXiv 1907.05019), and many times that all nearly equally.
        stages: shares that change in the course of training (a curriculum), instead of weights.
    """

    kind: Literal["several"] = "several"
    parts: tuple[Corpus, ...]
    temperature: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 1.0
    stages: tuple[Stage, ...] = ()

    def __post_init__(self) -> None:
        """Check what no single field can."""
        if not self.parts:
            raise ConfigError("parts", "there is no corpus", "give one")
        weights = [part.weight for part in self.parts]
        given = sum(weight is not None for weight in weights)
        if 0 < given < len(weights):
            raise ConfigError("parts", "some have a weight and some have none", "give all or none")
        if given and (self.stages or self.temperature != 1.0):
            hint = "leave out the weights, or temperature and stages"
            raise ConfigError("parts", "weights leave nothing to choose", hint)
        for number, stage in enumerate(self.stages, start=1):
            last = number == len(self.stages)
            before = self.stages[number - 2].until if number > 1 else 0
            if len(stage.weights) != len(self.parts):
                problem = f"{len(stage.weights)} weights for {len(self.parts)} corpora"
                raise ConfigError(f"stages.{number}.weights", problem, "give one for each")
            if not last and (stage.until is None or stage.until <= (before or 0)):
                raise ConfigError(f"stages.{number}.until", "stages must follow each other")
            if last and stage.until is not None:
                hint = "leave out until: the last stage lasts to the end"
                raise ConfigError(f"stages.{number}.until", "the last stage has an end", hint)

    def shares(self, batches: Sequence[int]) -> list[tuple[NDArray[np.float64], int | None]]:
        """Say for each stage what share of the batches is of each corpus, and its last update.

        Args:
            batches: of each corpus.
        """
        if self.stages:
            return [(_normal(stage.weights), stage.until) for stage in self.stages]
        if self.parts[0].weight is not None:
            return [(_normal([part.weight or 0.0 for part in self.parts]), None)]
        return [(_normal(np.asarray(batches) ** (1 / self.temperature)), None)]


def parts_of(corpus: "Several | Corpus") -> tuple[Corpus, ...]:
    """List the corpora that one may stand for."""
    return corpus.parts if isinstance(corpus, Several) else (corpus,)


class MixedBatches(Generic[B]):
    """The batches of several corpora; see ``BatchSource``.

    Args:
        parts: the batches of each corpus.
        mixture: their shares.
        accumulate: batches of an update.
        seed: of the order.
    """

    def __init__(
        self, parts: Sequence[Batches[B]], mixture: Several, *, accumulate: int, seed: int
    ) -> None:
        self._parts = [copy(part) for part in parts]
        self._seed = seed
        self._total = sum(part.batches_in_epoch for part in parts)
        shares = mixture.shares([part.batches_in_epoch for part in parts])
        self._counts = [_apportion(share, self._total) for share, _ in shares]
        ends = [None if until is None else until * accumulate for _, until in shares]
        self._starts = [0, *(end for end in ends if end is not None)]
        self._drawn = [np.zeros(len(parts), dtype=np.int64)]  # of each corpus, before each stage
        for stage in range(1, len(self._starts)):
            inside = self._drawn_in_stage(stage - 1, self._starts[stage] - self._starts[stage - 1])
            self._drawn.append(self._drawn[-1] + inside)
        self._go_to(0)

    @property
    def epoch(self) -> int:
        """The epoch of the next batch, from 1."""
        return self._next // self._total + 1

    @property
    def batches_in_epoch(self) -> int:
        """Batches of an epoch: those of all corpora."""
        return self._total

    def next_batch(self) -> B:
        """Give the next batch."""
        batch = self._parts[self._which(self._next)].next_batch()
        self._next += 1
        return batch

    def whole_epoch(self) -> Iterator[B]:
        """Give as many batches as an epoch has, from where it began, without moving on."""
        other = self.at({"epoch": self.epoch, "batch": 0})
        for _ in range(self._total):
            yield other.next_batch()

    def largest(self, count: int = 2) -> list[B]:
        """Make the batches of each corpus that need most memory, without moving on."""
        return [batch for part in self._parts for batch in part.largest(count)]

    def at(self, state: Mapping[str, int]) -> "MixedBatches[B]":
        """Give the same batches with a position of their own.

        Raises:
            CheckpointError: as ``restore`` does.
        """
        other = copy(self)
        other._parts = [copy(part) for part in self._parts]
        other.restore(state)
        return other

    def state(self) -> dict[str, int]:
        """Say where the next batch is: its epoch, from 1, and its number in it, from 0."""
        return {"epoch": self.epoch, "batch": self._next % self._total}

    def restore(self, state: Mapping[str, int]) -> None:
        """Go to where ``state`` was taken.

        Raises:
            CheckpointError: there is no such place, since the data or the budget was another.
        """
        epoch, batch = state.get("epoch", 0), state.get("batch", -1)
        if epoch < 1 or not 0 <= batch < self._total:
            raise CheckpointError(
                f"no batch {batch} in epoch {epoch}, which has {self._total}; "
                "continue with the data and training.batch_tokens the run began with"
            )
        self._go_to((epoch - 1) * self._total + batch)

    def _go_to(self, number: int) -> None:
        self._next = number
        self._order: tuple[tuple[int, int], NDArray[np.int64]] | None = None
        stage = self._stage(number)
        drawn = self._drawn[stage] + self._drawn_in_stage(stage, number - self._starts[stage])
        for part, count in zip(self._parts, drawn.tolist(), strict=True):
            epoch, batch = divmod(count, part.batches_in_epoch)
            part.restore({"epoch": epoch + 1, "batch": batch})

    def _stage(self, number: int) -> int:
        """Say in which stage a batch is."""
        return int(np.searchsorted(self._starts, number, side="right")) - 1

    def _which(self, number: int) -> int:
        """Say of which corpus a batch is."""
        stage = self._stage(number)
        round_, place = divmod(number - self._starts[stage], self._total)
        if self._order is None or self._order[0] != (stage, round_):
            self._order = (stage, round_), self._draw(stage, round_)
        return int(self._order[1][place])

    def _drawn_in_stage(self, stage: int, batches: int) -> NDArray[np.int64]:
        """Count the batches of each corpus among the first of a stage."""
        rounds, rest = divmod(batches, self._total)
        counts = self._counts[stage]
        begun = np.bincount(self._draw(stage, rounds)[:rest], minlength=counts.size)
        return counts * rounds + begun

    def _draw(self, stage: int, round_: int) -> NDArray[np.int64]:
        """Draw the order of as many batches as an epoch has: which corpus each is of."""
        counts = self._counts[stage]
        rng = np.random.default_rng([self._seed, stage, round_, 1])
        return rng.permutation(np.repeat(np.arange(counts.size), counts))


def _normal(weights: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.asarray(weights, dtype=np.float64)
    shares = shares / shares.max()  # so that no sum is infinite
    shares[(shares == 0) & (np.asarray(weights) > 0)] = np.finfo(np.float64).tiny
    return shares / shares.sum()


def _apportion(shares: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """Divide batches by share, to whole ones by largest remainder; a share above 0 gets one.

    Needs no fewer batches than there are shares.
    """
    counts = np.floor(shares * total).astype(np.int64)
    counts[(shares > 0) & (counts == 0)] = 1
    while counts.sum() != total:
        behind = shares * total - counts
        if counts.sum() < total:
            counts[int(behind.argmax())] += 1
        else:
            counts[int(np.where(counts > 1, behind, np.inf).argmin())] -= 1
    return counts
