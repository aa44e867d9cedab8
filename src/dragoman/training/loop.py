"""The one training loop: update, validate, save. Yields events, never prints."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import torch
from torch import nn

from dragoman.evaluation import Score, Validation, lower_is_better
from dragoman.training.checkpoint import Progress, clean, save_checkpoint
from dragoman.training.config import ValidationConfig
from dragoman.training.distributed import Group, lead
from dragoman.training.events import Event, Saved, Skipped, StepDone, Stopped, Validated
from dragoman.training.meter import Clock, Meter
from dragoman.training.trainer import Trainer, Update


class Validate(Protocol):
    """Score the validation set with the model as it is."""

    def __call__(self, model: nn.Module) -> Validation:
        """Give loss and metrics."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What a run does beside training. Of several processes the first does it, the others wait.

    Args:
        validate: scores the validation set with the full weights; None when there is none.
        on_best: called when a validation is the best so far, with the full weights.
        on_skip: called after an update that did nothing, before the run goes on; it may raise.
        should_stop: asked after every update, in every process; a reason ends the sitting of all.
    """

    validate: Validate | None = None
    on_best: Callable[[Validated, nn.Module], None] = lambda event, model: None
    on_skip: Callable[[Trainer, Update], None] = lambda trainer, update: None
    should_stop: Callable[[], str] = lambda: ""


def training_loop(
    trainer: Trainer, folder: Path, validation: ValidationConfig, hooks: Hooks
) -> Iterator[Event]:
    """Train until the run is done or this sitting is over; the last update is always saved.

    Args:
        trainer: goes on from its progress.
        folder: of the checkpoints.
        validation: when to validate, and when to give up.
        hooks: what the run does beside.

    Yields:
        StepDone, Skipped, Validated, Saved; at last Stopped when the run goes on another time.

    Raises:
        CheckpointError: a checkpoint cannot be written.
    """
    config, clock = trainer.config, Clock(trainer.progress.seconds)
    meter, saved_at = Meter(clock, trainer.progress.target_tokens), trainer.progress.step
    stop = "patience" if _out_of_patience(trainer.progress, validation) else ""
    while not trainer.done and not stop:
        update = trainer.update()
        step = trainer.progress.step
        if update.skipped:
            yield _skipped(trainer, update)
            meter.leave_out(trainer.progress.target_tokens)
            if trainer.progress.skipped_in_a_row >= config.max_skipped:
                yield save(trainer, folder)  # the good updates before are kept
            lead(trainer.group, partial(hooks.on_skip, trainer, update))
        else:
            meter.add(update.loss, trainer.progress.target_tokens)
        if (step % config.log_every == 0 or trainer.done) and not meter.empty:
            yield _step_done(trainer, update, meter, clock)
            meter.reset()
        if hooks.validate is not None and (step % validation.every == 0 or trainer.done):
            yield _validate(trainer, validation, hooks.validate, hooks.on_best, clock)
            if _out_of_patience(trainer.progress, validation):
                stop = "patience"
            meter.reset()
        trainer.progress = replace(trainer.progress, seconds=clock.seconds)
        stop = stop or _agreed(trainer.group, _sitting_over(trainer, clock) or hooks.should_stop())
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
    path = save_checkpoint(folder, trainer.weights, trainer.progress, trainer.group)
    if trainer.group.leader:
        clean(folder, keep=trainer.config.keep, every=trainer.config.checkpoint_every)
    return Saved(step=trainer.progress.step, path=path)


def _skipped(trainer: Trainer, update: Update) -> Skipped:
    return Skipped(
        step=trainer.progress.step,
        loss_nats=update.loss / max(update.targets, 1),
        gradient_norm=update.norm,
        in_a_row=trainer.progress.skipped_in_a_row,
        loss_scale=trainer.progress.loss_scale,
    )


def _step_done(trainer: Trainer, update: Update, meter: Meter, clock: Clock) -> StepDone:
    return StepDone(
        step=trainer.progress.step,
        epoch=trainer.batches.epoch,
        loss_nats=meter.loss_nats,
        learning_rate=update.rate,
        gradient_norm=update.norm,
        target_tokens=trainer.progress.target_tokens,
        target_tokens_per_second=meter.tokens_per_second,
        seconds=clock.seconds,
        order=trainer.progress.order,
    )


def better(validation: ValidationConfig, value: float, best: float | None) -> bool:
    """Whether a validation beats the best so far, by the first metric, or by the loss."""
    if best is None:
        return True
    return value < best if lower_is_better(validation.metrics) else value > best


def _validate(
    trainer: Trainer,
    config: ValidationConfig,
    validate: Validate,
    on_best: Callable[[Validated, nn.Module], None],
    clock: Clock,
) -> Validated:
    """Score the full weights, and keep them if they are the best so far."""
    group = trainer.group
    with trainer.weights.original() as model:
        told = lead(group, lambda: json.dumps(asdict(validate(model))))
        event = _validated(trainer, config, _validation(told), clock)
        if event.best:
            lead(group, lambda: on_best(event, model))
    return event


def _validation(told: str) -> Validation:
    """Read what the leader found; JSON keeps every bit of a number."""
    found = json.loads(told)
    return Validation(found["loss_nats"], tuple(Score(**score) for score in found["scores"]))


def _agreed(group: Group, reason: str) -> str:
    """Give a reason to stop of any process, the first one's before others, to all."""
    if not int(group.agree(torch.tensor(int(bool(reason))), "max")):
        return ""
    return next(filter(None, group.collect(reason)))


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
