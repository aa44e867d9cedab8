"""Gradients over windows of batches: exact, whatever the division into batches (FR 19)."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.configfile import write_record
from dragoman.data import (
    Batch,
    Batches,
    BatchSource,
    Files,
    IdStore,
    pair_batches,
    read_pairs,
    sample_corpus,
)
from dragoman.models import ModelConfig, build_model
from dragoman.nn import EncoderDecoder
from dragoman.recipe import Recipe, parse_recipe
from dragoman.run.tasks import Task, prepare_task
from dragoman.tokenization import TokenizerConfig, learn_bpe
from dragoman.training import (
    AdamConfig,
    Precision,
    Trainer,
    TrainingConfig,
    Weights,
    translation_loss,
)
from tests.run.tasks import test_classes, test_images, test_language, test_masked
from tests.run.test_resume import recipe_for

MULTI30K = Path(__file__).parents[3] / "shared/data/multi30k"
VOCABULARY = 600


class Watched(Weights):
    """Weights that keep the gradient of their last update."""

    gradient: list[Tensor]

    def step(self, number: int, rate: float) -> None:
        self.gradient = [w.grad.clone() for w in self.learned if w.grad is not None]
        super().step(number, rate)


class Listed:
    """Batches out of a list, as a source without end."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.given, self.number = list(batches), 0

    @property
    def epoch(self) -> int:
        return 1 + self.number // len(self.given)

    @property
    def batches_in_epoch(self) -> int:
        return len(self.given)

    def next_batch(self) -> Batch:
        self.number += 1
        return self.given[(self.number - 1) % len(self.given)]

    def whole_epoch(self) -> Iterator[Batch]:
        return iter(self.given)

    def largest(self, count: int = 2) -> Sequence[Batch]:
        return self.given[:count]

    def state(self) -> dict[str, int]:
        return {"epoch": self.epoch, "batch": self.number % len(self.given)}

    def restore(self, state: Mapping[str, int]) -> None:
        self.number = (state["epoch"] - 1) * len(self.given) + state["batch"]


def tiny_model() -> EncoderDecoder:
    config = ModelConfig(vocabulary=VOCABULARY, layers=1, d_model=16, heads=2, d_ff=32, dropout=0.0)
    model = build_model(config, torch.Generator().manual_seed(1))
    assert isinstance(model, EncoderDecoder)
    return model


def trainer_of(
    batches: Sequence[Batch],
    *,
    precision: Precision = "fp32",
    smoothing: float = 0.1,
    **config: Any,
) -> Trainer:
    weights = Watched(tiny_model(), AdamConfig(), precision=precision)
    return Trainer(
        weights,
        Listed(batches),
        lambda batch: translation_loss(weights.model, batch, smoothing=smoothing),  # type: ignore[arg-type]  # all are pairs
        TrainingConfig(warmup=10, **config),
        16,
    )


def gradient(trainer: Trainer) -> Tensor:
    """Make one update; give its gradient in one row."""
    trainer.update()
    assert isinstance(trainer.weights, Watched)
    return torch.cat([part.flatten() for part in trainer.weights.gradient])


def relative(one: Tensor, two: Tensor) -> float:
    return float((one - two).norm() / two.norm())


def pair(number: int, source: int, target: int) -> Batch:
    """One pair of random pieces, with so many on each side."""
    rng = torch.Generator().manual_seed(number)
    draw = [torch.randint(4, 99, (1, length), generator=rng) for length in (source, target, target)]
    return Batch(
        pairs=np.array([number]),
        source=draw[0],
        target_in=draw[1],
        target_out=draw[2],
        target_tokens=target,
        padding=0,
    )


def together(*batches: Batch) -> Batch:
    """Pad batches to one."""

    def stack(name: str) -> Tensor:
        rows = [row for batch in batches for row in getattr(batch, name)]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)

    return Batch(
        pairs=np.concatenate([batch.pairs for batch in batches]),
        source=stack("source"),
        target_in=stack("target_in"),
        target_out=stack("target_out"),
        target_tokens=sum(batch.target_tokens for batch in batches),
        padding=0,
    )


@pytest.fixture(scope="module")
def real() -> Batches[Batch]:
    """Multi30k where it lies beside the repository, the embedded corpus elsewhere."""
    if MULTI30K.is_dir():
        files = Files(source=MULTI30K / "val.de.gz", target=MULTI30K / "val.en.gz")
        pairs = [(pair.source, pair.target) for pair in read_pairs(files).pairs]
    else:
        pairs = list(sample_corpus(train=800).train)
    sides = [[text for text, _ in pairs[:800]], [text for _, text in pairs[:800]]]
    tokenizer = learn_bpe(sides[0] + sides[1], TokenizerConfig(size=VOCABULARY))
    ids = [IdStore.from_sequences(tokenizer.encode_many(side)) for side in sides]
    return pair_batches(*ids, budget=1024, special=tokenizer.special, seed=1)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_one_batch_of_4096_gives_the_gradient_of_four_of_1024(
    real: Batches[Batch], smoothing: float
) -> None:
    four = [real.next_batch() for _ in range(4)]
    counts = [batch.target_tokens for batch in four]
    assert len(set(counts)) == 4  # so that a mean of means would be another one
    small = gradient(trainer_of(four, accumulate=4, smoothing=smoothing))
    large = gradient(trainer_of([together(*four)], smoothing=smoothing))
    assert relative(small, large) < 1e-6


