"""What a plan counts without numbers, against hand counts and real updates."""

from typing import Any

import pytest

from dragoman.inspection import count_parameters
from dragoman.models import build_model
from dragoman.recipe import Recipe, parse_recipe
from dragoman.run.example_batch import example_batch, planned_config, real_loss
from dragoman.run.workload import workload
from dragoman.training import Kernels, Rehearsal, Weights

PAIRS = {"train": {"source": "a", "target": "b"}}
TEXT = {"train": {"text": "a"}}
SMALL = {"layers": 2, "d_model": 32, "heads": 4, "d_ff": 64}


def recipe_of(model: dict[str, Any], data: dict[str, Any] = PAIRS, **training: Any) -> Recipe:
    table = {"data": data, "tokenizer": {"size": 400}, "model": model, "training": training}
    return parse_recipe(table)


def count(recipe: Recipe, slots: int = 256, precision: Any = "fp32") -> Any:
    return workload(recipe, slots=slots, length=16, precision=precision, processor=True)


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
    ],
)
def test_planned_memory_is_within_15_percent_of_a_real_update(
    model: dict[str, Any], data: dict[str, Any]
) -> None:
    recipe = recipe_of(model, {**data, "context": 16})
    found = count(recipe, slots=512)
    config = planned_config(recipe)
    real = build_model(config)
    weights = Weights(real, recipe.training.optimizer)
    kernels = Kernels(batched_attention=128)

    def loss(batch: Any) -> Any:
        return real_loss(real, batch, smoothing=0.1)

    batch = example_batch(recipe, config, slots=512, length=16)
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
