import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn import FeedForward


def test_output_follows_equation_2() -> None:
    # By hand: x W₁ + b₁ = (1·1 + 2·3 - 1, 1·2 - 2·4) = (6, -6); the second is cut to 0;
    # 6·0.5 + 10 = 13 and 6·(-1) + 20 = 14.
    network = FeedForward(2, 2)
    network.inner.weight.data = torch.tensor([[1.0, 3.0], [2.0, -4.0]])
    network.inner.bias.data = torch.tensor([-1.0, 0.0])
    network.output.weight.data = torch.tensor([[0.5, 7.0], [-1.0, 7.0]])
    network.output.bias.data = torch.tensor([10.0, 20.0])
    assert network(torch.tensor([[[1.0, 2.0]]])).tolist() == [[[13.0, 14.0]]]


@given(length=st.integers(1, 6), seed=st.integers(0, 2**31))
def test_network_is_two_convolutions_of_width_one(length: int, seed: int) -> None:
    # Section 3.3: "another way of describing this is as two convolutions with kernel size 1".
    torch.manual_seed(seed)
    network, x = FeedForward(4, 6).double(), torch.randn(2, length, 4, dtype=torch.float64)
    inner, output = network.inner, network.output
    h = F.conv1d(x.transpose(1, 2), inner.weight[..., None], inner.bias).relu()
    expected = F.conv1d(h, output.weight[..., None], output.bias).transpose(1, 2)
    torch.testing.assert_close(network(x), expected)


def test_each_position_is_transformed_by_itself() -> None:
    torch.manual_seed(0)
    network, x = FeedForward(4, 6), torch.randn(1, 5, 4)
    changed = x.clone()
    changed[:, 2] = 9
    same = [0, 1, 3, 4]
    torch.testing.assert_close(network(x)[:, same], network(changed)[:, same])


def test_other_activations_can_be_handed_in() -> None:
    # gelu(1) = 0.841345 (x Φ(x), exact); with identity matrices it is all there is.
    network = FeedForward(1, 1, activation=F.gelu, bias=False)
    network.inner.weight.data, network.output.weight.data = torch.eye(1), torch.eye(1)
    assert network(torch.tensor([[[1.0]]])).item() == pytest.approx(0.841345, abs=1e-6)


def test_biases_can_be_left_out() -> None:
    # By hand: 2 matrices of 3 x 5; with biases 5 + 3 more.
    assert sum(weight.numel() for weight in FeedForward(3, 5, bias=False).parameters()) == 30
    assert sum(weight.numel() for weight in FeedForward(3, 5).parameters()) == 38


def test_inner_units_are_dropped_in_training_only() -> None:
    torch.manual_seed(0)
    network, x = FeedForward(4, 64, dropout=0.5), torch.randn(1, 3, 4)
    plain = network.eval()(x)
    assert torch.equal(plain, network(x))
    assert not torch.allclose(plain, network.train()(x))