def test_a_pair_of_2_and_one_of_20_weigh_by_their_pieces() -> None:
    # Field report 19: PyTorch's own mean over all 22 pieces, and not the mean of two means.
    short, long = pair(1, 3, 2), pair(2, 5, 20)
    model, both = tiny_model().train(), together(short, long)
    logits = model(both.source, both.target_in)
    loss = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), both.target_out.flatten(), ignore_index=0, label_smoothing=0.1
    )
    right = torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))])
    split = gradient(trainer_of([short, long], accumulate=2))
    assert relative(split, right) < 1e-6
    assert relative(gradient(trainer_of([both])), right) < 1e-6
    means = (gradient(trainer_of([short])) + gradient(trainer_of([long]))) / 2
    assert relative(means, right) > 0.1


def test_the_loss_and_counts_are_those_of_the_whole_window() -> None:
    short, long = pair(1, 3, 2), pair(2, 5, 20)
    alone = [trainer_of([batch]).update().loss for batch in (short, long)]
    trainer = trainer_of([short, long], accumulate=2)
    update = trainer.update()
    assert update.loss == pytest.approx(sum(alone), rel=1e-6)
    assert (trainer.progress.step, trainer.progress.target_tokens) == (1, 22)


def test_a_partial_last_window_is_applied_with_its_own_count() -> None:
    # Three batches, two to an update: the second update has one. With all rates 0 it starts where
    # the first did.
    batches = [pair(1, 3, 9), pair(2, 4, 8), pair(3, 5, 7)]
    trainer = trainer_of(batches, accumulate=2, epochs=1)
    trainer.rate = lambda step: 0.0
    assert trainer.steps == 2
    gradient(trainer)
    last = gradient(trainer)
    assert trainer.done
    assert trainer.progress.target_tokens == 24
    assert relative(last, gradient(trainer_of([batches[2]]))) < 1e-6


def bits(trainer: Trainer) -> dict[str, Tensor]:
    tensors = trainer.weights.tensors() | trainer.weights.moments()
    return {name: tensor.clone() for name, tensor in tensors.items()}


def test_a_window_without_targets_moves_nothing_and_is_no_failure() -> None:
    # Adam alone would move on by its momentum.
    trainer = trainer_of([pair(1, 3, 4), pair(2, 3, 4).unasked(), pair(3, 3, 4)])
    trainer.update()
    before = bits(trainer)
    update = trainer.update()
    assert (update.loss, update.norm, update.skipped) == (0.0, 0.0, False)
    assert all(torch.equal(tensor, before[name]) for name, tensor in bits(trainer).items())
    assert (trainer.progress.step, trainer.progress.skipped) == (2, 0)
    assert trainer.progress.target_tokens == 4
    trainer.update()
    assert not all(torch.equal(tensor, before[name]) for name, tensor in bits(trainer).items())
    assert all(tensor.isfinite().all() for tensor in bits(trainer).values())


def test_part_of_a_window_without_targets_changes_nothing() -> None:
    asked, nothing = pair(1, 3, 4), pair(2, 7, 9).unasked()
    found = gradient(trainer_of([asked, nothing], accumulate=2))
    assert relative(found, gradient(trainer_of([asked]))) < 1e-6


@pytest.mark.parametrize("place", ["loss", "gradient"])
def test_what_is_no_number_is_skipped_counted_and_leaves_every_bit(place: str) -> None:
    trainer = trainer_of([pair(number, 3, 4) for number in range(4)])
    good, wrong = trainer.objective, float("nan") if place == "loss" else float("inf")

    def bad(batch: Any) -> Tensor:
        loss = good(batch)
        if place == "gradient":
            loss.register_hook(lambda gradient: gradient * wrong)
            return loss
        return loss * wrong

    trainer.update()
    before = bits(trainer)
    trainer.objective = bad
    for count in (1, 2):
        update = trainer.update()
        assert update.skipped
        assert update.not_finite
        assert (trainer.progress.skipped, trainer.progress.skipped_in_a_row) == (count, count)
    assert all(torch.equal(tensor, before[name]) for name, tensor in bits(trainer).items())
    trainer.objective = good
    assert not trainer.update().skipped
    assert (trainer.progress.skipped, trainer.progress.skipped_in_a_row) == (2, 0)
    assert trainer.progress.step == 4


