import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn import Dropout, dropout_mask


@given(p=st.floats(0.01, 0.95), seed=st.integers(0, 2**31))
def test_share_of_dropped_elements_is_p_and_the_mean_is_kept(p: float, seed: int) -> None:
    # Binomial: the share of n draws deviates by √(p (1-p) / n); six deviations never happen.
    torch.manual_seed(seed)
    n = 40_000
    dropped = Dropout(p)(torch.ones(n, dtype=torch.float64))
    deviation = math.sqrt(p * (1 - p) / n)
    share = (dropped == 0).double().mean().item()
    assert share == pytest.approx(p, abs=6 * deviation + 1 / 65536)
    assert dropped.mean().item() == pytest.approx(1, abs=(6 * deviation + 1 / 65536) / (1 - p))


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_what_is_kept_is_scaled_up_by_one_over_one_minus_p(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    dropped = Dropout(p)(torch.full((3, 5, 7), 2.0, dtype=dtype))
    assert dropped.dtype == dtype
    scaled = torch.tensor(2.0, dtype=dtype) * torch.tensor(1 / (1 - p), dtype=dtype)
    assert set(dropped.flatten().tolist()) == {0.0, scaled.item()}


@given(shape=st.lists(st.integers(0, 7), max_size=3), p=st.floats(0, 0.9))
def test_mask_has_the_shape_asked_for(shape: list[int], p: float) -> None:
    assert dropout_mask(torch.ones(shape), p).shape == torch.Size(shape)


def test_neighbours_are_dropped_independently() -> None:
    # One random word decides four elements: the six pairs within it must not depend on each other.
    # Counts of both dropped at p = 1/2: n/4 with deviation √(3n)/4.
    torch.manual_seed(0)
    n = 50_000
    dropped = (dropout_mask(torch.ones(n, 4), 0.5) == 0).double()
    together = dropped.T @ dropped
    for i in range(4):
        for j in range(i):
            assert together[i, j].item() == pytest.approx(n / 4, abs=6 * math.sqrt(3 * n) / 4)


def test_one_seed_gives_one_mask() -> None:
    x = torch.ones(100)
    torch.manual_seed(5)
    first, second = Dropout(0.5)(x), Dropout(0.5)(x)
    torch.manual_seed(5)
    assert torch.equal(Dropout(0.5)(x), first)
    assert not torch.equal(first, second)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("p", [0.0, 0.3])
def test_adding_in_one_pass_equals_adding_what_dropout_gives(p: float, training: bool) -> None:
    x, y = torch.randn(2, 7, 5, dtype=torch.float64).unbind()
    dropout = Dropout(p).train(training)
    torch.manual_seed(4)
    expected = x + dropout(y)
    torch.manual_seed(4)
    torch.testing.assert_close(dropout.add(x, y), expected)


def test_gradient_passes_only_where_an_element_was_kept() -> None:
    torch.manual_seed(0)
    x = torch.ones(100, requires_grad=True)
    dropped = Dropout(0.25)(x)
    (gradient,) = torch.autograd.grad(dropped.sum(), x)
    assert torch.equal(gradient, dropped)


def test_evaluation_and_p_zero_are_the_identity() -> None:
    x = torch.randn(5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


@pytest.mark.parametrize("p", [1.0, -0.1, 1.5])
def test_chance_outside_zero_to_one_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match=rf"^dropout: {p} is not in \[0, 1\)$"):
        Dropout(p)
