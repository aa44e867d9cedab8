import pytest

from dragoman.errors import ConfigError
from dragoman.training import Constant, InverseSqrt, LinearDecay, TrainingConfig


def test_the_defaults_are_those_of_section_5() -> None:
    config = TrainingConfig()
    assert config.last_step(batches_in_epoch=7) == 100_000
    assert config.batch_tokens == 25_000
    assert config.warmup == 4_000
    assert config.label_smoothing == 0.1
    assert config.clip_norm is None
    # 512^-0.5 · 4000^-0.5, equation 3 at its peak.
    assert config.learning_rate(512, 100_000)(4_000) == pytest.approx(6.98771e-4, rel=1e-5)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        # By hand, warm-up 4, 10 steps, d_model 16: 16^-0.5 · min(step^-0.5, step · 4^-1.5).
        (InverseSqrt(), {1: 0.03125, 4: 0.125, 9: 0.25 / 3}),
        (InverseSqrt(factor=2.0), {1: 0.0625, 4: 0.25}),
        # Up to 0.7 at 4, then in equal steps to 0 at 11, just after the run.
        (LinearDecay(peak=0.7), {1: 0.175, 4: 0.7, 5: 0.6, 10: 0.1}),
        (Constant(peak=0.2), {1: 0.05, 4: 0.2, 10: 0.2}),
    ],
)
def test_schedules_follow_their_formula(
    schedule: InverseSqrt | LinearDecay | Constant, rates: dict[int, float]
) -> None:
    rate = TrainingConfig(warmup=4, schedule=schedule).learning_rate(16, 10)
    for step, expected in rates.items():
        assert rate(step) == pytest.approx(expected)


def test_impossible_combinations_are_reported_together() -> None:
    with pytest.raises(ConfigError) as caught:
        TrainingConfig(steps=5, epochs=2, average_last=9)
    assert [mistake.place for mistake in caught.value.mistakes] == ["epochs", "average_last"]
    assert "try keep = 9" in str(caught.value)
    TrainingConfig(average_last=9, keep=9)  # the hint works


@pytest.mark.parametrize(
    ("accumulate", "updates"),
    [(1, 15), (2, 8), (4, 4), (100, 1)],  # 3 epochs of 5 batches; a last window may be partial
)
def test_a_run_in_epochs_has_as_many_updates_as_its_batches_fill(
    accumulate: int, updates: int
) -> None:
    config = TrainingConfig(epochs=3, accumulate=accumulate)
    assert config.last_step(batches_in_epoch=5) == updates
