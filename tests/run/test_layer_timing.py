import pytest
import torch

from dragoman.inspection import LayerSizes, layer_kinds
from dragoman.run import layer_timing, measure_crossing, measure_layers
from dragoman.run.layer_timing import build_layers

SIZES = LayerSizes(d=8, k=3, r=3, heads=2)


def test_there_is_a_layer_for_every_row_and_it_keeps_the_shape() -> None:
    layers = build_layers(SIZES)
    assert list(layers) == [kind.name for kind in layer_kinds(SIZES)]
    for layer in layers.values():
        assert layer(torch.zeros(2, 5, 8)).shape == (2, 5, 8)


def test_every_layer_is_measured_at_every_length() -> None:
    found = list(measure_layers(SIZES, [2, 4]))
    assert [(one.name, one.n) for one in found] == [
        (kind.name, n) for n in (2, 4) for kind in layer_kinds(SIZES)
    ]
    assert all(one.seconds > 0 for one in found)
    # A recurrent layer keeps gradients of its two 8 x 8 matrices and its bias, 544 bytes, at least.
    assert next(one for one in found if one.name == "recurrent").peak_bytes > 544


def test_a_batch_holds_its_sequences_side_by_side() -> None:
    # Activations of 8 sequences of 64 are many times the gradients of two 8 x 8 matrices.
    (one,) = (m for m in measure_layers(SIZES, [64]) if m.name == "convolutional")
    (eight,) = (m for m in measure_layers(SIZES, [64], batch=8) if m.name == "convolutional")
    assert 5 < eight.peak_bytes / one.peak_bytes <= 8


def test_the_crossing_lies_between_the_lengths_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # Self-attention takes n², the other 32 n: equal at 32. Lengths 8, 16 and 32 are tried.
    def seconds(work: object) -> float:
        layer, x = work.args  # type: ignore[attr-defined]  # a partial
        n = x.size(1)
        return n * n if hasattr(layer, "attention") else 32 * n

    monkeypatch.setattr(layer_timing, "_seconds", seconds)
    assert measure_crossing(SIZES).n == pytest.approx(32)
    assert measure_crossing(SIZES, longest=16).n is None


def test_a_layer_that_is_always_slower_crosses_below_the_shortest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        layer_timing,
        "_seconds",
        lambda work: 2.0 if hasattr(work.args[0], "attention") else 1.0,
    )
    found = measure_crossing(SIZES)
    assert (found.n, found.shortest, found.below) == (8, 8, True)
