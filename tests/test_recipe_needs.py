import numpy as np
import pytest
import torch

from dragoman.data import Batch
from dragoman.models import build_model
from dragoman.recipe import Recipe, parse_recipe, training_needs
from dragoman.training import peak_memory, translation_loss

TABLE = {
    "data": {"train": "pairs.tsv"},
    "tokenizer": {"size": 1000},
    "model": {"preset": "tiny"},
    "training": {"batch_tokens": 640},
}


def recipe(*settings: str) -> Recipe:
    return parse_recipe(TABLE, settings)


def measured(wanted: Recipe, rows: int, width: int) -> int:
    """Count what a real batch on the processor holds at its peak."""
    config = parse_recipe(TABLE, ["model.vocabulary=1000"]).model
    model = build_model(config).train()  # type: ignore[union-attr]  # every model is a module
    ids = torch.randint(5, 1000, (rows, width))
    batch = Batch(
        pairs=np.arange(rows),
        source=ids,
        target_in=ids.clone(),
        target_out=ids.clone(),
        target_tokens=ids.numel(),
        padding=0,
    )
    loss = lambda: translation_loss(model, batch, smoothing=0.1).backward()  # type: ignore[arg-type]  # noqa: E731  # one line
    return peak_memory(loss, torch.device("cpu"))


@pytest.mark.parametrize(("rows", "width"), [(20, 32), (40, 16), (10, 64)])
def test_what_is_foretold_is_within_a_quarter_of_what_is_measured(rows: int, width: int) -> None:
    needs = training_needs(recipe())
    assert needs is not None
    assert needs.batch == pytest.approx(measured(recipe(), rows, width), rel=0.25)


def test_weights_and_moments_are_counted_by_hand() -> None:
    plain = training_needs(recipe())
    averaged = training_needs(recipe("training.ema=0.999"))
    assert plain is not None
    assert averaged is not None
    assert plain.weights == 4 * plain.parameters  # float32
    assert plain.optimizer == 8 * plain.parameters  # Adam's two moments
    assert averaged.weights == 2 * plain.weights
    assert plain.total == plain.weights + plain.optimizer + plain.batch


def test_a_larger_budget_needs_more_and_recomputing_less() -> None:
    small, large = training_needs(recipe()), training_needs(recipe("training.batch_tokens=2560"))
    again = training_needs(
        recipe("training.batch_tokens=2560", "training.activation_checkpointing=true")
    )
    assert small is not None
    assert large is not None
    assert again is not None
    assert small.batch < again.batch < large.batch


def test_a_budget_that_fits_itself_is_not_foretold() -> None:
    assert training_needs(recipe('training.batch_tokens="auto"')) is None


def test_the_lines_name_memory_and_disk() -> None:
    needs = training_needs(recipe())
    assert needs is not None
    memory, disk = needs.lines(pairs=2**16, characters=2**20)
    assert "a batch of 640 tokens" in memory
    # 2 bytes a character and 28 a pair: 2 MiB and 1.75 MiB.
    assert disk == "its ids take at most 3.8 MiB on disk"
