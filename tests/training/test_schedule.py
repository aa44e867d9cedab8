from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.training import constant, inverse_sqrt, linear_decay


def test_peaks_at_the_end_of_warmup_with_the_value_of_equation_3() -> None:
    # 512^-0.5 * 4000^-0.5, the base model of section 5.3.
    assert inverse_sqrt(4000, d_model=512, warmup=4000) == pytest.approx(6.98771e-4, rel=1e-5)


@pytest.mark.parametrize(
    ("warmup", "rates"),
    [
        # Field report 18, by hand with d_model = 1: min(step^-0.5, step · warmup^-1.5).
        (0, [1, 0.707107, 0.577350, 0.5, 0.447214]),
        (1, [1, 0.707107, 0.577350, 0.5, 0.447214]),
        (4, [0.125, 0.25, 0.375, 0.5, 0.447214]),
    ],
)
def test_first_updates_have_the_rates_of_equation_3(warmup: int, rates: list[float]) -> None:
    found = [inverse_sqrt(step, d_model=1, warmup=warmup) for step in range(1, 6)]
    assert found == pytest.approx(rates, abs=1e-6)


@given(warmup=st.integers(1, 10_000), step=st.integers(1, 100_000), d_model=st.integers(1, 2048))
def test_no_rate_is_above_the_one_at_the_end_of_warmup(
    warmup: int, step: int, d_model: int
) -> None:
    peak = inverse_sqrt(warmup, d_model=d_model, warmup=warmup)
    rate = inverse_sqrt(step, d_model=d_model, warmup=warmup)
    assert 0 < rate <= peak * (1 + 1e-12)


def test_factor_multiplies_every_rate() -> None:
    for step in (1, 3, 9):
        plain = inverse_sqrt(step, d_model=16, warmup=3)
        assert inverse_sqrt(step, d_model=16, warmup=3, factor=2.5) == pytest.approx(2.5 * plain)


def test_linear_decay_rises_to_its_peak_and_ends_just_after_the_last_update() -> None:
    # By hand: up in 2, then down in equal parts of 1/4 to 0 at update 6.
    rates = [linear_decay(step, peak=1.0, warmup=2, steps=5) for step in range(1, 8)]
    assert rates == pytest.approx([0.5, 1.0, 0.75, 0.5, 0.25, 0, 0])


def test_linear_decay_without_warmup_starts_at_its_peak() -> None:
    # By hand: down in equal parts of 1/4, beginning with the peak.
    rates = [linear_decay(step, peak=2.0, warmup=0, steps=3) for step in range(1, 5)]
    assert rates[0] == 2.0
    assert all(one > other for one, other in pairwise(rates))
    assert rates[3] == 0


@given(warmup=st.integers(0, 20), steps=st.integers(1, 20), step=st.integers(1, 50))
def test_linear_decay_stays_between_zero_and_its_peak(warmup: int, steps: int, step: int) -> None:
    rate = linear_decay(step, peak=0.5, warmup=warmup, steps=steps)
    assert 0 <= rate <= 0.5
    assert rate > 0 or step > steps


def test_constant_rate_rises_and_stays() -> None:
    assert [constant(step, peak=1.0, warmup=2) for step in range(1, 5)] == [0.5, 1.0, 1.0, 1.0]
    assert [constant(step, peak=1.0, warmup=0) for step in range(1, 3)] == [1.0, 1.0]


@pytest.mark.parametrize(
    "rate",
    [
        lambda step: inverse_sqrt(step, d_model=4, warmup=2),
        lambda step: linear_decay(step, peak=1.0, warmup=2, steps=9),
        lambda step: constant(step, peak=1.0, warmup=2),
    ],
)
def test_steps_count_from_one(rate: Callable[[int], float]) -> None:
    with pytest.raises(ValueError, match=r"^step: 0 is less than 1; the first update is step 1$"):
        rate(0)
