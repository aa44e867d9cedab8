"""The one training loop: accumulate, step, validate, save. Yields events, never prints."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import torch
from torch import nn

from dragoman.data import Batches
from dragoman.errors import DragomanError
from dragoman.evaluation import Validation, lower_is_better
from dragoman.training.checkpoint import Progress, clean, save_checkpoint
from dragoman.training.config import TrainingConfig, ValidationConfig
from dragoman.training.events import Event, Saved, StepDone, Stopped, Validated
from dragoman.training.meter import Clock, Meter
from dragoman.training.objectives import Counted, Objective
from dragoman.training.optimizer import set_rate


class Validate(Protocol):
    """Score the validation set with the model as it is."""

    def __call__(self) -> Validation:
        """Give loss and metrics."""
        ...


class Trainer:
    """A model in training: weights, moments, data order and progress.

    Args:
        model: is changed in place.
        optimizer: over the model's weights.
        batches: endless, with a position that can be saved.
        objective: the summed loss of a batch, in nats.
        config: the training table.
        d_model: scales the paper's schedule.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        batches: Batches[Counted],
        objective: Objective,
        config: TrainingConfig,
        d_model: int,
    ) -> None:
        self.model, self.optimizer, self.batches, self.config = model, optimizer, batches, config
        self.objective = objective
        self.steps = config.last_step(batches.batches_in_epoch)
        self.rate = config.learning_rate(d_model, self.steps)
        self.progress = Progress(batches=batches.state())
        self.device = next(model.parameters()).device

    @property
    def done(self) -> bool:
        """Whether the last update has been made."""
        return self.progress.step >= self.steps

    def update(self, *, measure: bool = False) -> tuple[float, float, float]:
        """Make one update over ``accumulate`` batches.

        The gradient is that of the mean over all real target pieces of the whole update.

        Args:
            measure: also compute the norm of the gradient (needed only for a line of progress).

        Returns:
            Summed loss in nats, the learning rate used, the gradient norm before clipping (nan
            unless measured or clipped).
        """
        self.model.train()
        window = self._window()
        total = sum(batch.target_tokens for batch in window)
        loss = torch.zeros((), device=self.device)
        for batch in window:
            summed = self.objective(batch)
            (summed / total).backward()  # pyright: ignore[reportUnknownMemberType]  # torch's stub
            loss += summed.detach()
        step = self.progress.step + 1
        rate = self.rate(step)
        norm = self._gradient_norm(measure)
        set_rate(self.optimizer, rate)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.progress = replace(
            self.progress,
            step=step,
            batches=self.batches.state(),
            target_tokens=self.progress.target_tokens + total,
        )
        return float(loss), rate, norm

    def restore(self, progress: Progress) -> None:
        """Take up the position of a checkpoint."""
        self.progress = progress
        self.batches.restore(dict(progress.batches))

    def _window(self) -> list[Counted]:
        window: list[Counted] = []
        while len(window) < self.config.accumulate and not (
            self.config.epochs is not None and self.batches.epoch > self.config.epochs
        ):
            window.append(self.batches.next_batch())
        return window

    def _gradient_norm(self, measure: bool) -> float:
        weights = list(self.model.parameters())
        if self.config.clip_norm is not None:
            return float(torch.nn.utils.clip_grad_norm_(weights, self.config.clip_norm))
        if not measure:
            return math.nan
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        return float(torch.nn.utils.get_total_norm(gradients))


