import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn import (
    LayerNorm,
    RMSNorm,
    note_layer_norm,
    reference_layer_norm,
    reference_rms_norm,
    standardize,
)

HALVES = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])


def test_divisor_is_n_and_eps_stands_inside_the_root() -> None:
    # By hand: (0, 2) has mean 1 and variance 1 (divisor n); with eps 3 the root is 2.
    norm = LayerNorm(2, eps=3.0)
    assert norm(torch.tensor([[0.0, 2.0]])).tolist() == [[-0.5, 0.5]]


def test_gain_and_bias_act_on_each_feature() -> None:
    norm = LayerNorm(2, eps=1e-12)
    norm.gain.data, norm.bias.data = torch.tensor([3.0, 5.0]), torch.tensor([10.0, 20.0])
    torch.testing.assert_close(norm(torch.tensor([0.0, 2.0])), torch.tensor([7.0, 25.0]))


def test_default_eps_decides_values_near_its_root() -> None:
    # By hand: variance 1e-6 and eps 1e-6 give 1e-3 / √2e-6 = 0.70711.
    x = torch.tensor([-1e-3, 1e-3], dtype=torch.float64)
    assert LayerNorm(2).double()(x)[1].item() == pytest.approx(1 / math.sqrt(2), rel=1e-9)


@given(
    width=st.integers(1, 9),
    offset=st.sampled_from([0.0, 1.0, -100.0]),
    eps=st.sampled_from([1e-5, 1e-6, 1e-12]),
    seed=st.integers(0, 2**31),
)
def test_module_agrees_with_reference_forward_and_backward(
    width: int, offset: float, eps: float, seed: int
) -> None:
    torch.manual_seed(seed)
    norm = LayerNorm(width, eps=eps).double()
    norm.gain.data.normal_()
    norm.bias.data.normal_()
    x = (torch.randn(2, 3, width, dtype=torch.float64) + offset).requires_grad_()
    upstream = torch.randn(2, 3, width, dtype=torch.float64)
    leaves = (x, norm.gain, norm.bias)
    fast, slow = norm(x), reference_layer_norm(x, norm.gain, norm.bias, eps)
    torch.testing.assert_close(fast, slow)
    for one, other in zip(
        torch.autograd.grad(fast, leaves, upstream),
        torch.autograd.grad(slow, leaves, upstream),
        strict=True,
    ):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-6)


def test_constant_row_becomes_the_bias() -> None:
    assert LayerNorm(4)(torch.full((1, 4), 3.0)).tolist() == [[0.0] * 4]


def test_rms_norm_divides_by_the_root_mean_square_and_keeps_the_mean() -> None:
    # By hand: (1, 7) has mean square 25; eps 11 makes the root 6; gains 12 and 6.
    norm = RMSNorm(2, eps=11.0)
    norm.gain.data = torch.tensor([12.0, 6.0])
    torch.testing.assert_close(norm(torch.tensor([[1.0, 7.0]])), torch.tensor([[2.0, 7.0]]))
    assert [name for name, _ in norm.named_parameters()] == ["gain"]


@given(
    width=st.integers(1, 9),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    eps=st.sampled_from([1e-5, 1e-6, 1e-12]),
    seed=st.integers(0, 2**31),
)
def test_rms_norm_agrees_with_its_reference_and_torch_forward_and_backward(
    width: int, scale: float, eps: float, seed: int
) -> None:
    torch.manual_seed(seed)
    norm = RMSNorm(width, eps=eps).double()
    theirs = torch.nn.RMSNorm(width, eps=eps, dtype=torch.float64)
    norm.gain.data.normal_()
    theirs.weight.data.copy_(norm.gain.data)
    x = (torch.randn(2, 3, width, dtype=torch.float64) * scale).requires_grad_()
    upstream = torch.randn(2, 3, width, dtype=torch.float64)
    fast = norm(x)
    for other, gain in (
        (reference_rms_norm(x, norm.gain, eps), norm.gain),
        (theirs(x), theirs.weight),
    ):
        torch.testing.assert_close(fast, other)
        ours = torch.autograd.grad(fast, (x, norm.gain), upstream, retain_graph=True)
        for one, two in zip(ours, torch.autograd.grad(other, (x, gain), upstream), strict=True):
            torch.testing.assert_close(one, two)


