import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.models import ModelConfig, build_model
from dragoman.training import (
    reference_cross_entropy,
    smoothed_cross_entropy,
    summed_cross_entropy,
)
from dragoman.training.loss import projected_cross_entropy

PADDING = 0
SMOOTHINGS = st.sampled_from([0.0, 0.1, 0.5, 1.0])
SEEDS = st.integers(0, 2**31)


def random_case(
    rows: int, length: int, pieces: int, seed: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    """Draw logits (B, T, V), and targets of which the first is real."""
    rng = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, length, pieces, generator=rng, dtype=dtype) * 3
    targets = torch.randint(0, pieces, (rows, length), generator=rng)
    targets[0, 0] = 1
    return logits.requires_grad_(), targets


def test_loss_of_equal_logits_is_the_logarithm_of_the_vocabulary() -> None:
    loss = smoothed_cross_entropy(
        torch.zeros(1, 2, 8), torch.tensor([[3, 5]]), smoothing=0.1, padding=PADDING
    )
    assert loss.item() == pytest.approx(math.log(8), rel=1e-6)


def test_smoothing_is_spread_over_all_pieces() -> None:
    # By hand: V = 4, probabilities 1/2, 1/4, 1/8, 1/8, so losses of 1, 2, 3, 3 times ln 2.
    # Labels with smoothing 0.2 at piece 1: 0.8 + 0.05 there, 0.05 elsewhere:
    # 0.05·1 + 0.85·2 + 0.05·3 + 0.05·3 = 2.05.
    logits = torch.tensor([[[4.0, 2.0, 1.0, 1.0]]]).log()
    loss = smoothed_cross_entropy(logits, torch.tensor([[1]]), smoothing=0.2, padding=9)
    assert loss.item() == pytest.approx(2.05 * math.log(2), rel=1e-6)


@given(
    rows=st.integers(1, 3),
    length=st.integers(1, 4),
    pieces=st.integers(2, 9),
    smoothing=SMOOTHINGS,
    seed=SEEDS,
)
def test_fused_loss_agrees_with_reference_forward_and_backward(
    rows: int, length: int, pieces: int, smoothing: float, seed: int
) -> None:
    logits, targets = random_case(rows, length, pieces, seed)
    real = targets != PADDING
    fast = smoothed_cross_entropy(logits, targets, smoothing=smoothing, padding=PADDING)
    slow = reference_cross_entropy(logits[real], targets[real], smoothing=smoothing).mean()
    torch.testing.assert_close(fast, slow)
    (fast_gradient,) = torch.autograd.grad(fast, logits)
    (slow_gradient,) = torch.autograd.grad(slow, logits)
    torch.testing.assert_close(fast_gradient, slow_gradient)


@given(
    count=st.integers(1, 12),
    pieces=st.integers(2, 9),
    chunk=st.integers(1, 13),
    smoothing=SMOOTHINGS,
    seed=SEEDS,
)
def test_projected_loss_agrees_with_the_loss_of_all_logits_forward_and_backward(
    count: int, pieces: int, chunk: int, smoothing: float, seed: int
) -> None:
    rng = torch.Generator().manual_seed(seed)
    hidden = torch.randn(count, 5, generator=rng, dtype=torch.float64).requires_grad_()
    table = torch.randn(pieces, 5, generator=rng, dtype=torch.float64).requires_grad_()
    targets = torch.randint(0, pieces, (count,), generator=rng)
    fast = projected_cross_entropy(hidden, table, targets, smoothing=smoothing, chunk=chunk)
    slow = reference_cross_entropy(hidden @ table.T, targets, smoothing=smoothing).sum()
    torch.testing.assert_close(fast, slow)
    weight = 0.37  # a loss that is divided or scaled later
    fast_gradients = torch.autograd.grad(weight * fast, (hidden, table))
    slow_gradients = torch.autograd.grad(weight * slow, (hidden, table))
    for one, other in zip(fast_gradients, slow_gradients, strict=True):
        torch.testing.assert_close(one, other)


@given(extra=st.integers(0, 4), smoothing=SMOOTHINGS, seed=SEEDS)
def test_padding_never_changes_the_loss_and_gets_no_gradient(
    extra: int, smoothing: float, seed: int
) -> None:
    logits, targets = random_case(2, 3, 5, seed)
    longer = torch.cat((logits, torch.full((2, extra, 5), 99.0).double()), 1)
    padded = torch.nn.functional.pad(targets, (0, extra), value=PADDING)
    plain = smoothed_cross_entropy(logits, targets, smoothing=smoothing, padding=PADDING)
    loss = smoothed_cross_entropy(longer, padded, smoothing=smoothing, padding=PADDING)
    torch.testing.assert_close(loss, plain)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert (gradient[targets == PADDING] == 0).all()


