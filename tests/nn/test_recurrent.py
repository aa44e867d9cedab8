from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from dragoman.nn import (
    CellWeights,
    State,
    gru_step,
    gru_update,
    lstm_step,
    lstm_update,
    rnn_step,
    run_recurrent,
)

SEEDS = st.integers(0, 2**31)


def weights_of(layer: nn.LSTM | nn.GRU | nn.RNN) -> CellWeights:
    """Name the very weights of a library layer, so that gradients reach them."""
    named = dict(layer.named_parameters())
    w_x, w_h = named["weight_ih_l0"].T, named["weight_hh_l0"].T
    return CellWeights(w_x, w_h, named["bias_ih_l0"], named["bias_hh_l0"])


def gradients(output: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """Differentiate a sum in which every number has a weight of its own."""
    weighing = torch.linspace(-1, 1, output.numel()).view(output.shape)
    return list(torch.autograd.grad((output * weighing).sum(), inputs))


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
@given(batch=st.integers(1, 3), length=st.integers(1, 6), seed=SEEDS)
@settings(max_examples=15)
def test_steps_one_by_one_agree_with_the_fused_layer_and_its_gradients(
    kind: str, batch: int, length: int, seed: int
) -> None:
    torch.manual_seed(seed)
    width, inputs = 4, 3
    x = torch.randn(batch, length, inputs, requires_grad=True)
    h, c = (torch.randn(batch, width, requires_grad=True) for _ in range(2))
    start: State = (h, c) if kind == "lstm" else (h,)
    if kind == "lstm":
        layer: nn.LSTM | nn.GRU | nn.RNN = nn.LSTM(inputs, width, batch_first=True)
        step = partial(lstm_step, weights=weights_of(layer))
        fused, last = layer(x, (h[None], c[None]))
    else:
        layer = (nn.GRU if kind == "gru" else nn.RNN)(inputs, width, batch_first=True)
        step = partial(gru_step if kind == "gru" else rnn_step, weights=weights_of(layer))
        fused, final = layer(x, h[None])
        last = (final,)
    states, end = run_recurrent(step, x, start)
    torch.testing.assert_close(states[0], fused, atol=1e-5, rtol=1e-5)
    for ours, theirs in zip(end, last, strict=True):
        torch.testing.assert_close(ours, theirs[0], atol=1e-5, rtol=1e-5)
    wanted = [x, *start, *layer.parameters()]
    for ours, theirs in zip(gradients(states[0], wanted), gradients(fused, wanted), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_state_after_each_input_is_given_and_the_last_is_the_end() -> None:
    # By hand: h' = tanh(x + h / 2) from h = 0, x = 1 then -1:
    # tanh 1 = 0.761594, tanh(-1 + 0.380797) = -0.550573.
    weights = CellWeights(torch.eye(1), torch.eye(1) / 2, torch.zeros(1))
    x = torch.tensor([[[1.0], [-1.0]]])
    (h,), (end,) = run_recurrent(partial(rnn_step, weights=weights), x, (torch.zeros(1, 1),))
    torch.testing.assert_close(h, torch.tensor([[[0.761594], [-0.550573]]]), atol=1e-5, rtol=0)
    assert torch.equal(end, h[:, -1])


def test_lstm_with_open_forget_gate_and_shut_input_keeps_its_memory() -> None:
    c = torch.tensor([[0.3, -2.0]])
    gates = torch.tensor([[-100.0, -100.0, 100.0, 100.0, 5.0, 5.0, 100.0, 100.0]])
    h, kept = lstm_update(gates, c)
    torch.testing.assert_close(kept, c)
    torch.testing.assert_close(h, c.tanh())


def test_gru_that_keeps_everything_stays_and_one_that_keeps_nothing_is_its_candidate() -> None:
    h, quiet = torch.tensor([[0.3, -0.9]]), torch.zeros(1, 6)
    keep = torch.tensor([[0.0, 0.0, 100.0, 100.0, 0.7, 0.7]])
    torch.testing.assert_close(gru_update(keep, quiet, h), h)
    drop = torch.tensor([[0.0, 0.0, -100.0, -100.0, 0.7, 0.7]])
    torch.testing.assert_close(gru_update(drop, quiet, h), torch.tensor([[0.7, 0.7]]).tanh())


def test_the_two_places_of_the_reset_gate_agree_where_it_is_open_and_differ_otherwise() -> None:
    rng = torch.Generator().manual_seed(3)
    w_x, w_h = torch.randn(2, 6, generator=rng), torch.randn(2, 6, generator=rng)
    x, h = torch.randn(2, 4, 2, generator=rng)
    open_gate, half_open = torch.zeros(6), torch.zeros(6)
    open_gate[:2] = 100.0
    for bias, same in ((open_gate, True), (half_open, False)):
        weights = CellWeights(w_x, w_h, bias)
        (after,), (before,) = gru_step(x, (h,), weights), gru_step(x, (h,), weights, reset="before")
        assert torch.allclose(after, before, atol=1e-5) == same
