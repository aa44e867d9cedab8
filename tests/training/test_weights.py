"""What learns, in float32 and in half precision."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.training import (
    AdamConfig,
    Precision,
    Progress,
    Weights,
    average_checkpoints,
    average_tensors,
    freeze,
    save_checkpoint,
)
from dragoman.training.distributed import clip_gradients, divide_gradients, make_gradients

HALVES: list[tuple[Precision, torch.dtype]] = [("bf16", torch.bfloat16), ("fp16", torch.float16)]
PRECISIONS: list[Precision] = ["fp32", "bf16", "fp16"]


class Tied(nn.Module):
    """One table read twice, as embedding and as output, and a matrix between."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.middle = nn.Embedding(5, 4), nn.Linear(4, 4)
        self.output = nn.Linear(4, 5, bias=False)
        self.output.weight = self.embed.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.middle(self.embed(x)))


def tied(seed: int = 1) -> Tied:
    torch.manual_seed(seed)
    return Tied()


def train(weights: Weights, updates: int = 3, first: int = 1) -> None:
    for step in range(first, first + updates):
        torch.manual_seed(step)
        x = torch.randint(5, (6,))
        loss = nn.functional.cross_entropy(weights.model(x).float(), x.roll(1), reduction="sum")
        weights.backward(loss)
        divide_gradients(weights.learned, 6 * scale_of(weights))
        weights.step(step, 0.01)


@pytest.mark.parametrize(("precision", "dtype"), HALVES)
def test_the_model_computes_in_half_precision_and_originals_stay_wide(
    precision: Precision, dtype: torch.dtype
) -> None:
    weights = Weights(tied(), AdamConfig(), precision=precision)
    before = weights.tensors()
    assert {tensor.dtype for tensor in before.values()} == {torch.float32}
    train(weights)
    assert {weight.dtype for weight in weights.model.parameters()} == {dtype}
    for name, weight in weights.model.named_parameters():
        assert torch.equal(weight, weights.tensors()[name].to(dtype))
    assert {x.dtype for x in weights.moments().values()} == {torch.float32}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_tied_table_learns_once_and_stays_tied(precision: Precision) -> None:
    weights = Weights(tied(), AdamConfig(), precision=precision, average=0.9)
    train(weights)
    assert list(weights.tensors()) == ["embed.weight", "middle.weight", "middle.bias"]
    model = weights.model
    assert isinstance(model, Tied)
    assert model.output.weight is model.embed.weight
    with weights.original():
        assert model.output.weight is model.embed.weight
        assert model.embed.weight.dtype == torch.float32


@pytest.mark.parametrize(("precision", "dtype"), HALVES)
def test_steps_too_small_for_half_precision_add_up(
    precision: Precision, dtype: torch.dtype
) -> None:
    # Adam moves 1 by the rate, 1e-5, at each update; next to 1 the half precisions are 5e-4 or
    # 4e-3 apart, so that they alone would stay at 1 for ever. By hand: 1 - 1000 · 1e-5 = 0.99, but
    # for 1000 roundings to float32 of 2^-25 at most.
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    weights = Weights(model, AdamConfig(), precision=precision)
    for step in range(1, 1001):
        weights.backward(model(torch.ones(1, 1, dtype=dtype)).float().sum())
        divide_gradients(weights.learned, 1 * scale_of(weights))
        weights.step(step, 1e-5)
    assert weights.tensors()["weight"].item() == pytest.approx(0.99, abs=3e-5)
    assert model.weight.item() == pytest.approx(0.99, abs=4e-3)


def scale_of(weights: Weights) -> float:
    return 1.0 if weights.scale is None else weights.scale.value


def gradients_of(weights: Weights) -> list[float]:
    return [float(weight.grad) for weight in weights.learned if weight.grad is not None]


@pytest.mark.parametrize(("precision", "dtype"), HALVES)
def test_gradients_of_many_batches_are_summed_in_float32(
    precision: Precision, dtype: torch.dtype
) -> None:
    # Gradients 256, 1, 1, ..., 1: in bfloat16 256 + 1 is 256 again; in float16 from 2048 on.
    first = {"bf16": 256.0, "fp16": 2048.0}[precision]
    model = nn.Linear(1, 1, bias=False)
    weights = Weights(model, AdamConfig(), precision=precision)
    if weights.scale is not None:
        weights.scale.value = 1.0
    for value in (first, *[1.0] * 16):
        weights.backward(model(torch.full((1, 1), value, dtype=dtype)).float().sum())
    assert gradients_of(weights) == [first + 16]


def test_the_scale_of_fp16_is_taken_out_again() -> None:
    model = nn.Linear(1, 1, bias=False)
    weights = Weights(model, AdamConfig(), precision="fp16")
    assert weights.scale is not None
    weights.backward(model(torch.full((1, 1), 3.0, dtype=torch.float16)).float().sum())
    assert gradients_of(weights) == [3.0 * weights.scale.value]
    assert divide_gradients(weights.learned, 2 * weights.scale.value) == 1.5


