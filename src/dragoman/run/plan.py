"""``dragoman plan``: what a recipe needs on given hardware, and what a few updates take here."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from dragoman.device import choose_device
from dragoman.inspection import (
    PROCESSOR,
    Device,
    Format,
    MeasuredUpdate,
    Plan,
    PlanReport,
    Workload,
    devices,
    paper_run,
    parse_hardware,
)
from dragoman.models import build_model
from dragoman.recipe import Recipe
from dragoman.run.example_batch import (
    LENGTH,
    AnyBatch,
    example_batch,
    planned_config,
    real_loss,
    row_length,
    target_slots,
)
from dragoman.run.machine import machine_kernels
from dragoman.run.processor import processor_device, processor_speed, threads_of
from dragoman.run.workload import workload
from dragoman.training import (
    Kernels,
    Rehearsal,
    Trainer,
    Weights,
    forget_products,
    freeze,
    recompute_layers,
)

MOST = 1_024  # target places in a batch that is timed
PARTS = (4, 2)  # of a whole batch that are timed, where that is less
ROUNDS = (3, 10)  # least and most, of which the fastest counts
BRIEF = 2.0  # seconds, after which the least are enough
ENOUGH = 20.0  # seconds, after which no further round begins


def plan(
    recipe: Recipe,
    hardware: Sequence[str],
    *,
    title: str = "recipe",
    length: int = LENGTH,
    price: float | None = None,
    utilization: float | None = None,
    measure: bool = False,
) -> PlanReport:
    """Say what a training needs on devices; no data is read.

    Args:
        recipe: all choices.
        hardware: such as ``h100:8``; each known device alone when empty.
        title: names the recipe.
        length: pieces of each side of a sentence, or of a text to classify.
        price: of one device for an hour.
        utilization: share of the peak that an update reaches, instead of that of each device.
        measure: time a few updates on this machine too.

    Raises:
        ConfigError: no such hardware, or it cannot compute as the recipe asks.
    """
    slots = recipe.training.largest_budget
    steps = None if recipe.training.epochs is not None else recipe.training.last_step(1)
    config = planned_config(recipe)
    works = _Works(recipe, slots, length)
    plans: list[Plan] = []
    for name, count in map(parse_hardware, hardware or (*devices(), PROCESSOR)):
        device, precision, work = works.on(name, count)
        plans.append(
            Plan(
                name=name,
                device=device,
                count=count,
                precision=precision,
                work=work,
                steps=steps,
                price=price,
                utilization=utilization,
                paper=paper_run(config) if name == "p100" else None,
            )
        )
    return PlanReport(
        title=title,
        length=row_length(recipe, config, length),
        steps=steps,
        plans=plans,
        measured=UpdatesHere(recipe).measure(slots=slots, length=length) if measure else None,
    )


class _Works:
    """What an update of a recipe is on one device after another, counted once for those alike."""

    def __init__(self, recipe: Recipe, slots: int, length: int) -> None:
        self.recipe, self.slots, self.length = recipe, slots, length
        self._known: dict[Format, Workload] = {}  # on GPUs

    def on(self, name: str, count: int) -> tuple[Device, Format, Workload]:
        """Give a device, what it computes in, and the work."""
        if name == PROCESSOR:
            return self._on_processor(count)
        device = devices()[name]
        precision = device.format_for(self.recipe.training.precision)
        if precision not in self._known:
            self._known[precision] = workload(
                self.recipe,
                slots=self.slots,
                length=self.length,
                precision=precision,
                processor=False,
            )
        return device, precision, self._known[precision]

    def _on_processor(self, threads: int) -> tuple[Device, Format, Workload]:
        """Count and time as a run here would compute."""
        forget_products()
        config = planned_config(self.recipe)
        with torch.device("meta"):
            model = build_model(config)
        with threads_of(threads):
            kernels = machine_kernels(model, self.recipe.training, torch.device("cpu"))
            work = workload(
                self.recipe,
                slots=self.slots,
                length=self.length,
                precision=kernels.precision,
                processor=True,
                batched=kernels.batched_attention,
            )
            speed = processor_speed(work, kernels, width=config.d_model)
        return processor_device(speed, kernels.precision, threads), kernels.precision, work


class UpdatesHere:
    """A recipe's model in training on this machine, on whatever batches it is given.

    Args:
        recipe: all choices; its text is not read.
    """

    def __init__(self, recipe: Recipe) -> None:
        forget_products()
        self.recipe, self.config = recipe, planned_config(recipe)
        training = recipe.training
        self.device = choose_device("auto")
        rng = torch.Generator().manual_seed(training.seed)
        self.model = build_model(self.config, rng).to(self.device)
        freeze(self.model, training.freeze)
        if training.activation_checkpointing:
            recompute_layers(self.model)
        self.kernels: Kernels = machine_kernels(self.model, training, self.device)
        self.weights = Weights(
            self.model,
            training.optimizer,
            precision=self.kernels.precision,
            average=training.ema,
        )

    def measure(self, *, slots: int, length: int = LENGTH) -> MeasuredUpdate:
        """Time updates on small batches of random text, and the memory they hold.

        Args:
            slots: most target places of a whole batch.
            length: pieces of each side of a sentence.
        """
        width = row_length(self.recipe, self.config, length)
        largest = min(slots // PARTS[-1], MOST)
        sizes = sorted({max(2 * width, largest * PARTS[-1] // part) for part in PARTS})

        def batch(size: int) -> AnyBatch:
            return example_batch(self.recipe, self.config, slots=size, length=length)

        planned = workload(
            self.recipe,
            slots=sizes[-1],
            length=length,
            precision=self.kernels.precision,
            processor=self.device.type == "cpu",
            batched=self.kernels.batched_attention,
        )
        return MeasuredUpdate(
            where=self.described(),
            slots=tuple(target_slots(self.config, batch(size)) for size in sizes),
            seconds=tuple(self._fastest([batch(size) for size in sizes], accumulate=1)),
            peak_bytes=self.peak(batch(sizes[-1])),
            planned_bytes=planned.gradients + planned.held,
            whole=target_slots(self.config, batch(slots)),
            batches=self.recipe.training.accumulate,
        )

    def described(self) -> str:
        """Say where and how it computes."""
        threads = torch.get_num_threads()
        where = (
            f"{threads} {'thread' if threads == 1 else 'threads'} of the processor"
            if self.device.type == "cpu"
            else torch.cuda.get_device_name(self.device)
        )
        return f"{where}, {self.kernels.precision}"

    def seconds(self, batch: AnyBatch, *, accumulate: int = 1) -> float:
        """Time an update on one batch, or several alike: the fastest of a few after a first."""
        return self._fastest([batch], accumulate=accumulate)[0]

    def _fastest(self, batches: Sequence[AnyBatch], *, accumulate: int) -> list[float]:
        """Time updates on each of some batches, in turn, so that all meet the same disturbances."""
        trainers = self._trainers(batches, accumulate)
        for trainer in trainers:
            trainer.update()
        best, begun = [math.inf] * len(trainers), time.perf_counter()
        for number in range(1, ROUNDS[1] + 1):
            for place, trainer in enumerate(trainers):
                start = time.perf_counter()
                trainer.update()
                self._wait()
                best[place] = min(best[place], time.perf_counter() - start)
            spent = time.perf_counter() - begun
            if spent > ENOUGH or (number >= ROUNDS[0] and spent > BRIEF):
                break
        return best

    def train(self, batches: Sequence[AnyBatch], *, accumulate: int = 1) -> None:
        """Make an update on each of some batches."""
        for trainer in self._trainers(batches, accumulate):
            trainer.update()

    def _trainers(self, batches: Sequence[AnyBatch], accumulate: int) -> list[Trainer]:
        training = replace(
            self.recipe.training, steps=1_000_000, epochs=None, accumulate=accumulate
        )
        return [
            Trainer(
                self.weights,
                _Same(batch),
                self._loss,
                training,
                self.config.d_model,
                kernels=self.kernels,
            )
            for batch in batches
        ]

    def peak(self, batch: AnyBatch) -> int:
        """Say how many bytes forward and backward of a batch hold beside the weights."""
        return Rehearsal(self.weights, self._loss, self.kernels, _no_example).peak(batch)

    def _loss(self, batch: Any) -> torch.Tensor:  # Any: each task has a batch of its own
        return real_loss(self.model, batch, smoothing=self.recipe.training.label_smoothing)

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


class _Same:
    """One batch over and over, where a trainer expects those of a corpus."""

    epoch, batches_in_epoch = 1, 1

    def __init__(self, batch: AnyBatch) -> None:
        self._batch = batch

    def next_batch(self) -> AnyBatch:
        return self._batch

    def whole_epoch(self) -> Iterator[AnyBatch]:
        return iter((self._batch,))

    def largest(self, count: int = 2) -> Sequence[AnyBatch]:
        return (self._batch,)

    def state(self) -> dict[str, int]:
        return {}

    def restore(self, state: Mapping[str, int]) -> None:
        pass


def _no_example(index: int) -> Any:
    raise IndexError(f"example {index} of a plan, which reads none")
