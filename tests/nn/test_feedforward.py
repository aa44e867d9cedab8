import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn import Activation, FeedForward, GatedFeedForward, gated_width, gelu, silu


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


def test_gate_decides_how_much_of_the_other_half_passes() -> None:
    # By hand, with the gate cut at 0: x W_gate = (3, -2), x W_up = (5, 7); (3·5, 0·7) W_down.
    network = GatedFeedForward(2, 2, activation=torch.relu)
    gate, up = network.projection_blocks()
    gate.data.copy_(torch.tensor([[1.0, 1.0], [0.0, -1.0]]))
    up.data.copy_(torch.tensor([[1.0, 2.0], [3.0, 2.0]]))
    network.output.weight.data = torch.tensor([[2.0, 9.0], [-1.0, 9.0]])
    assert network(torch.tensor([[[1.0, 2.0]]])).tolist() == [[[30.0, -15.0]]]


@given(
    d_model=st.integers(1, 5),
    d_ff=st.integers(1, 6),
    activation=st.sampled_from([torch.relu, silu, gelu]),
    seed=st.integers(0, 2**31),
)
def test_fused_product_of_gate_and_other_half_agrees_with_the_formula(
    d_model: int, d_ff: int, activation: Activation, seed: int
) -> None:
    torch.manual_seed(seed)
    network = GatedFeedForward(d_model, d_ff, activation=activation).double()
    x = torch.randn(2, 3, d_model, dtype=torch.float64)
    gate, up = network.projection_blocks()
    expected = (activation(x @ gate.T) * (x @ up.T)) @ network.output.weight.T
    torch.testing.assert_close(network(x), expected)


def test_blocks_of_the_gated_network_are_views_of_the_weights_gate_first() -> None:
    network = GatedFeedForward(3, 5)
    gate, up = network.projection_blocks()
    gate.data.fill_(1.0)
    up.data.fill_(2.0)
    assert network.gate_up.weight[:, 0].tolist() == [1.0] * 5 + [2.0] * 5


def test_gated_network_has_biases_only_when_asked() -> None:
    # By hand: 3 matrices of 3 x 5; with biases 5 + 5 + 3 more.
    assert sum(weight.numel() for weight in GatedFeedForward(3, 5).parameters()) == 45
    assert sum(weight.numel() for weight in GatedFeedForward(3, 5, bias=True).parameters()) == 58


def test_inner_units_of_the_gated_network_are_dropped_in_training_only() -> None:
    torch.manual_seed(0)
    network, x = GatedFeedForward(4, 64, dropout=0.5), torch.randn(1, 3, 4)
    plain = network.eval()(x)
    assert torch.equal(plain, network(x))
    assert not torch.allclose(plain, network.train()(x))


@pytest.mark.parametrize(
    ("d_model", "multiple_of", "expected"),
    [
        (4096, 256, 11008),  # LLaMA 7B (arXiv 2302.13971)
        (5120, 256, 13824),  # LLaMA 13B
        (3, 1, 8),  # by hand: 8/3 · 3
        (512, 1, 1365),  # by hand: 1365.33 cut
        (512, 1365, 1365),
        (512, 1364, 2728),
    ],
)
def test_gated_width_is_cut_then_rounded_up(d_model: int, multiple_of: int, expected: int) -> None:
    assert gated_width(d_model, multiple_of) == expected


def test_gated_width_refuses_multiples_of_nothing() -> None:
    with pytest.raises(ValueError, match=r"^multiple_of: 0 is below 1$"):
        gated_width(512, 0)