@pytest.mark.parametrize("largest", [0.1, 100.0])
def test_clipping_is_that_of_pytorch(largest: float) -> None:
    weights, twin = Weights(tied(), AdamConfig()), tied()
    x = torch.arange(5)
    for model in (weights.model, twin):
        model(x).square().sum().backward()
    norm = divide_gradients(weights.learned, 1)
    clip_gradients(weights.learned, norm, largest)
    assert norm == float(nn.utils.clip_grad_norm_(twin.parameters(), largest))
    for mine, theirs in zip(weights.learned, twin.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_weights_whose_gradient_is_no_number_are_named() -> None:
    weights = Weights(tied(), AdamConfig())
    make_gradients(weights.learned)
    gradients: Any = {n: w.grad for n, w in zip(weights.learning, weights.learned, strict=True)}
    gradients["middle.bias"][2] = float("nan")
    gradients["embed.weight"][0, 0] = float("inf")
    assert weights.not_finite() == ["embed.weight", "middle.bias"]
    assert weights.not_finite(most=1) == ["embed.weight"]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_was_saved_goes_on_bit_for_bit(precision: Precision) -> None:
    straight = Weights(tied(), AdamConfig(), precision=precision, average=0.9)
    train(straight, 3)
    tensors, moments = copy.deepcopy((straight.tensors(), straight.moments()))
    other = Weights(tied(seed=2), AdamConfig(), precision=precision, average=0.9)
    other.load(tensors, moments)
    for weights in (straight, other):
        train(weights, 2, first=4)
    for one, two in (
        (straight.tensors(), other.tensors()),
        (straight.moments(), other.moments()),
        (dict(straight.model.named_parameters()), dict(other.model.named_parameters())),
    ):
        assert one.keys() == two.keys()
        assert all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda tensors, moments: tensors.pop("middle.bias"),
        lambda tensors, moments: tensors.update(more=torch.zeros(1)),
        lambda tensors, moments: tensors.update({"middle.bias": torch.zeros(7)}),
        lambda tensors, moments: moments.update({"more.exp_avg": torch.zeros(1)}),
        lambda tensors, moments: moments.pop("middle.bias.average"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(
    spoil: Callable[[Any, Any], object],
) -> None:
    weights = Weights(tied(), AdamConfig(), average=0.9)
    train(weights)
    tensors, moments = copy.deepcopy((weights.tensors(), weights.moments()))
    before = copy.deepcopy((tensors, moments))
    for tensor in tensors.values():
        tensor.add_(1)
    spoil(tensors, moments)
    with pytest.raises(ModelError):
        weights.load(tensors, moments)
    for now, then in zip((weights.tensors(), weights.moments()), before, strict=True):
        assert all(torch.equal(now[name], then[name]) for name in then)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_validation_sees_the_average_and_training_goes_on_with_what_it_had(
    precision: Precision,
) -> None:
    weights = Weights(tied(), AdamConfig(), precision=precision, average=0.9)
    train(weights)
    computing = {name: w.detach().clone() for name, w in weights.model.named_parameters()}
    originals, moments = copy.deepcopy((weights.tensors(), weights.moments()))
    with weights.original() as model:
        for name, weight in model.named_parameters():
            assert torch.equal(weight, moments[f"{name}.average"])
            assert not torch.equal(weight, originals[name])
    with pytest.raises(KeyboardInterrupt), weights.original():
        raise KeyboardInterrupt
    for name, weight in weights.model.named_parameters():
        assert weight.dtype == computing[name].dtype
        assert torch.equal(weight, computing[name])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_frozen_weights_are_kept_but_do_not_move(precision: Precision) -> None:
    model = tied()
    freeze(model, ["middle.*"])
    weights = Weights(model, AdamConfig(), precision=precision)
    before = copy.deepcopy(weights.tensors())
    train(weights)
    moved = [name for name, x in weights.tensors().items() if not torch.equal(x, before[name])]
    assert moved == weights.learning == ["embed.weight"]
    assert {name.rpartition(".")[0] for name in weights.moments()} == {"embed.weight"}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_averaging_a_checkpoint_with_itself_gives_its_originals_once_and_tied(
    precision: Precision, tmp_path: Path
) -> None:
    # Field report 22: a table tied under two names, weights in half precision, counters inside.
    weights = Weights(tied(), AdamConfig(), precision=precision, average=0.9)
    train(weights)
    path = save_checkpoint(tmp_path, weights, Progress(step=3))
    averaged = average_checkpoints([path] * 3)
    assert averaged.keys() == weights.tensors().keys()
    assert all(torch.equal(averaged[name], x) for name, x in weights.tensors().items())
    moments = load_file(path / "optimizer.safetensors")
    counters = [name for name in moments if name.endswith(".step")]
    assert len(counters) == len(averaged)
    again = average_tensors([moments, {k: x.clone() for k, x in moments.items()}])
    assert all(torch.equal(again[name], moments[name]) for name in moments)


def test_checkpoints_of_half_precision_average_in_float32(tmp_path: Path) -> None:
    # Their originals differ by less than bfloat16 can say: the mean lies between all the same.
    model = nn.Linear(1, 1, bias=False)
    weights = Weights(model, AdamConfig(), precision="bf16")
    paths: list[Path] = []
    for step, value in enumerate((1.0, 1.0002), start=1):
        weights.load({"weight": torch.full((1, 1), value)}, {})
        paths.append(save_checkpoint(tmp_path, weights, Progress(step=step)))
    assert average_checkpoints(paths)["weight"].item() == pytest.approx(1.0001, abs=1e-7)
