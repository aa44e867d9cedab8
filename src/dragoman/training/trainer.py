"""One update after another: gradients over a window of batches, and what they do to the weights."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from dragoman.data import BatchSource, placeholder, share
from dragoman.training.checkpoint import Progress
from dragoman.training.config import TrainingConfig
from dragoman.training.distributed import Alone, Group, clip_gradients, divide_gradients
from dragoman.training.kernels import Kernels, using
from dragoman.training.objectives import Objective
from dragoman.training.sharded_weights import AnyWeights, ShardedWeights


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What one update did."""

    loss: float  # summed, in nats
    rate: float
    norm: float  # of the gradient, before clipping
    skipped: bool  # loss or gradient was not finite; the weights stayed as they were
    not_finite: Sequence[str]  # weights whose gradient was no number, the first few
    targets: int  # real ones, of all processes
    window: Sequence[Any]  # all batches of the update, whichever process computed them


class Trainer:
    """A model in training: weights, moments, data order and progress.

    Args:
        weights: the model, its optimizer and its precision.
        batches: endless, with a position that can be saved.
        objective: the summed loss of a batch, in nats.
        config: the training table.
        d_model: scales the paper's schedule.
        kernels: how to compute; PyTorch's own unless given.
        group: the processes that share the work of each update; one unless given.
    """

    def __init__(
        self,
        weights: AnyWeights,
        batches: BatchSource[Any],
        objective: Objective,
        config: TrainingConfig,
        d_model: int,
        *,
        kernels: Kernels | None = None,
        group: Group | None = None,
    ) -> None:
        self.weights, self.batches, self.config = weights, batches, config
        self.objective = objective
        self.kernels = Kernels() if kernels is None else kernels
        self.group = Alone() if group is None else group
        self.steps = config.last_step(batches.batches_in_epoch)
        self.rate = config.learning_rate(d_model, self.steps)
        self.progress = Progress(batches=batches.state())

    @property
    def done(self) -> bool:
        """Whether the last update has been made."""
        return self.progress.step >= self.steps

    def update(self) -> Update:
        """Make one update over ``accumulate`` batches.

        The gradient is that of the mean over all real target pieces of the whole update, of all
        processes. When the loss or the gradient is not finite the weights stay as they are.
        """
        self.weights.model.train()
        step = self.progress.step + 1
        whole = self._window()
        with using(self.kernels, self.weights.model):
            loss, targets = self._gradient(step, whole)
        scale = 1.0 if self.weights.scale is None else self.weights.scale.value
        norm = divide_gradients(self.weights.learned, max(targets, 1) * scale)
        skipped = not (math.isfinite(loss) and math.isfinite(norm))
        rate = self.rate(step)
        not_finite = self.weights.not_finite() if skipped else []
        if skipped or targets == 0:  # a mean over nothing moves nothing
            self.weights.forget()
        else:
            if self.config.clip_norm is not None:
                clip_gradients(self.weights.learned, norm, self.config.clip_norm)
            self.weights.step(step, rate)
        self._advance(step, targets, whole, skipped=skipped, overflow=self._overflow(loss, skipped))
        return Update(
            loss=loss,
            rate=rate,
            norm=norm,
            skipped=skipped,
            not_finite=not_finite,
            targets=targets,
            window=whole,
        )

    def restore(self, progress: Progress) -> None:
        """Take up the position of a checkpoint."""
        self.progress = progress
        self.batches.restore(dict(progress.batches))
        if self.weights.scale is not None and progress.loss_scale is not None:
            self.weights.scale.value = progress.loss_scale
            self.weights.scale.good = progress.good_updates

    def _window(self) -> list[Any]:
        window: list[Any] = []
        while len(window) < self.config.accumulate and not (
            self.config.epochs is not None and self.batches.epoch > self.config.epochs
        ):
            window.append(self.batches.next_batch())
        return window

    def _share(self, whole: Sequence[Any]) -> list[Any]:
        """Take this process's part of an update."""
        size = self.group.size
        mine = share(whole, self.group.rank, size)
        if not isinstance(self.weights, ShardedWeights) or len(whole) % size == 0:
            return mine
        # Split weights are gathered by all at once, so that all compute equally often.
        return mine + [placeholder(whole[0])] * (len(whole) - len(mine))

    def _gradient(self, step: int, whole: Sequence[Any]) -> tuple[float, int]:
        """Sum the gradient over all batches and processes; give summed loss and real targets."""
        loss, window = torch.zeros((), dtype=torch.float64), self._share(whole)
        rank, size = self.group.rank, self.group.size
        divided = len(whole) % size != 0  # by rows, otherwise batches are dealt out whole
        for number, batch in enumerate(window):
            # Dropout follows from here alone, whatever happened before, in whichever sitting; that
            # of a whole batch is the same whichever process computes it.
            place = (number, rank) if divided else (rank + number * size, 0)
            seed_dropout(self.config.seed, step, *place)
            summed = self.objective(batch)
            self.weights.backward(summed)
            loss += summed.detach().to(loss)
        targets = sum(batch.target_tokens for batch in window)
        if self.group.size == 1:
            return float(loss), targets
        self.weights.sum_over(self.group)
        totals = self.group.agree(torch.tensor([float(loss), targets], dtype=torch.float64))
        return float(totals[0]), round(float(totals[1]))

    def _overflow(self, loss: float, skipped: bool) -> bool:
        """Adapt the loss scale of fp16; whether it, not the data, is to blame for a skip."""
        scale = self.weights.scale
        if scale is None or not math.isfinite(loss):  # the factor comes after the loss
            return False
        if skipped:
            return scale.overflow()
        scale.good_update()
        return False

    def _advance(
        self, step: int, targets: int, whole: Sequence[Any], *, skipped: bool, overflow: bool
    ) -> None:
        before, scale = self.progress, self.weights.scale
        in_a_row = before.skipped_in_a_row if overflow else before.skipped_in_a_row + 1
        self.progress = replace(
            before,
            step=step,
            batches=self.batches.state(),
            order=_order(before.order, whole),
            target_tokens=before.target_tokens + targets,
            skipped=before.skipped + (skipped and not overflow),
            skipped_in_a_row=in_a_row if skipped else 0,
            loss_scale=None if scale is None else scale.value,
            good_updates=0 if scale is None else scale.good,
        )


def _order(before: str, whole: Sequence[Any]) -> str:
    """Digest which examples were learned from until now, in which batches and order."""
    digest = hashlib.sha256(before.encode())
    for batch in whole:
        digest.update(len(batch.examples).to_bytes(8, "little"))
        digest.update(batch.examples.astype("<i8").tobytes())
    return digest.hexdigest()[:16]


def seed_dropout(*numbers: int) -> None:
    """Let PyTorch's generators follow from ``numbers`` alone."""
    seed = np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]
    torch.manual_seed(int(seed))  # pyright: ignore[reportUnknownMemberType]  # torch's stub
