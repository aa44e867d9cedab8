"""What a plan counts without numbers, against hand counts and real updates."""

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from dragoman.inspection import count_parameters
from dragoman.models import build_model
from dragoman.recipe import Recipe, parse_recipe
from dragoman.run.example_batch import example_batch, planned_config, real_loss
from dragoman.run.workload import workload
from dragoman.training import Kernels, Rehearsal, Weights, using
from dragoman.training.distributed import make_gradients

# Products that PyTorch's counter leaves out, by the formula of those it has: 2 n k m.
FORGOTTEN = {
    torch.ops.aten.addmm_: lambda a, b, c, **_: 2 * b[0] * b[1] * c[1],
    torch.ops.aten.mv: lambda a, b, **_: 2 * a[0] * a[1],
}
PAIRS = {"train": {"source": "a", "target": "b"}}
TEXT = {"train": {"text": "a"}}
SMALL = {"layers": 2, "d_model": 32, "heads": 4, "d_ff": 64}


def recipe_of(model: dict[str, Any], data: dict[str, Any] = PAIRS, **training: Any) -> Recipe:
    table = {"data": data, "tokenizer": {"size": 400}, "model": model, "training": training}
    return parse_recipe(table)


def count(recipe: Recipe, slots: int = 256, precision: Any = "fp32") -> Any:
    return workload(recipe, slots=slots, length=16, precision=precision, processor=True)


def real_training(recipe: Recipe) -> tuple[Any, Weights, Any]:
    """Build a model in earnest, with its optimizer and a batch of 32 rows of 16 places."""
    config = planned_config(recipe)
    model = build_model(config)
    batch = example_batch(recipe, config, slots=512, length=16)
    return model, Weights(model, recipe.training.optimizer), batch


def test_operations_are_those_of_a_count_by_hand() -> None:
    # 16 rows of 16 places each side, d 32, inner 64, 2 layers, 400 pieces. For each place: the
    # encoder projects 4 d² and 2 * 64 d, the decoder 8 d² (of them 2 at source places) and the
    # same inner width, the output 400 d; each query meets 16 keys, twice, in three attentions.
    # Everything three times, forward and backward twice, but the gradient of a score is made in
    # as many products as the score itself, so the factor is 3 there as well.
    d, n = 32, 16
    per_place = 2 * (4 * d * d + 2 * 64 * d) + 2 * (8 * d * d + 2 * 64 * d) + 400 * d
    attention = 2 * 3 * 2 * n * d
    found = count(recipe_of(SMALL))
    assert found.slots == 256
    # The output table's sum over all pieces adds a little.
    assert found.operations == pytest.approx(3 * 2 * 256 * (per_place + attention), rel=0.002)


@pytest.mark.parametrize(("cell", "gates"), [("lstm", 4), ("gru", 3)])
def test_operations_of_a_recurrent_model_are_those_of_a_count_by_hand(
    cell: str, gates: int
) -> None:
    # For each place, forward: an encoder layer multiplies its input, D wide in the first and 2 D in
    # the others, and its state with gates x D columns, in both directions; a decoder layer the same
    # once, its first with embedding and context, 3 D. Source states are projected to keys, 2 D x D,
    # states to queries, D x D; 16 keys of D numbers are scored and read, 2 D wide; the readout has
    # 4 D x D, the output 400 D. Backward does each of them twice.
    d, n, layers = 32, 16, 2
    encoder = 2 * gates * (d + d) * d + (layers - 1) * 2 * gates * (2 * d + d) * d
    decoder = gates * (3 * d + d) * d + (layers - 1) * gates * (d + d) * d
    attention = 2 * d * d + d * d + n * d + n * 2 * d
    per_place = encoder + decoder + attention + 4 * d * d + 400 * d
    found = count(recipe_of({"architecture": "recurrent", "layers": 2, "d_model": d, "cell": cell}))
    # Beside them: the first state of each row, and a sum over all pieces of the output.
    assert found.operations == pytest.approx(3 * 2 * 256 * per_place, rel=0.02)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (SMALL, PAIRS),
        ({**SMALL, "architecture": "decoder-only"}, TEXT),
        ({**SMALL, "architecture": "encoder-only"}, TEXT),
        ({"architecture": "recurrent", "layers": 2, "d_model": 32}, PAIRS),
        ({"architecture": "recurrent", "layers": 2, "d_model": 32, "cell": "gru"}, PAIRS),
    ],
)
def test_operations_are_those_that_torch_counts_in_a_real_update(
    model: dict[str, Any], data: dict[str, Any]
) -> None:
    recipe = recipe_of(model, {**data, "context": 16})
    found = count(recipe, slots=512)
    real, weights, batch = real_training(recipe)
    with (
        FlopCounterMode(display=False, custom_mapping=FORGOTTEN) as counter,
        using(Kernels(batched_attention=128), real.train()),
    ):
        make_gradients(weights.learned)
        weights.backward(real_loss(real, batch, smoothing=0.1))
    # A recurrent source is one piece shorter there, which takes another way through the library.
    assert found.operations == pytest.approx(counter.get_total_flops(), rel=0.001)


