"""What one update of a recipe is, found without data and without memory for it.

The model and a batch are made on PyTorch's meta device, which knows shapes and stores nothing.
Forward and backward run there as in a training, while the bytes that tensors would hold and the
operations of products are counted. What cannot run without numbers has a stand-in of the same
shapes.
"""

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import torch
from torch import nn

from dragoman.data import Example
from dragoman.inspection import Format, Workload
from dragoman.models import build_model
from dragoman.recipe import Recipe
from dragoman.run.example_batch import (
    example_batch,
    planned_config,
    row_length,
    target_slots,
)
from dragoman.run.stand_ins import BATCHED, on_meta, planned_loss, stand_in
from dragoman.run.traffic import Traffic
from dragoman.training import (
    Kernels,
    Rehearsal,
    TensorBytes,
    TrainingConfig,
    Weights,
    freeze,
    missing_moments,
    recompute_layers,
)

LARGE = 32 * 2**20  # bytes that glibc gives back to the system at once (DEFAULT_MMAP_THRESHOLD_MAX)


def workload(
    recipe: Recipe,
    *,
    slots: int,
    length: int,
    precision: Format,
    processor: bool,
    batched: int = BATCHED,
) -> Workload:
    """Count what one update needs.

    Args:
        recipe: all choices; its text is not read.
        slots: most target places in a batch.
        length: pieces of each side of a sentence.
        precision: what products run in: fp32, bf16 or fp16.
        processor: whether a processor computes, which has ways of its own.
        batched: longest sentence that a processor attends to by batched products.
    """
    width = row_length(recipe, planned_config(recipe), length)
    sizes = (max(slots, 2 * width), max(slots // 2, width))
    longest = batched if processor else 0
    count = partial(_count, recipe, length, precision, longest, processor)
    whole, half = count(sizes[0]), count(sizes[1])
    growth = (whole.held - half.held) / (whole.slots - half.slots)
    return replace(whole, held_anyway=max(0.0, whole.held - growth * whole.slots))


def _count(
    recipe: Recipe, length: int, precision: Format, batched: int, processor: bool, slots: int
) -> Workload:
    """Run forward and backward of one batch on the meta device."""
    training, config = recipe.training, planned_config(recipe)
    with torch.device("meta"):
        model = build_model(config)
    freeze(model, training.freeze)
    stand_in(model, processor=processor, batched=batched)
    if training.activation_checkpointing:
        recompute_layers(model)
    originals = _weight_bytes(model)
    weights = Weights(
        model, training.optimizer, precision=_own_name(precision), average=training.ema
    )
    copies = _weight_bytes(model)
    batch = on_meta(example_batch(recipe, config, slots=slots, length=length))
    loss: Any = partial(planned_loss, model, smoothing=training.label_smoothing)
    rehearsal = Rehearsal(weights, loss, Kernels(precision=_own_name(precision)), _no_example)
    with Traffic() as traffic, TensorBytes(below=LARGE) as small:
        held = rehearsal.peak(batch)
    gradients = sum(weight.numel() * weight.element_size() for weight in weights.learned)
    moments = missing_moments(weights)
    averaged = 0 if training.ema is None else originals
    half = copies if copies != originals else 0
    return Workload(
        parameters=sum(weight.numel() for weight in model.parameters()),
        slots=target_slots(config, batch),
        batches=training.accumulate,
        operations=traffic.operations,
        products=dict(traffic.products),
        moved=traffic.moved,
        operators=traffic.operators,
        # The norm reads all gradients, a factor is put on them; the optimizer reads and writes.
        updated=4 * gradients + 2 * (originals + moments + averaged) + half,
        weights=originals + averaged + half,
        gradients=gradients,
        moments=moments,
        held=held - gradients,
        held_anyway=0,
        small=small.peak,
        copies=copies,
        saved=originals,
        remembered=moments + averaged,
        averaged=_averaged(training),
        split=training.sharding == "full",
    )


def _averaged(training: TrainingConfig) -> int:
    """Say how many checkpoints a run averages at its end; 0 when it does not."""
    if training.ema is not None or training.average_last < 2:
        return 0
    if training.epochs is not None:
        return training.average_last
    saved = -(-training.last_step(1) // training.checkpoint_every)
    count = min(training.average_last, saved)
    return count if count > 1 else 0


def _own_name(precision: Format) -> Literal["fp32", "bf16", "fp16"]:
    return "fp32" if precision == "tf32" else precision


def _weight_bytes(model: nn.Module) -> int:
    return sum(weight.numel() * weight.element_size() for weight in model.parameters())


def _no_example(index: int) -> Example:
    raise IndexError(f"example {index} of a plan, which reads none")
