"""Whether the largest batches of a run fit in memory, found out before its first update.

A rehearsal runs forward and backward as an update would and changes nothing. Before it risks the
whole of a batch it measures small parts, each twice as large as the one before and foretold by it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from dragoman.data import Example
from dragoman.errors import ConfigError, TrainingError
from dragoman.training.batch_parts import (
    cut_by_rows,
    extrapolate,
    parts_of,
    shape_of,
    width_of,
)
from dragoman.training.distributed import Alone, Group, make_gradients
from dragoman.training.distributed.sharding import Split
from dragoman.training.kernels import Kernels, using
from dragoman.training.memory import available_memory, is_out_of_memory, peak_memory, readable
from dragoman.training.objectives import Objective
from dragoman.training.sharded_weights import AnyWeights

WORST = 3  # batches: most slots, most squares, most to say
MARGIN = 1.1  # on what is foretold: allocators round up, and kernels need room of their own
SHARE = 0.8  # of the free memory that a budget found here may use
STEP = 256  # budgets are multiples of it
CLOSE = 16  # a budget may be smaller than the largest by this part of it


class Worst(Protocol):
    """Batches that know their largest."""

    def largest(self, count: int = 2) -> Sequence[Any]:
        """Make the batches that need most memory in any epoch."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """The batch that needed most.

    Args:
        shape: in words.
        peak: bytes beside the weights: activations, gradients and the optimizer's moments.
    """

    shape: str
    peak: int


class Rehearsal:
    """Forward and backward of a batch that leave weights, gradients and generators as they were.

    Args:
        weights: of the run, with its optimizer.
        objective: the summed loss of a batch.
        kernels: how the run computes.
        example: gives the text of an example, and where it stands.
        group: the processes of the run, which decide together; one unless given.
        available: says how much memory a device has left, None where nothing says.
    """

    def __init__(
        self,
        weights: AnyWeights,
        objective: Objective,
        kernels: Kernels,
        example: Callable[[int], Example],
        *,
        group: Group | None = None,
        available: Callable[[torch.device], int | None] = available_memory,
    ) -> None:
        self.weights, self.objective, self.kernels = weights, objective, kernels
        self.example, self.available = example, available
        self.group = Alone() if group is None else group
        self.device = next(weights.model.parameters()).device

    def check(self, batches: Worst) -> Rehearsed:
        """Run the largest batches, each when it is likely to fit.

        Raises:
            TrainingError: one does not fit; it is described, with its longest lines.
        """
        free, moments = self._free(), missing_moments(self.weights)
        room = None if free is None else free - moments
        found: list[Rehearsed] = []
        for batch in batches.largest(WORST):
            if room is not None and (need := self.foretell(batch, room)) > room:
                raise self._too_large(batch, need + moments, free)
            peak = self._agreed(self._tried(batch, batch, free))
            if room is not None and peak > room:
                raise self._too_large(batch, peak + moments, free)
            found.append(Rehearsed(shape=shape_of(batch), peak=round(peak) + moments))
        return max(found, key=lambda one: one.peak)

    def budget(self, batches: Callable[[int], Worst], *, most: int) -> int:
        """Find the largest budget whose batches fit in ``SHARE`` of the free memory.

        Args:
            batches: makes the batches of a budget.
            most: the largest budget to think of.

        Returns:
            A multiple of ``STEP``, or ``most``.

        Raises:
            ConfigError: nothing says how much memory there is.
            TrainingError: not even the smallest budget fits.
        """
        free = self._free()
        if free is None:
            raise ConfigError(
                "training.batch_tokens",
                f'"auto" needs to know the free memory, which nothing says for {self.device}',
                "give a number, such as 4096",
            )
        room = SHARE * free - missing_moments(self.weights)
        too_large = self._too_large_in(batches(most), room)
        if too_large is None:
            return most
        fits, fails = 0, -(-most // STEP)  # in steps
        while fails - fits > max(1, fits // CLOSE):
            middle = (fits + fails) // 2
            found = self._too_large_in(batches(middle * STEP), room)
            fits, fails = (middle, fails) if found is None else (fits, middle)
            too_large = too_large if found is None else found
        if not fits:
            need, batch = too_large
            raise self._too_large(batch, need + SHARE * free - room, free)
        return fits * STEP

    def _too_large_in(self, batches: Worst, room: float) -> tuple[float, Any] | None:
        """Find one of the largest batches that would need more than ``room``, and how much."""
        for batch in batches.largest(WORST):
            need = self.foretell(batch, room)
            if need > room:
                return need, batch
        return None

    def foretell(self, batch: Any, room: float) -> float:  # Any: each task has its own
        """Say how many bytes a batch needs at its peak, ``MARGIN`` included, from parts of it.

        Parts double until even the bound of the whole is within ``room``, which is then given, or
        the next part might not be. No part holds more for each of its rows than a smaller one did.
        """
        degree, whole = (1, len(batch.examples)) if cut_by_rows(batch) else (2, width_of(batch))
        points: list[tuple[float, float]] = []
        need = 0.0
        for size, part in parts_of(batch):
            held = MARGIN * self._agreed(self._tried(part, batch, None))
            points.append((size, held))
            bound = held * (whole / size) ** degree
            if bound <= room:
                return bound
            curve = min(degree, len(points) - 1)
            need = min(extrapolate(points, curve, whole), bound) if curve else bound
            following = extrapolate(points, curve, min(2 * size, whole)) if curve else held
            if following > room:
                break
        return need

    def peak(self, batch: Any) -> int:  # Any: each task has its own
        """Run a batch forward and backward; say how many bytes that held beside the weights."""
        weights, model = self.weights, self.weights.model

        def work() -> None:
            make_gradients(weights.learned)
            weights.backward(self.objective(batch))

        training = model.training
        devices = [self.device] if self.device.type == "cuda" else []
        try:
            with _forked(devices), using(self.kernels, model.train()):
                return peak_memory(work, self.device)
        finally:
            weights.forget()
            model.train(training)

    def _tried(self, part: Any, whole: Any, free: int | None) -> int:
        """Run a part, or all, of a batch; without memory for it, speak of the whole."""
        try:
            return self.peak(part)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            raise self._too_large(whole, None, free) from error

    def _free(self) -> int | None:
        """Agree on the least free memory of all processes; on a processor they share it."""
        free = self.available(self.device)
        if self.group.size == 1:
            return free
        least = -self._agreed(-float("inf") if free is None else -free)
        share = self.group.size if self.device.type == "cpu" else 1
        return None if least == float("inf") else int(least / share)

    def _agreed(self, number: float) -> float:
        """Take the largest over all processes, so that all decide alike."""
        if self.group.size == 1:
            return number
        return float(self.group.agree(torch.tensor([number], dtype=torch.float64), "max")[0])

    def _too_large(self, batch: Any, need: float | None, free: int | None) -> TrainingError:
        needs = "" if need is None else f", which needs about {readable(need)}"
        has = "" if free is None else f" of which {readable(free)} is free"
        lines = "\n".join(f"  {line}" for line in _longest_lines(batch, self.example))
        return TrainingError(
            f"the largest batch, {shape_of(batch)}{needs}, does not fit in memory{has}; lower "
            "training.batch_tokens (and raise training.accumulate, which keeps updates as large) "
            "or data.max_length, or set training.activation_checkpointing = true; its longest "
            f"lines:\n{lines}"
        )


def _forked(devices: Sequence[torch.device]) -> AbstractContextManager[None]:
    """Put PyTorch's generators back after the block."""
    return torch.random.fork_rng(devices)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # torch's stub


