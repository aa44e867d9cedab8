"""One architecture of a comparison, timed and counted; ``architectures.py`` asks for it."""

import math
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from report import Table
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from dragoman.nn import MultiHeadAttention
from dragoman.recipe import Recipe
from dragoman.run.example_batch import example_batch
from dragoman.run.plan import UpdatesHere
from dragoman.run.tasks import Task
from dragoman.training import Kernels, Trainer, translation_loss, using

LENGTHS = (8, 16, 32, 64, 128, 256)  # of sentences whose batches are all of the same size
BATCHED = (0, 128)  # longest sentence whose attention runs as batched products: tried
COUNTED = 4  # batches whose operations are counted


def _product_in_place(added: Any, a: Any, b: Any, **_: Any) -> int:  # Any: shapes, as torch's
    """Count a (n, k) product with (k, m) that is added to what is there, which PyTorch forgets."""
    return 2 * a[0] * a[1] * b[1]


UNCOUNTED = {torch.ops.aten.addmm_: _product_in_place}


def operations(work: Callable[[], object]) -> int:
    """Count the operations of matrix products and convolutions; a multiply-add is two.

    Recurrent layers run apart from oneDNN meanwhile, whose single call would hide their products.
    """
    counter = FlopCounterMode(display=False, custom_mapping=UNCOUNTED)
    with without_onednn(), counter:
        work()
    return counter.get_total_flops()


@contextmanager
def without_onednn() -> Generator[None]:
    """Let recurrent layers run as the operations they are made of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, on what oneDNN could do on other devices
        with torch.backends.mkldnn.flags(enabled=False):
            yield


def longest_chain(result: Tensor) -> int:
    """Count the operations that a result waits for, each waiting for the one before it.

    With ever more processors an update would still take that many steps one after the other.

    Args:
        result: needs a gradient; what PyTorch notes for it is followed back to the weights.
    """
    steps: dict[Any, int] = {}
    stack: list[Any] = [result.grad_fn]
    while stack:
        node = stack[-1]
        before = [each for each, _ in node.next_functions if each is not None]
        unknown = [each for each in before if each not in steps]
        if unknown:
            stack += unknown
            continue
        own = type(node).__name__ != "AccumulateGrad"  # stands for a weight, and computes nothing
        steps[node] = own + max((steps[each] for each in before), default=0)
        stack.pop()
    return steps[result.grad_fn]


class Side:
    """One variant, ready to make updates.

    Args:
        name: of the variant.
        recipe: all choices.
        task: its text.
    """

    def __init__(self, name: str, recipe: Recipe, task: Task) -> None:
        self.name, self.recipe = name, replace(recipe, model=task.config)
        self.here = UpdatesHere(self.recipe)
        endless = replace(recipe.training, steps=1_000_000, epochs=None)
        self.trainer = Trainer(
            self.here.weights,
            task.batches(),
            lambda batch: task.loss(self.here.model, batch),
            endless,
            self.here.config.d_model,
            kernels=self.here.kernels,
        )
        self._first = self.trainer.batches.state()
        self.speeds: list[float] = []
        self.busy: list[float] = []
        self.updates: list[float] = []

    def choose_kernels(self) -> None:
        """Take the fastest kernels by the processor's clock, which other work disturbs less.

        Those a run chooses are timed by the wall, and with others at work chance decides.
        """
        heads = any(isinstance(part, MultiHeadAttention) for part in self.here.model.modules())
        least = math.inf
        for products in ("highest", "medium"):
            for longest in BATCHED if heads else (0,):
                kernels = Kernels(products=products, batched_attention=longest)
                self.trainer.kernels = kernels
                seconds = min(self._busy_update() for _ in range(4))
                if seconds < least:
                    least, self.here.kernels = seconds, kernels
        self.trainer.kernels = self.here.kernels

    def _busy_update(self) -> float:
        start = time.process_time()
        pieces = self.trainer.update().targets
        return (time.process_time() - start) / pieces

    def forget(self) -> None:
        """Leave out what was noted so far, and begin with the first batch again."""
        self.trainer.batches.restore(self._first)
        self.speeds, self.busy, self.updates = [], [], []

    def go(self, updates: int) -> None:
        """Make updates, and note target pieces a second by the wall and by the processor."""
        wall, busy = time.perf_counter(), time.process_time()
        pieces = sum(self.trainer.update().targets for _ in range(updates))
        wall, busy = time.perf_counter() - wall, time.process_time() - busy
        self.speeds.append(pieces / wall)
        self.busy.append(pieces / busy)
        self.updates.append(updates / busy)

    def counted(self) -> Table:
        """Count operations of an update on real batches, padding included."""
        model, batches = self.here.model.train(), self.trainer.batches
        taken = [batches.next_batch() for _ in range(COUNTED)]
        total = operations(
            lambda: [translation_loss(model, one, smoothing=0.1).backward() for one in taken]
        )
        pieces = sum(batch.target_tokens for batch in taken)
        return {"operations_per_update": total / COUNTED, "operations_per_piece": total / pieces}

    def chains(self) -> list[Table]:
        """Count the longest chain of operations of a forward pass over one sentence, by length."""
        found: list[Table] = []
        for length in LENGTHS:
            batch: Any = example_batch(self.recipe, self.here.config, slots=length, length=length)
            with without_onednn():
                loss = translation_loss(self.here.model, batch, smoothing=0.1)
            found.append({"length": length, "operations": longest_chain(loss)})
        return found

    def busy_seconds(self, batch: Any) -> float:  # Any: a Batch of pairs
        """Say how long the processor works on one batch, forward and backward: the least of 3."""
        model, least = self.here.model.train(), math.inf
        with using(self.here.kernels, model):
            for _ in range(3):
                start = time.process_time()
                translation_loss(model, batch, smoothing=0.1).backward()
                least = min(least, time.process_time() - start)
        model.zero_grad()
        return least

    def by_length(self, slots: int) -> list[Table]:
        """Time updates on random batches of the same size, of short and of long sentences."""
        found: list[Table] = []
        for length in LENGTHS:
            batch = example_batch(self.recipe, self.here.config, slots=slots, length=length)
            pieces = batch.target_tokens
            found.append({"length": length, "pieces_per_second": pieces / self.busy_seconds(batch)})
        return found
