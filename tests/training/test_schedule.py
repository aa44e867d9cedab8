from collections.abc import Callable
from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.configfile import read_record, write_record
from dragoman.errors import ConfigError
from dragoman.training import (
    Constant,
    Cosine,
    InverseSqrt,
    LinearDecay,
    TrainingConfig,
    constant,
    cosine_decay,
    describe_schedule,
    inverse_sqrt,
    linear_decay,
)
from dragoman.training.config import ScheduleConfig


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
        lambda step: cosine_decay(step, peak=1.0, warmup=2, steps=9),
        lambda step: constant(step, peak=1.0, warmup=2),
    ],
)
def test_steps_count_from_one(rate: Callable[[int], float]) -> None:
    with pytest.raises(ValueError, match=r"^step: 0 is less than 1; the first update is step 1$"):
        rate(0)


@pytest.mark.parametrize(
    ("warmup", "rates"),
    [
        # Field report 18, by hand: 6 updates, peak 1, floor 0.2. After the peak the height is
        # (1 + cos(π · share of the way)) / 2, and the rate 0.2 + 0.8 · height.
        (0, [1, 0.923607, 0.723607, 0.476393, 0.276393, 0.2, 0.2]),
        (1, [1, 0.923607, 0.723607, 0.476393, 0.276393, 0.2, 0.2]),
        (4, [0.25, 0.5, 0.75, 1, 0.6, 0.2, 0.2]),
    ],
)
def test_cosine_rises_to_its_peak_and_falls_to_its_floor(warmup: int, rates: list[float]) -> None:
    found = [
        cosine_decay(step, peak=1.0, warmup=warmup, steps=6, floor=0.2) for step in range(1, 8)
    ]
    assert found == pytest.approx(rates, abs=1e-6)


def test_cosine_is_half_way_down_in_the_middle_of_its_fall() -> None:
    # Between updates 100 and 300, the middle is 200: (peak + floor) / 2.
    rate = cosine_decay(200, peak=3e-3, warmup=100, steps=300, floor=1e-3)
    assert rate == pytest.approx(2e-3, rel=1e-12)


@given(
    warmup=st.integers(0, 30),
    steps=st.integers(1, 30),
    step=st.integers(1, 40),
    ends=st.tuples(st.floats(1e-6, 1), st.floats(1e-6, 1)).map(sorted),
)
def test_cosine_meets_its_peak_and_floor_exactly(
    warmup: int, steps: int, step: int, ends: list[float]
) -> None:
    def rate(step: int) -> float:
        return cosine_decay(step, peak=ends[1], warmup=warmup, steps=steps, floor=ends[0])

    assert 0 < rate(step) <= ends[1]
    if max(warmup, 1) <= steps:
        assert rate(max(warmup, 1)) == ends[1]
    if max(warmup, 1) < steps:
        assert rate(steps) == rate(steps + 7) == ends[0]
    if step > warmup:
        assert rate(step) >= rate(step + 1) >= ends[0]


@pytest.mark.parametrize(
    ("config", "steps", "line"),
    [
        # By hand: 512^-0.5 times 4000^-1.5, 4000^-0.5 and 100000^-0.5.
        (
            TrainingConfig(),
            100_000,
            "rate 1.75e-07 at update 1, 6.99e-04 at update 4,000 (the highest), "
            "1.40e-04 at update 100,000 (the last)",
        ),
        # 512^-0.5 · 1000 · 4000^-1.5.
        (
            TrainingConfig(),
            1_000,
            "rate 1.75e-07 at update 1, 1.75e-04 at update 1,000 (the last, still rising; "
            "warm-up would end at 4,000)",
        ),
        (
            TrainingConfig(warmup=0, schedule=Cosine(peak=0.5, floor=0.25)),
            2_000,
            "rate 5.00e-01 at update 1 (the highest), 2.50e-01 at update 2,000 (the last)",
        ),
        (
            TrainingConfig(warmup=4, schedule=Constant(peak=0.5)),
            4,
            "rate 1.25e-01 at update 1, 5.00e-01 at update 4 (the last and highest)",
        ),
        (
            TrainingConfig(warmup=0, schedule=LinearDecay(peak=0.5)),
            1,
            "rate 5.00e-01 at update 1 (the last and highest)",
        ),
    ],
)
def test_a_schedule_is_described_in_one_line(config: TrainingConfig, steps: int, line: str) -> None:
    rate = config.learning_rate(512, steps)
    assert describe_schedule(rate, steps, config.warmup) == line


@pytest.mark.parametrize(
    "schedule", [InverseSqrt(), LinearDecay(), Cosine(), Cosine(floor=1e-3), Constant()]
)
@given(warmup=st.integers(0, 40), steps=st.integers(1, 40))
def test_the_described_peak_is_the_highest_rate_of_the_run(
    schedule: InverseSqrt | LinearDecay | Cosine | Constant, warmup: int, steps: int
) -> None:
    rate = TrainingConfig(warmup=warmup, schedule=schedule).learning_rate(16, steps)
    highest = max(rate(step) for step in range(1, steps + 1))
    assert f"{highest:.2e} at update" in describe_schedule(rate, steps, warmup)


@pytest.mark.parametrize("kind", get_args(get_args(ScheduleConfig)[0]))
def test_every_schedule_can_be_written_in_a_recipe(kind: type[Any]) -> None:
    config = TrainingConfig(schedule=kind())
    assert read_record(TrainingConfig, write_record(config)) == config


def test_a_floor_above_the_peak_is_a_located_message() -> None:
    table = {"schedule": {"kind": "cosine", "peak": 0.1, "floor": 0.2}}
    message = "^schedule.floor: 0.2 is above the peak 0.1; try floor = 0.1 or less$"
    with pytest.raises(ConfigError, match=message):
        read_record(TrainingConfig, table)
    table["schedule"]["floor"] = 0.1  # the hint works
    read_record(TrainingConfig, table)