def training_loop(
    trainer: Trainer,
    folder: Path,
    validation: ValidationConfig,
    validate: Validate | None,
    *,
    on_best: Callable[[Validated], None],
    should_stop: Callable[[], str] = lambda: "",
) -> Iterator[Event]:
    """Train until the run is done or this sitting is over; the last update is always saved.

    Args:
        trainer: goes on from its progress.
        folder: of the checkpoints.
        validation: when to validate, and when to give up.
        validate: scores the validation set; None when there is none.
        on_best: called when a validation is the best so far.
        should_stop: asked after every update; a reason ends the sitting.

    Yields:
        StepDone, Validated, Saved; at last Stopped when the run goes on another time.

    Raises:
        CheckpointError: a checkpoint cannot be written.
        DragomanError: the loss is not a number.
    """
    config, clock = trainer.config, Clock(trainer.progress.seconds)
    meter, saved_at = Meter(clock, trainer.progress.target_tokens), trainer.progress.step
    stop = ""
    while not trainer.done and not stop:
        upcoming = trainer.progress.step + 1
        loss, rate, norm = trainer.update(
            measure=upcoming % config.log_every == 0 or upcoming == trainer.steps
        )
        step = trainer.progress.step
        if not math.isfinite(loss):
            raise DragomanError(
                f"update {step}: the loss is {loss}; go on from the checkpoint before with a lower "
                "learning rate, or set training.clip_norm"
            )
        meter.add(loss, trainer.progress.target_tokens)
        if step % config.log_every == 0 or trainer.done:
            yield StepDone(
                step=step,
                epoch=trainer.batches.epoch,
                loss_nats=meter.loss_nats,
                learning_rate=rate,
                gradient_norm=norm,
                target_tokens=trainer.progress.target_tokens,
                target_tokens_per_second=meter.tokens_per_second,
                seconds=clock.seconds,
            )
            meter.reset()
        if validate is not None and (step % validation.every == 0 or trainer.done):
            event = _validated(trainer, validation, validate(), clock)
            if event.best:
                on_best(event)
            yield event
            if _out_of_patience(trainer.progress, validation):
                stop = "patience"
            meter.reset()
        trainer.progress = replace(trainer.progress, seconds=clock.seconds)
        stop = stop or _sitting_over(trainer, clock) or should_stop()
        if step % config.checkpoint_every == 0 or trainer.done or stop:
            yield save(trainer, folder)
            saved_at = step
    if saved_at != trainer.progress.step:
        yield save(trainer, folder)
    if stop and stop != "patience" and not trainer.done:
        path = folder / f"step-{trainer.progress.step:08d}"
        step = trainer.progress.step
        yield Stopped(step=step, steps=trainer.steps, reason=stop, path=path)


def save(trainer: Trainer, folder: Path) -> Saved:
    """Write a checkpoint, then remove those no longer kept."""
    path = save_checkpoint(folder, trainer.model, trainer.optimizer, trainer.progress)
    clean(folder, keep=trainer.config.keep, every=trainer.config.checkpoint_every)
    return Saved(step=trainer.progress.step, path=path)


def better(validation: ValidationConfig, value: float, best: float | None) -> bool:
    """Whether a validation beats the best so far, by the first metric, or by the loss."""
    if best is None:
        return True
    return value < best if lower_is_better(validation.metrics) else value > best


def _validated(
    trainer: Trainer, validation: ValidationConfig, result: Validation, clock: Clock
) -> Validated:
    value = result.value(validation.metrics or ())
    best = better(validation, value, trainer.progress.best)
    progress = trainer.progress
    if best:
        progress = replace(progress, best=value, best_step=progress.step, validations_since_best=0)
    else:
        since = progress.validations_since_best + 1
        progress = replace(progress, validations_since_best=since)
    trainer.progress = progress
    values, signatures = result.by_metric()
    return Validated(
        step=progress.step,
        loss_nats=result.loss_nats,
        perplexity=result.perplexity,
        scores=values,
        signatures=signatures,
        best=best,
        seconds=clock.seconds,
    )


def _out_of_patience(progress: Progress, validation: ValidationConfig) -> bool:
    return (
        validation.patience is not None and progress.validations_since_best >= validation.patience
    )


def _sitting_over(trainer: Trainer, clock: Clock) -> str:
    config = trainer.config
    if trainer.done:
        return ""
    if config.stop_after is not None and trainer.progress.step >= config.stop_after:
        return f"stop_after = {config.stop_after}"
    if config.max_minutes is not None and clock.sitting >= 60 * config.max_minutes:
        return f"max_minutes = {config.max_minutes:g}"
    return ""