def _longest_lines(batch: Any, example: Callable[[int], Example], most: int = 3) -> Iterator[str]:
    """Name the examples with most text, and show how each begins."""
    examples = [example(int(index)) for index in batch.examples]
    examples.sort(key=lambda one: -sum(map(len, one.texts)))
    for one in examples[:most]:
        text = one.texts[0].replace("\n", " ") if one.texts else ""
        yield f"{one.name}: {one.number}: {text if len(text) <= 60 else text[:60] + '...'}"


def missing_moments(weights: AnyWeights) -> int:
    """Count the bytes that the optimizer will take in its first update; 0 after that."""
    if weights.optimizer.state:
        return 0
    return sum(_moments(weights.optimizer, weight) for weight in _learning(weights))


def _moments(optimizer: torch.optim.Optimizer, weight: Tensor) -> int:
    size = weight.numel()
    if isinstance(optimizer, torch.optim.Adafactor):  # a number a row and one a column
        numbers = size / weight.size(-1) + size / weight.size(-2) if weight.dim() > 1 else size
        return round(numbers) * weight.element_size()
    if type(optimizer).__name__ == "Adam8bit" and size >= 4096:
        return 2 * size
    return 2 * size * weight.element_size()


def _learning(weights: AnyWeights) -> list[Tensor]:
    """Give the originals of the weights that learn; of split ones the rows kept here."""
    found = [weight for group in weights.optimizer.param_groups for weight in group["params"]]
    return [weight.to_local() if isinstance(weight, Split) else weight for weight in found]
