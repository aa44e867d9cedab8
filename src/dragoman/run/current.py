"""The parts of a run in progress: model, batches and kernels put together, and what it writes."""

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import nn

from dragoman.bundle import load_weights, read_tensors, save_bundle
from dragoman.data import Prefetched
from dragoman.errors import CheckpointError
from dragoman.evaluation import Validation
from dragoman.models import build_model
from dragoman.recipe import Recipe
from dragoman.run.card import measured, model_card
from dragoman.run.crash import CrashBundle
from dragoman.run.folder import RunFolder
from dragoman.run.machine import machine_kernels
from dragoman.run.start_from import Start
from dragoman.run.tasks import Task
from dragoman.training import (
    Event,
    Finished,
    Hooks,
    Kernels,
    Notice,
    Started,
    Trainer,
    Validated,
    Weights,
    average_checkpoints,
    better,
    describe_schedule,
    freeze,
)


class CurrentRun:
    """One run in progress.

    Args:
        recipe: all choices, the metrics of validation included.
        folder: where it is kept.
        task: what is learned.
        device: where the model computes.
        start: the model whose weights it begins with, if any.
    """

    def __init__(
        self,
        recipe: Recipe,
        folder: RunFolder,
        task: Task,
        device: torch.device,
        start: Start | None = None,
    ) -> None:
        self.recipe, self.folder, self.task, self.start = recipe, folder, task, start
        training = recipe.training
        torch.manual_seed(training.seed)  # pyright: ignore[reportUnknownMemberType]  # torch's stub
        rng = torch.Generator().manual_seed(training.seed)
        self.model = build_model(task.config, rng).to(device)
        if start is not None:
            start.fill(self.model, task.bundle(self.model).tokenizers)
        freeze(self.model, training.freeze)
        self.kernels = self._kernels(device)
        self.trainer = Trainer(
            Weights(
                self.model,
                training.optimizer,
                precision=self.kernels.precision,
                average=training.ema,
            ),
            Prefetched(task.batches(), pin=device.type == "cuda"),
            lambda batch: task.loss(self.model, batch),
            training,
            task.config.d_model,
            kernels=self.kernels,
        )
        self.trainer.progress = replace(self.trainer.progress, data=task.fingerprint)
        self.crash = CrashBundle(folder.path, recipe, task.example)

    @property
    def out_of_patience(self) -> bool:
        """Whether validations have not become better for too long."""
        patience = self.recipe.validation.patience
        return patience is not None and self.trainer.progress.validations_since_best >= patience

    def check_data(self) -> None:
        """See that the run goes on with the text it began with.

        Raises:
            CheckpointError: it is another text.
        """
        if self.trainer.progress.data != self.task.fingerprint:
            raise CheckpointError(
                f"{self.folder.path}: the training text is not what this run began with; put it "
                "back, or choose another --run"
            )

    def notices(self) -> Iterator[Notice]:
        """Say how the run computes and how its learning rate goes."""
        yield Notice(text=f"computing in {_described(self.kernels)}")
        training, trainer = self.recipe.training, self.trainer
        described = describe_schedule(trainer.rate, steps=trainer.steps, warmup=training.warmup)
        yield Notice(text=described)

    def started(self) -> Started:
        """Say what is about to begin."""
        return Started(
            step=self.trainer.progress.step,
            steps=self.trainer.steps,
            parameters=sum(weight.numel() for weight in self.model.parameters()),
            pairs=self.task.examples,
            batches_per_epoch=self.trainer.batches.batches_in_epoch,
        )

    def hooks(self, should_stop: Callable[[], str]) -> Hooks:
        """Give the training loop what this run does beside training."""
        return Hooks(
            validate=self.validate if self.task.validated else None,
            on_best=self.keep,
            on_skip=self.crash.take,
            should_stop=should_stop,
        )

    def validate(self, model: nn.Module) -> Validation:
        """Score the validation set."""
        return self.task.validate(model)

    def keep(self, event: Validated) -> None:
        """Put the best weights so far into the run folder."""
        title = f"validation at update {event.step:,}"
        lines = measured(title, event.loss_nats, event.scores, event.signatures)
        self.write(f"best weights so far, of update {event.step:,}", lines)

    def write(self, weights: str, lines: Sequence[str] = ()) -> None:
        """Write the model folder with the model as it is."""
        data = [*(self.start.card() if self.start else ()), *self.task.card()]
        card = model_card(self.recipe, data, self.trainer.progress, weights, lines)
        save_bundle(self.folder.path, self.task.bundle(self.model), card)

    def finish(self) -> Iterator[Event]:
        """Choose between the best single weights and the average of the last checkpoints (6.1)."""
        with self.trainer.weights.original():
            yield from self._finish()

    def _finish(self) -> Iterator[Event]:
        progress = self.trainer.progress
        lines: list[str] = []
        weights = self._average()
        if self.task.validated:
            result = self.validate(self.model)
            if self._best_beats(result):
                yield Notice(text=f"not better than update {progress.best_step:,}: the {weights}")
                weights = f"best weights, of update {progress.best_step:,}"
                self._load(read_tensors(self.folder.path / "model.safetensors"))
                result = self.validate(self.model)
            lines += measured("validation", result.loss_nats, *result.by_metric())
        lines += self.task.test(self.model)
        if progress.skipped:
            lines.append(f"{progress.skipped:,} updates were skipped: their loss was no number")
        yield from (Notice(text=line) for line in lines)
        self.write(weights, lines)
        yield Finished(
            step=progress.step, path=self.folder.path, weights=weights, seconds=progress.seconds
        )

    def _kernels(self, device: torch.device) -> Kernels:
        """Take the kernels this run began with, or choose them now."""
        training = self.recipe.training
        kernels = self.folder.kernels()
        if kernels is None or training.precision not in ("auto", kernels.precision):
            kernels = machine_kernels(self.model, training, device)
            self.folder.keep_kernels(kernels)
        return kernels

    def _average(self) -> str:
        """Load the average of the last checkpoints, if there are several; say what it is."""
        training = self.recipe.training
        if training.ema is not None:
            return f"moving average of the weights ({training.ema:g})"
        last = self.folder.latest(training.average_last, every=training.checkpoint_every)
        if len(last) < 2:
            return f"weights of update {self.trainer.progress.step:,}"
        self._load(average_checkpoints(last))
        return f"average of the last {len(last)} checkpoints"

    def _best_beats(self, result: Validation) -> bool:
        validation, best = self.recipe.validation, self.trainer.progress.best
        value = result.value(self.task.metrics)
        noise = self.task.metrics[:1] == ("bleu",) and max(value, best or 0.0) < 1.0
        if value == best or noise:  # the same weights, or a BLEU that says nothing
            return False
        return validation.keep_best and best is not None and not better(validation, value, best)

    def _load(self, weights: Mapping[str, torch.Tensor]) -> None:
        load_weights(self.model, weights, str(self.folder.path))


@contextmanager
def repeatable(wanted: bool, device: torch.device) -> Generator[None]:
    """Allow PyTorch only what gives the same bits every time, while the block runs.

    Raises:
        RuntimeError: inside the block, by an operation that has no such form on the device.
    """
    if not wanted:
        yield
        return
    if device.type == "cuda":  # cuBLAS reads it when it starts
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def _described(kernels: Kernels) -> str:
    longest = kernels.batched_attention
    attention = f"batched attention up to {longest} positions" if longest else "fused attention"
    products = ", products through oneDNN" if kernels.products == "medium" else ""
    return f"{kernels.precision}, {attention}{products}"
