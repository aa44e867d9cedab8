"""Which way to compute: measured, kept, and undone after each update."""

from typing import Any

import pytest
import torch
from torch import nn

from dragoman.nn import (
    ChosenAttention,
    MultiHeadAttention,
    fused_attention,
    reference_attention,
)
from dragoman.training import Kernels, choose_kernels, product_shapes, using
from dragoman.training import kernels as module

CPU = torch.device("cpu")


def no_measuring(*_: object, **__: object) -> None:
    raise AssertionError("measured")


@pytest.mark.parametrize(
    ("asked", "taken"), [("auto", "fp32"), ("fp32", "fp32"), ("bf16", "bf16"), ("fp16", "fp16")]
)
def test_deterministic_measures_nothing_and_takes_the_same_everywhere(
    asked: Any, taken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_seconds", no_measuring)
    found = choose_kernels(MultiHeadAttention(8, 2), asked, CPU, deterministic=True)
    assert found == Kernels(precision=taken, batched_attention=0, products="highest")


def test_what_is_chosen_by_measuring_exists_and_rounds_like_its_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A product of 1,024 terms has a relative error of some 1e-7 in float32, 2e-3 in bfloat16.
    monkeypatch.setattr(module, "LENGTHS", (16, 32))
    model, before = MultiHeadAttention(8, 2), torch.get_float32_matmul_precision()
    found = choose_kernels(model, "auto", CPU, deterministic=False)
    assert found.batched_attention in (0, 16, 32)
    assert torch.get_float32_matmul_precision() == before
    left, right = torch.randn(64, 1024), torch.randn(1024, 64)
    exact = left.double() @ right.double()
    with using(found, model):
        error = float(((left @ right).double() - exact).norm() / exact.norm())
    assert error < 2e-6


def test_the_products_measured_are_those_that_the_model_makes_most_often() -> None:
    layer = nn.ModuleList([nn.Linear(3, 5), nn.Linear(3, 5), nn.Linear(5, 3), nn.Linear(2, 2)])
    assert product_shapes(layer, most=1) == [(5, 3)]
    assert set(product_shapes(layer)) == {(5, 3), (3, 5), (2, 2)}
    assert product_shapes(nn.LayerNorm(2))  # of no use there, but something to measure


def test_another_library_for_products_must_be_clearly_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for other, taken in ((0.95, "highest"), (0.5, "medium")):
        times = iter([[1.0, other]])
        monkeypatch.setattr(module, "_seconds", lambda works, device, t=times: next(t))
        found = choose_kernels(nn.Linear(8, 8), "fp32", CPU, deterministic=False, tokens=64)
        assert found.products == taken


@pytest.mark.parametrize(
    ("times", "taken"),
    [
        ([[1.0, 1.0], [1.0, 8.5]], "fp32"),  # with an eighth of 4,096: more are not tried
        ([[1.0, 1.0], [1.0, 7.5], [8.0, 4.0]], "bf16"),  # as code is made for each number of rows
        ([[1.0, 1.0], [1.0, 0.5], [8.0, 7.2]], "fp32"),
    ],
)
def test_bf16_must_be_clearly_faster_with_as_many_rows_as_a_batch_has(
    times: list[list[float]], taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = iter(times)  # of two libraries, of few rows, of all
    monkeypatch.setattr(module, "_seconds", lambda works, device: next(given))
    assert choose_kernels(nn.Linear(8, 8), "auto", CPU, deterministic=False).precision == taken
    assert next(given, None) is None


def test_a_model_without_heads_needs_no_kernel_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_seconds", lambda works, device: [1.0 for _ in works])
    found = choose_kernels(nn.Linear(2, 2), "bf16", CPU, deterministic=False)
    assert found == Kernels(precision="bf16")


def test_they_are_used_inside_and_undone_outside_even_after_an_error() -> None:
    own = MultiHeadAttention(8, 2, kernel=reference_attention)
    model = nn.ModuleList([MultiHeadAttention(8, 2), own])
    plain = model[0]
    assert isinstance(plain, MultiHeadAttention)
    before = torch.get_float32_matmul_precision()
    kernels = Kernels(batched_attention=7, products="medium")
    with using(kernels, model):
        assert isinstance(plain.kernel, ChosenAttention)
        assert plain.kernel.longest == 7
        assert own.kernel is reference_attention  # what was handed in stays
        assert torch.get_float32_matmul_precision() == "medium"
    with pytest.raises(KeyboardInterrupt), using(kernels, model):
        raise KeyboardInterrupt
    assert plain.kernel is fused_attention
    assert own.kernel is reference_attention
    assert torch.get_float32_matmul_precision() == before