def test_weights_gradients_and_moments_follow_from_the_parameters() -> None:
    recipe = recipe_of(SMALL)
    found = count(recipe)
    assert found.parameters == count_parameters(planned_config(recipe)).total
    assert found.weights == found.gradients == found.copies == 4 * found.parameters
    assert found.moments == 8 * found.parameters
    half = count(recipe, precision="bf16")
    assert half.weights == 6 * found.parameters  # float32 originals and copies of half the size
    assert half.copies == 2 * found.parameters
    averaged = count(recipe_of(SMALL, ema=0.99))
    assert averaged.weights == 8 * found.parameters


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (SMALL, PAIRS),
        ({**SMALL, "positions": "rotary", "feedforward": "gated", "dropout": 0.0}, PAIRS),
        ({**SMALL, "architecture": "decoder-only"}, TEXT),
        ({**SMALL, "architecture": "encoder-only"}, TEXT),
        ({**SMALL, "architecture": "encoder-only", "head": "class"}, PAIRS),
        ({"architecture": "convolutional", "layers": 2, "d_model": 32}, PAIRS),
        ({"architecture": "convolutional", "d_model": 32, "separable": True}, PAIRS),
        ({"architecture": "recurrent", "layers": 2, "d_model": 32}, PAIRS),
        ({"architecture": "recurrent", "layers": 1, "d_model": 48, "cell": "gru"}, PAIRS),
        ({**SMALL, "tied": "none"}, PAIRS),
    ],
)
def test_planned_memory_is_within_15_percent_of_a_real_update(
    model: dict[str, Any], data: dict[str, Any]
) -> None:
    recipe = recipe_of(model, {**data, "context": 16})
    found = count(recipe, slots=512)
    real, weights, batch = real_training(recipe)
    kernels = Kernels(batched_attention=128)

    def loss(batch: Any) -> Any:
        return real_loss(real, batch, smoothing=0.1)

    peak = Rehearsal(weights, loss, kernels, lambda _: None).peak(batch)  # type: ignore[arg-type]  # of this kind
    assert found.gradients + found.held == pytest.approx(peak, rel=0.15)


def test_images_are_counted_in_patches() -> None:
    model = {
        **SMALL,
        "architecture": "encoder-only",
        "head": "class",
        "images": {"height": 8, "width": 8, "patch": 4},
        "positions": {"kind": "learned", "max_length": 5},
    }
    found = count(recipe_of(model, {"train": {"images": "a.npz"}}), slots=51)
    assert found.slots == 50  # 10 images of 4 patches and a place for the class


def test_recomputing_holds_less_and_does_more() -> None:
    # A layer keeps one tensor instead of a score of them, and goes forward once more.
    plain, again = (
        count(recipe_of({**SMALL, "layers": 6}, activation_checkpointing=on), slots=1024)
        for on in (False, True)
    )
    assert again.held < 0.3 * plain.held
    assert again.operations > 1.15 * plain.operations


def test_what_a_batch_holds_grows_with_its_rows() -> None:
    small, large = (count(recipe_of(SMALL), slots=slots) for slots in (2048, 4096))
    line = small.held + (small.held - small.held_anyway)
    assert large.held == pytest.approx(line, rel=0.1)


def test_a_target_vocabulary_of_its_own_is_counted() -> None:
    table = {
        "data": PAIRS,
        "tokenizer": {"size": 400, "target": {"size": 300}},
        "model": {**SMALL, "tied": "none"},
    }
    config = planned_config(parse_recipe(table))
    assert (config.vocabulary, config.target_vocabulary) == (400, 300)


def test_a_checkpoint_holds_the_weights_and_what_the_optimizer_remembers() -> None:
    # Adam: two numbers a weight. Adafactor: a number for each row and each column of a matrix.
    adam = count(recipe_of(SMALL))
    assert (adam.saved, adam.remembered) == (4 * adam.parameters, 8 * adam.parameters)
    assert count(recipe_of(SMALL, ema=0.9)).remembered == 12 * adam.parameters
    factored = count(recipe_of(SMALL, optimizer={"kind": "adafactor"}))
    assert factored.remembered == factored.moments < 0.2 * adam.remembered


@pytest.mark.parametrize(
    ("training", "averaged"),
    [
        ({"steps": 9_000}, 5),  # the last 5 of 9
        ({"steps": 2_500}, 3),  # updates 1,000, 2,000 and the last
        ({"steps": 900}, 0),  # one, which is the run's
        ({"steps": 9_000, "ema": 0.99}, 0),
        ({"steps": 9_000, "average_last": 1}, 0),
        ({"epochs": 3}, 5),  # as many as may be, as the data decides
    ],
)
def test_as_many_checkpoints_are_averaged_as_a_run_has(
    training: dict[str, Any], averaged: int
) -> None:
    assert count(recipe_of(SMALL, **training)).averaged == averaged


def test_the_optimizer_reads_and_writes_weights_and_moments() -> None:
    # By hand: the norm reads the gradient, a factor reads and writes it, the step reads it: 4 * 4
    # bytes a weight; weight and two moments are read and written: 6 * 4.
    found = count(recipe_of(SMALL))
    assert found.updated == 40 * found.parameters


def test_large_tensors_are_told_from_small_ones() -> None:
    # 2,048 places of 400 logits are 3.1 MiB, so all is small; of 20,000 they are 156 MiB, made some
    # places at a time, in pieces of more than 32 MiB; the rest is small again.
    small = count(recipe_of(SMALL), slots=2_048)
    assert small.small == pytest.approx(small.held + small.gradients)
    table = {"data": PAIRS, "tokenizer": {"size": 20_000}, "model": SMALL}
    large = count(parse_recipe(table), slots=2_048)
    assert large.held + large.gradients - large.small > 2**25
    assert large.small - large.gradients == pytest.approx(small.small - small.gradients, rel=0.15)