@HALVES
def test_norms_of_large_half_precision_values_are_those_of_float32(dtype: torch.dtype) -> None:
    # 300² = 90,000 is beyond float16; bfloat16 would lose the mean of values around 300.
    torch.manual_seed(0)
    x = (torch.randn(4, 64) * 100 + 300).to(dtype)
    gain, bias = torch.rand(64) + 0.5, torch.randn(64)
    layer_norm, rms_norm = LayerNorm(64).to(dtype), RMSNorm(64).to(dtype)
    layer_norm.gain.data, layer_norm.bias.data = gain.to(dtype), bias.to(dtype)
    rms_norm.gain.data = gain.to(dtype)
    shifted = F.layer_norm(x.float(), (64,), gain.to(dtype).float(), bias.to(dtype).float(), 1e-6)
    scaled = F.rms_norm(x.float(), (64,), gain.to(dtype).float(), 1e-6)
    eps = torch.finfo(dtype).eps
    for got, expected in (
        (layer_norm(x), shifted),
        (reference_layer_norm(x, layer_norm.gain, layer_norm.bias, 1e-6), shifted),
        (rms_norm(x), scaled),
        (reference_rms_norm(x, rms_norm.gain, 1e-6), scaled),
    ):
        assert got.dtype == dtype
        torch.testing.assert_close(got.float(), expected, atol=8 * eps, rtol=4 * eps)


@HALVES
def test_rms_norm_kept_in_float32_takes_half_precision_activations(dtype: torch.dtype) -> None:
    x = torch.tensor([[-300.0, 300.0]], dtype=dtype)
    result = RMSNorm(2)(x)
    assert result.dtype == dtype
    assert result.tolist() == [[-1.0, 1.0]]


def test_zero_row_stays_zero_with_finite_gradients_under_rms_norm() -> None:
    x = torch.zeros(1, 3, requires_grad=True)
    result = RMSNorm(3)(x)
    (gradient,) = torch.autograd.grad(result.sum(), x)
    assert result.tolist() == [[0.0] * 3]
    # By hand: at 0 the slope is 1 / √eps = 1000.
    torch.testing.assert_close(gradient, torch.full((1, 3), 1000.0))


@given(rows=st.integers(2, 6), width=st.integers(1, 5), seed=st.integers(0, 2**31))
def test_standardizing_along_the_batch_is_batch_norm_in_training(
    rows: int, width: int, seed: int
) -> None:
    torch.manual_seed(seed)
    x = torch.randn(rows, width, dtype=torch.float64)
    theirs = F.batch_norm(x, None, None, training=True, eps=1e-5)
    torch.testing.assert_close(standardize(x, 0, 1e-5), theirs)


def test_form_of_the_note_has_divisor_n_less_one_and_eps_outside_the_root() -> None:
    # By hand: (0, 2) deviates from 1 by √2 (divisor 1); with eps 2 - √2 the divisor is 2.
    gain, bias = torch.tensor([3.0, 5.0]), torch.tensor([10.0, 20.0])
    result = note_layer_norm(torch.tensor([[0.0, 2.0]]), gain, bias, 2 - math.sqrt(2))
    torch.testing.assert_close(result, torch.tensor([[8.5, 22.5]]))


def test_form_of_the_note_is_smaller_by_the_ratio_of_the_divisors() -> None:
    torch.manual_seed(0)
    x, one, zero = torch.randn(3, 5).double(), torch.ones(5), torch.zeros(5)
    expected = reference_layer_norm(x, one, zero, 0.0) * math.sqrt(4 / 5)
    torch.testing.assert_close(note_layer_norm(x, one, zero, 0.0), expected)


def test_form_of_the_note_refuses_rows_of_one_feature() -> None:
    message = r"^x: the deviation with divisor D - 1 needs a width D of at least 2$"
    with pytest.raises(ValueError, match=message):
        note_layer_norm(torch.ones(2, 1), torch.ones(1), torch.zeros(1), 1e-6)
