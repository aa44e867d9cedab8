"""Exponential moving average of the weights."""

import pytest
import torch

from dragoman.errors import ModelError
from dragoman.training.moving_average import MovingAverage


def test_early_on_it_is_the_mean_over_all_weights_so_far() -> None:
    # By hand: 1, then (1 + 3) / 2 = 2, then (1 + 3 + 8) / 3 = 4.
    weight = torch.tensor([1.0])
    average = MovingAverage({"w": weight}, 0.999)
    for step, value in enumerate((3.0, 8.0), start=1):
        weight.fill_(value)
        average.update(step)
    torch.testing.assert_close(average.values["w"], torch.tensor([4.0]))


def test_later_it_keeps_its_share() -> None:
    # By hand: at update 100 it keeps min(0.9, 100 / 101): 0.9 · 2 + 0.1 · 12 = 3.
    weight = torch.tensor([2.0])
    average = MovingAverage({"w": weight}, 0.9)
    weight.fill_(12.0)
    average.update(100)
    torch.testing.assert_close(average.values["w"], torch.tensor([3.0]))


def test_weights_that_do_not_move_are_their_own_mean_to_the_bit() -> None:
    weight = torch.randn(100, generator=torch.Generator().manual_seed(1))
    average = MovingAverage({"w": weight}, 0.99)
    for step in range(1, 300):
        average.update(step)
    assert torch.equal(average.values["w"], weight)


def test_it_follows_but_never_changes_the_weights() -> None:
    weight = torch.tensor([1.0], requires_grad=True)
    average = MovingAverage({"w": weight}, 0.5)
    average.values["w"].fill_(5.0)
    assert weight.item() == 1.0
    assert not average.values["w"].requires_grad


@pytest.mark.parametrize("saved", [{}, {"w": torch.zeros(3)}])
def test_means_of_other_weights_are_refused(saved: dict[str, torch.Tensor]) -> None:
    average = MovingAverage({"w": torch.zeros(2)}, 0.9)
    with pytest.raises(ModelError, match="moving average of w is missing or of another shape"):
        average.check(saved)
