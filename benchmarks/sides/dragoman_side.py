"""Dragoman's side: the parts that ``dragoman train`` puts together, on given batches.

All that the benchmark knows of Dragoman's training is in this file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from workload import END, PADDING, START, PlainBatch, Setup

from dragoman.data import Batch, IdStore
from dragoman.data.batching import collate
from dragoman.models import build_model
from dragoman.recipe import Recipe, parse_recipe
from dragoman.run.tasks import prepare_task
from dragoman.tokenization import SpecialIds
from dragoman.training import (
    Trainer,
    Weights,
    choose_kernels,
    forget_products,
    translation_loss,
)


def recipe_of(setup: Setup, source: Path, target: Path, *, slots: int) -> Recipe:
    """Say the setup as a recipe."""
    training = {
        "steps": 1_000,
        "batch_tokens": slots,
        "optimizer": {
            "kind": "adam",
            "beta1": setup.betas[0],
            "beta2": setup.betas[1],
            "eps": setup.eps,
        },
        "schedule": {"kind": "constant", "peak": setup.rate},
        "warmup": 0,
        "label_smoothing": setup.smoothing,
        "seed": setup.seed,
        "precision": setup.precision,
    }
    return parse_recipe(
        {
            "data": {"train": {"source": str(source), "target": str(target)}},
            "tokenizer": {"size": setup.vocabulary, "joint": True},
            "model": {
                "layers": setup.layers,
                "d_model": setup.d_model,
                "d_ff": setup.d_ff,
                "heads": setup.heads,
                "dropout": setup.dropout,
                "attention_dropout": setup.attention_dropout,
                "attention_bias": True,  # as the peers have
                "tied": "all",
                "initialization": "normal",  # as the Marian peer has
            },
            "training": training,
        }
    )


def prepare(
    recipe: Recipe, folder: Path, *, count: int, least: float
) -> tuple[list[Batch], tuple[float, float], int]:
    """Learn the vocabulary and plan batches as a run would.

    Args:
        recipe: names the text.
        folder: gets the tokenizer.
        count: batches wanted.
        least: share of the budget that the fuller side of a batch has to fill.

    Returns:
        The first full batches of the first epoch, again from the start when there are too few; the
        padding of source and target in the whole epoch; the size of the vocabulary.
    """
    task = prepare_task(recipe, folder)
    epoch = list(task.batches().whole_epoch())
    full = [
        batch
        for batch in epoch
        if max(batch.source.numel(), batch.target_out.numel())
        >= least * recipe.training.batch_tokens
    ]
    if not full:
        raise SystemExit("the text fills no batch; give more of it, or lower --slots")
    padding = (
        _padding([batch.source for batch in epoch]),
        _padding([batch.target_out for batch in epoch]),
    )
    chosen = [full[number % len(full)] for number in range(count)]
    return chosen, padding, task.config.vocabulary or 0


def _padding(sides: Sequence[Tensor]) -> float:
    slots = sum(side.numel() for side in sides)
    return sum(int((side == PADDING).sum()) for side in sides) / slots


def train(setup: Setup, batches: Sequence[PlainBatch]) -> Iterator[float]:
    """Make one update on each batch; give its loss in nats per real target."""
    # The text is not read: the batches are given.
    recipe = recipe_of(setup, Path("unread"), Path("unread"), slots=_most_slots(batches))
    forget_products()
    torch.manual_seed(setup.seed)
    rng = torch.Generator().manual_seed(setup.seed)
    model = build_model(replace(recipe.model, vocabulary=setup.vocabulary), rng)
    training = recipe.training
    kernels = choose_kernels(
        model, training.precision, torch.device("cpu"), deterministic=training.deterministic
    )
    trainer = Trainer(
        Weights(model, training.optimizer, precision=kernels.precision),
        _Given(batches),
        lambda batch: translation_loss(model, batch, smoothing=setup.smoothing),
        training,
        setup.d_model,
        kernels=kernels,
    )
    for batch in batches:
        yield trainer.update().loss / batch.target_tokens


def _most_slots(batches: Sequence[PlainBatch]) -> int:
    return max(max(batch.source.numel(), batch.target_out.numel()) for batch in batches)


def _own(batch: PlainBatch) -> Batch:
    """Make the same batch with Dragoman's own means."""
    special = SpecialIds(padding=PADDING, start=START, end=END)
    sources, targets = (
        IdStore.from_sequences(row[row != PADDING][:-1].tolist() for row in side)
        for side in (batch.source, batch.target_out)  # without padding and end
    )
    made = collate(np.arange(len(sources)), sources, targets, special)
    same = torch.equal(made.source, batch.source) and torch.equal(made.target_in, batch.target_in)
    if not same or not torch.equal(made.target_out, batch.target_out):
        raise SystemExit("the batch is not the one that the other sides get")
    return made


class _Given:
    """Given batches where the trainer expects those of a corpus: one epoch, over and over."""

    def __init__(self, batches: Sequence[PlainBatch]) -> None:
        self._batches = [_own(batch) for batch in batches]
        self._done = 0

    @property
    def epoch(self) -> int:
        return 1 + self._done // len(self._batches)

    @property
    def batches_in_epoch(self) -> int:
        return len(self._batches)

    def next_batch(self) -> Batch:
        batch = self._batches[self._done % len(self._batches)]
        self._done += 1
        return batch

    def whole_epoch(self) -> Iterator[Batch]:
        return iter(self._batches)

    def largest(self, count: int = 2) -> list[Batch]:
        return self._batches[:count]  # they are all full

    def state(self) -> dict[str, int]:
        return {"epoch": self.epoch, "batch": self._done % len(self._batches)}

    def restore(self, state: Mapping[str, int]) -> None:
        self._done = (state["epoch"] - 1) * len(self._batches) + state["batch"]
