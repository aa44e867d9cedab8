import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn import LayerNorm, reference_layer_norm


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