def test_an_overflow_of_fp16_halves_its_scale_and_is_not_held_against_the_data() -> None:
    trainer = trainer_of([pair(number, 3, 4) for number in range(4)], precision="fp16")
    assert trainer.weights.scale is not None
    trainer.weights.scale.value = 2.0**23  # times a gradient above 1 / 128: more than 65504
    assert trainer.update().skipped
    assert trainer.progress.loss_scale == 2.0**22
    assert (trainer.progress.skipped, trainer.progress.skipped_in_a_row) == (0, 0)
    for _ in range(30):
        trainer.update()
    assert trainer.progress.good_updates > 0
    assert trainer.progress.target_tokens == 31 * 4


def test_a_loss_of_fp16_that_is_no_number_is_not_blamed_on_its_scale() -> None:
    trainer = trainer_of([pair(1, 3, 4)], precision="fp16")
    good = trainer.objective
    trainer.objective = lambda batch: good(batch) * float("nan")
    for count in (1, 2):
        assert trainer.update().skipped
        assert trainer.progress.skipped_in_a_row == count
    assert trainer.progress.loss_scale == 2.0**10


def test_dropout_follows_from_seed_and_update_alone() -> None:
    draws: list[float] = []
    for shift in (0, 5):
        torch.manual_seed(shift)
        trainer = trainer_of([pair(1, 3, 4), pair(2, 3, 4)], accumulate=2)
        good = trainer.objective
        seen: list[float] = []

        def watched(batch: Any, good: Any = good, seen: list[float] = seen) -> Tensor:
            seen.append(torch.rand(()).item())
            return good(batch)

        trainer.objective = watched
        trainer.update()
        trainer.update()
        assert len(set(seen)) == 4
        draws.extend(seen)
    assert draws[:4] == draws[4:]


def test_the_digest_of_the_order_tells_examples_batches_and_turns_apart() -> None:
    a, b = pair(1, 3, 4), pair(2, 3, 4)

    def order(batches: Sequence[Batch], accumulate: int = 1) -> str:
        trainer = trainer_of(batches, accumulate=accumulate)
        for _ in range(len(batches) // accumulate):
            trainer.update()
        return trainer.progress.order

    assert order([a, b]) == order([a, b]) != ""
    found = {order([a, b]), order([b, a]), order([a, a]), order([together(a, b)]), order([a])}
    assert len(found) == 5


IDS = """
import sys
from pathlib import Path
from dragoman.data import Prefetched
from tests.training.test_trainer import ids_of, task_of
print(ids_of(Prefetched(task_of(Path(sys.argv[1])).batches())))
"""


def task_of(folder: Path) -> Task:
    return prepare_task(recipe_for(folder), folder / "run", reuse=False)


def ids_of(batches: BatchSource[Batch]) -> list[list[int]]:
    """Name the examples of each batch of two epochs."""
    count = 2 * batches.batches_in_epoch
    return [batches.next_batch().examples.tolist() for _ in range(count)]


def test_the_ids_of_each_batch_depend_on_the_seed_alone(tmp_path: Path) -> None:
    # Field report 13: from text to batches, here and in a process with other hashes and a worker.
    done = subprocess.run(
        [sys.executable, "-c", IDS, str(tmp_path / "there")],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONHASHSEED": "77"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    ids = ids_of(task_of(tmp_path / "here").batches())
    assert json.loads(done.stdout) == ids
    first, second = ids[: len(ids) // 2], ids[len(ids) // 2 :]
    assert first != second
    for epoch in (first, second):  # 40 pairs, of which 4 are held out, each exactly once
        assert sorted(number for batch in epoch for number in batch) == list(range(36))


KINDS: dict[str, Callable[[Path], Recipe]] = {
    "pairs": recipe_for,
    "language": test_language.recipe_of,
    "masked": test_masked.recipe_of,
    "classes": test_classes.recipe_of,
    "images": test_images.recipe_of,
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_validation_loss_does_not_depend_on_the_budget(kind: str, tmp_path: Path) -> None:
    def loss(budget: int) -> float:
        recipe = parse_recipe(
            write_record(KINDS[kind](tmp_path / kind)),
            [f"training.batch_tokens={budget}", "validation.metrics=[]"],
        )
        task = prepare_task(recipe, tmp_path / f"{kind}-{budget}", reuse=False)
        model = build_model(task.config, torch.Generator().manual_seed(1))
        return task.validate(model).loss_nats

    expected = loss(1024)
    for budget in (256, 16_384):
        assert loss(budget) == pytest.approx(expected, rel=1e-6)


def test_the_scale_of_fp16_goes_on_where_it_was() -> None:
    batches = [pair(number, 3, 4) for number in range(4)]
    first, second = (trainer_of(batches, precision="fp16") for _ in range(2))
    assert first.weights.scale is not None
    first.weights.scale.value = 2.0**23
    for _ in range(30):
        first.update()
    second.restore(first.progress)
    assert second.weights.scale is not None
    assert second.weights.scale.value == first.weights.scale.value < 2.0**23
    assert second.weights.scale.good == first.weights.scale.good > 0
    assert second.batches.state() == first.batches.state()
