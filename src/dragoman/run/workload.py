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
from torch.utils.flop_counter import FlopCounterMode

from dragoman.data import Example
from dragoman.errors import ConfigError
from dragoman.inspection import Format, Workload
from dragoman.models import RecurrentConfig, build_model
from dragoman.recipe import Recipe
from dragoman.run.example_batch import (
    example_batch,
    planned_config,
    row_length,
    target_slots,
)
from dragoman.run.stand_ins import on_meta, planned_loss, stand_in
from dragoman.training import Kernels, Rehearsal, Weights, freeze, missing_moments, recompute_layers


def workload(
    recipe: Recipe, *, slots: int, length: int, precision: Format, processor: bool
) -> Workload:
    """Count what one update needs.

    Args:
        recipe: all choices; its text is not read.
        slots: most target places in a batch.
        length: pieces of each side of a sentence.
        precision: what products run in: fp32, bf16 or fp16.
        processor: whether a processor computes, which has ways of its own.

    Raises:
        ConfigError: the model is recurrent.
    """
    if isinstance(recipe.model, RecurrentConfig):  # packed rows, and kernels that tell nothing
        raise ConfigError(
            "model.architecture",
            "recurrent models run in a library that does not say what it needs",
            "train a few updates instead: --set training.stop_after=20",
        )
    width = row_length(recipe, planned_config(recipe), length)
    sizes = (max(slots, 2 * width), max(slots // 2, width))
    count = partial(_count, recipe, length, precision, processor)
    whole, half = count(sizes[0]), count(sizes[1])
    growth = (whole.held - half.held) / (whole.slots - half.slots)
    return replace(whole, held_anyway=max(0.0, whole.held - growth * whole.slots))


def _count(recipe: Recipe, length: int, precision: Format, processor: bool, slots: int) -> Workload:
    """Run forward and backward of one batch on the meta device."""
    training, config = recipe.training, planned_config(recipe)
    with torch.device("meta"):
        model = build_model(config)
    freeze(model, training.freeze)
    stand_in(model, processor=processor)
    if training.activation_checkpointing:
        recompute_layers(model)
    originals = _weight_bytes(model)
    weights = Weights(
        model, training.optimizer, precision=_own_name(precision), average=training.ema
    )
    copies = _weight_bytes(model)
    batch = example_batch(recipe, config, slots=slots, length=length)
    loss: Any = partial(planned_loss, model, smoothing=training.label_smoothing)
    kernels = Kernels(precision=_own_name(precision))
    rehearsal = Rehearsal(weights, loss, kernels, _no_example)
    batch = on_meta(batch)
    held = rehearsal.peak(batch)
    with FlopCounterMode(display=False, custom_mapping=UNCOUNTED) as counter:
        rehearsal.peak(batch)  # apart, as the counter holds on to what checkpoints let go
    gradients = sum(weight.numel() * weight.element_size() for weight in weights.learned)
    kept = originals * (1 if training.ema is None else 2) + copies * (copies != originals)
    return Workload(
        parameters=sum(weight.numel() for weight in model.parameters()),
        slots=target_slots(config, batch),
        batches=training.accumulate,
        operations=counter.get_total_flops(),
        weights=kept,
        gradients=gradients,
        moments=missing_moments(weights),
        held=held - gradients,
        held_anyway=0,
        copies=copies,
        split=training.sharding == "full",
    )


def _product_in_place(added: Any, a: Any, b: Any, **_: Any) -> int:  # Any: shapes, as torch's
    """Count a (n, k) product with (k, m) that is added to what is there, which PyTorch forgets."""
    return 2 * a[0] * a[1] * b[1]


UNCOUNTED = {torch.ops.aten.addmm_: _product_in_place}


def _own_name(precision: Format) -> Literal["fp32", "bf16", "fp16"]:
    return "fp32" if precision == "tf32" else precision


def _weight_bytes(model: nn.Module) -> int:
    return sum(weight.numel() * weight.element_size() for weight in model.parameters())


def _no_example(index: int) -> Example:
    raise IndexError(f"example {index} of a plan, which reads none")
