"""The parts of a run in progress: model, batches and kernels put together, and what it writes."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch import nn

from dragoman.bundle import save_bundle
from dragoman.configfile import read_record, write_record
from dragoman.data import Prefetched
from dragoman.errors import CheckpointError
from dragoman.evaluation import Validation
from dragoman.models import Model, build_model
from dragoman.recipe import Recipe
from dragoman.run.budget import fit_budget
from dragoman.run.card import measured, model_card
from dragoman.run.crash import CrashBundle
from dragoman.run.ending import Ending
from dragoman.run.folder import RunFolder
from dragoman.run.machine import machine_kernels
from dragoman.run.start_from import Start
from dragoman.run.tasks import Task
from dragoman.training import (
    Event,
    Hooks,
    Kernels,
    Notice,
    Rehearsal,
    ShardedWeights,
    Started,
    Trainer,
    Validated,
    Weights,
    compile_layers,
    describe_schedule,
    forget_products,
    freeze,
    load_checkpoint,
    readable,
    recompute_layers,
)
from dragoman.training.distributed import Group, lead


class CurrentRun:
    """One run in progress.

    Args:
        recipe: all choices, the metrics of validation included.
        folder: where it is kept.
        task: what is learned.
        group: the processes that share the run, this one's device among them.
        start: the model whose weights it begins with, if any.
    """

    def __init__(
        self,
        recipe: Recipe,
        folder: RunFolder,
        task: Task,
        group: Group,
        start: Start | None = None,
    ) -> None:
        self.recipe, self.folder, self.task, self.start = recipe, folder, task, start
        self.group, device, training = group, group.device, recipe.training
        forget_products()
        split = training.sharding == "full" and group.size > 1
        torch.manual_seed(training.seed)  # pyright: ignore[reportUnknownMemberType]  # torch's stub
        rng = torch.Generator().manual_seed(training.seed)
        self.model = build_model(task.config, rng)
        if not split:  # otherwise only its share needs to fit there
            self.model.to(device)
        if start is not None:
            start.fill(self.model, task.bundle(self.model).tokenizers)
        freeze(self.model, training.freeze)
        if training.activation_checkpointing:
            recompute_layers(self.model)
        if training.compile:
            compile_layers(self.model, device)
        self.kernels = self._kernels()
        weights = self._split_weights() if split else self._weights()
        loss = weights.loss if isinstance(weights, ShardedWeights) else self._loss
        self.rehearsal = Rehearsal(weights, loss, self.kernels, task.example, group=group)
        if training.batch_tokens == "auto":
            fit_budget(task, self.rehearsal, folder.budget_file)
        self.trainer = Trainer(
            weights,
            Prefetched(task.batches(), pin=device.type == "cuda"),
            loss,
            training,
            task.config.d_model,
            kernels=self.kernels,
            group=group,
        )
        self.trainer.progress = replace(self.trainer.progress, data=task.fingerprint)
        self.crash = CrashBundle(folder.path, recipe, task.example)

    @property
    def out_of_patience(self) -> bool:
        """Whether validations have not become better for too long."""
        patience = self.recipe.validation.patience
        return patience is not None and self.trainer.progress.validations_since_best >= patience

    def resume(self) -> Iterator[Notice]:
        """Go on from the newest whole checkpoint, which the leader finds, if there is one.

        Raises:
            CheckpointError: checkpoints exist but none can be read.
        """
        notices: list[Notice] = []

        def find() -> str:
            notices.extend(self.folder.resume(self.trainer))
            return str(self.trainer.progress.step)

        step = int(lead(self.group, find))
        if step and not self.group.leader:
            path = self.folder.checkpoints / f"step-{step:08d}"
            self.trainer.restore(load_checkpoint(path, self.trainer.weights, verify=False))
        yield from notices

    def check_data(self) -> None:
        """See that the run goes on with the text it began with, the same in every process.

        Raises:
            CheckpointError: it is another text.
        """
        if lead(self.group, self._checked_data) != self.task.fingerprint:
            raise CheckpointError(
                f"{self.folder.path}: process {self.group.rank + 1} reads another training text "
                "than process 1; give all of them the same files"
            )

    def notices(self) -> Iterator[Notice]:
        """Say how the run computes, what memory it needs, and how its learning rate goes.

        Raises:
            TrainingError: the largest batches do not fit in memory.
        """
        yield Notice(text=f"computing in {_described(self.kernels)}")
        training, trainer = self.recipe.training, self.trainer
        if training.batch_tokens == "auto":
            yield Notice(text=f"batches of up to {self.task.budget:,} tokens, as memory allows")
        if not trainer.done:
            worst = self.rehearsal.check(trainer.batches)
            yield Notice(
                text=f"largest batch: {worst.shape}, {readable(worst.peak)} beside the weights"
            )
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

    def keep(self, event: Validated, model: nn.Module) -> None:
        """Put the best weights so far into the run folder."""
        title = f"validation at update {event.step:,}"
        lines = measured(title, event.loss_nats, event.scores, event.signatures)
        self.write(model, f"best weights so far, of update {event.step:,}", lines)

    def write(self, model: nn.Module, weights: str, lines: Sequence[str] = ()) -> None:
        """Write the model folder with a model as it is."""
        data = [*(self.start.card() if self.start else ()), *self.task.card()]
        count = sum(weight.numel() for weight in model.parameters())
        said = f"{count:,} weights, trained in {_described(self.kernels)}"
        said += f", by {self.group.size} processes" if self.group.size > 1 else ""
        card = model_card(self.recipe, data, self.trainer.progress, weights, lines, model=said)
        save_bundle(self.folder.path, self.task.bundle(cast("Model", model)), card)

    def write_unfinished(self) -> None:
        """Write the model folder with the weights so far, unless it holds better ones already."""
        written = (self.folder.path / "model.safetensors").exists
        if lead(self.group, lambda: "written" if written() else ""):
            return
        with self.trainer.weights.original() as model:
            weights = f"weights after {self.trainer.progress.step:,} updates of an unfinished run"
            lead(self.group, lambda: self.write(model, weights))

    def finish(self) -> Iterator[Event]:
        """Choose between the best single weights and the average of the last checkpoints (6.1).

        It can take long, and the leader does it alone: the others need not wait.
        """
        with self.trainer.weights.original() as model:
            self.group.leave()
            if self.group.leader:
                end = Ending(self.recipe, self.folder, self.task, self.trainer.progress, self.write)
                yield from end.events(model)

    def _loss(self, batch: Any) -> torch.Tensor:  # Any: each task has a batch of its own
        return self.task.loss(self.model, batch)

    def _checked_data(self) -> str:
        if self.trainer.progress.data != self.task.fingerprint:
            raise CheckpointError(
                f"{self.folder.path}: the training text, or its tokenizer, is not what this run "
                "began with; put it back, or choose another --run"
            )
        return self.task.fingerprint

    def _weights(self) -> Weights:
        training, precision = self.recipe.training, self.kernels.precision
        return Weights(self.model, training.optimizer, precision=precision, average=training.ema)

    def _split_weights(self) -> ShardedWeights:
        training = self.recipe.training
        return ShardedWeights(
            self.model,
            training.optimizer,
            self._loss,
            self.group,
            precision=self.kernels.precision,
            average=training.ema,
        )

    def _kernels(self) -> Kernels:
        """Take the kernels this run began with, or those that the leader chooses now."""
        told = lead(self.group, lambda: json.dumps(write_record(self._chosen_kernels())))
        return read_record(Kernels, json.loads(told), file=str(self.folder.kernels_file))

    def _chosen_kernels(self) -> Kernels:
        training = self.recipe.training
        kernels = self.folder.kernels()
        if kernels is None or training.precision not in ("auto", kernels.precision):
            kernels = machine_kernels(self.model, training, self.group.device)
            self.folder.keep_kernels(kernels)
        return kernels


def _described(kernels: Kernels) -> str:
    longest = kernels.batched_attention
    attention = f"batched attention up to {longest} positions" if longest else "fused attention"
    products = ", products through oneDNN" if kernels.products == "medium" else ""
    return f"{kernels.precision}, {attention}{products}"