def test_nothing_but_padding_is_an_error() -> None:
    message = "^targets: all are padding, there is nothing to average$"
    with pytest.raises(ValueError, match=message):
        smoothed_cross_entropy(
            torch.zeros(1, 2, 3), torch.zeros(1, 2, dtype=torch.int64), smoothing=0.1, padding=0
        )


def test_sum_over_no_targets_is_zero() -> None:
    # Field report 19: a part of an update without targets adds nothing, and divides by nothing.
    nothing = torch.zeros(1, 2, dtype=torch.int64)
    assert summed_cross_entropy(torch.ones(1, 2, 3), nothing, smoothing=0.1, padding=0).item() == 0


def test_reference_keeps_the_precision_of_its_logits() -> None:
    logits = torch.zeros(1, 3, dtype=torch.float64)
    loss = reference_cross_entropy(logits, torch.tensor([1]), smoothing=0.1)
    assert loss.dtype == torch.float64
    assert loss.item() == pytest.approx(math.log(3), rel=1e-15)


def test_large_vocabulary_does_not_overflow_in_float16() -> None:
    # The smoothing term sums log-probabilities over all pieces: some 20,000 · 10 > 65,504.
    logits = torch.zeros(1, 20_000, dtype=torch.float16)
    logits[0, 0] = 20
    loss = smoothed_cross_entropy(logits, torch.tensor([1]), smoothing=0.1, padding=9)
    # By hand: ln Z = 20 (e^20 = 4.9e8 beside 2e4 ones); 0.9·20 + 0.1·20·(19,999 / 20,000) = 20.
    assert loss.item() == pytest.approx(20, abs=0.02)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_projected_sum_over_many_half_precision_targets_is_that_of_float32(
    dtype: torch.dtype,
) -> None:
    # 20,000 targets at some 7 nats each: the sum is beyond float16, as is Σh · ΣW over all pieces.
    rng = torch.Generator().manual_seed(0)
    hidden = (torch.randn(20_000, 16, generator=rng) * 0.5 + 0.5).to(dtype).requires_grad_()
    table = (torch.randn(500, 16, generator=rng) * 0.5 + 0.5).to(dtype).requires_grad_()
    targets = torch.randint(500, (20_000,), generator=rng)
    loss = projected_cross_entropy(hidden, table, targets, smoothing=0.1)
    wide = hidden.float() @ table.float().T
    slow = reference_cross_entropy(wide, targets, smoothing=0.1)
    assert loss.item() == pytest.approx(slow.sum().item(), rel=1e-3)
    one = torch.autograd.grad(loss / 20_000, hidden)[0]
    other = torch.autograd.grad(slow.mean(), hidden)[0]
    assert (one - other).float().norm() < 0.02 * other.float().norm()


def test_one_batch_and_two_micro_batches_give_the_same_gradient() -> None:
    # Field report 19: two pairs with 2 and 20 target pieces. Each part is divided by the targets
    # of the whole update; the mean of the two means would count the short pair ten times.
    torch.manual_seed(0)
    model = build_model(ModelConfig(layers=1, d_model=8, heads=2, d_ff=8, vocabulary=9)).double()
    model.eval()
    source = torch.randint(1, 9, (2, 4))
    target = torch.randint(1, 9, (2, 21))
    target[0, 3:] = PADDING
    target_in, target_out = target[:, :-1], target[:, 1:].clone()

    def gradients(loss: Tensor) -> list[Tensor]:
        return list(torch.autograd.grad(loss, list(model.parameters())))

    def summed(rows: slice, length: int) -> Tensor:
        logits = model(source[rows], target_in[rows, :length])
        return summed_cross_entropy(
            logits, target_out[rows, :length], smoothing=0.1, padding=PADDING
        )

    whole = smoothed_cross_entropy(
        model(source, target_in), target_out, smoothing=0.1, padding=PADDING
    )
    short, long = summed(slice(0, 1), 2) / 22, summed(slice(1, 2), 20) / 22
    parts = [a + b for a, b in zip(gradients(short), gradients(long), strict=True)]
    for one, other in zip(gradients(whole), parts, strict=True):
        torch.testing.assert_close(one, other)
