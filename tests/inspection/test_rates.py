"""Learning rates before a run; expected values by hand."""

from pathlib import Path

import pytest

from dragoman.inspection import Rates, draw_rates
from dragoman.training.schedule import inverse_sqrt


def up_and_down(step: int) -> float:
    """Rise to 1 at update 10, then fall by 1/100 an update."""
    return step / 10 if step <= 10 else 1 - (step - 10) / 100


def test_the_table_holds_the_updates_that_tell_most() -> None:
    table = Rates(up_and_down, warmup=10, steps=80).table()
    assert [step for step, _ in table] == [1, 2, 5, 10, 20, 40, 60, 80]
    expected = [0.1, 0.2, 0.5, 1.0, 0.9, 0.7, 0.5, 0.3]
    assert [rate for _, rate in table] == pytest.approx(expected)


def test_rates_are_those_of_equation_3() -> None:
    def base(step: int) -> float:
        return inverse_sqrt(step, d_model=512, warmup=4000)

    rates = Rates(base, warmup=4000, steps=100_000, title="inverse_sqrt")
    # 512^-0.5 = 0.0441942; times 4000^-1.5 = 3.95285e-6, times 4000^-0.5 = 0.0158114, and so on.
    assert rates.lines() == [
        "inverse_sqrt",
        "",
        " update      rate",
        "      1  1.75e-07",
        "      2  3.49e-07",
        "  2,000  3.49e-04",
        "  4,000  6.99e-04  highest",
        " 25,000  2.80e-04",
        " 50,000  1.98e-04",
        " 75,000  1.61e-04",
        "100,000  1.40e-04",
    ]


def test_a_warm_up_longer_than_the_run_is_said() -> None:
    rates = Rates(up_and_down, warmup=10, steps=4)
    assert [step for step, _ in rates.table()] == [1, 2, 3, 4]
    assert rates.lines()[-1] == "the run ends before its warm-up of 10 updates does"


@pytest.mark.parametrize("steps", [1, 7, 2_500])
def test_any_length_without_warm_up_is_shown_and_drawn(tmp_path: Path, steps: int) -> None:
    rates = Rates(lambda step: 1 / step, warmup=0, steps=steps)
    table = rates.table()
    assert (table[0], table[-1]) == ((1, 1.0), (steps, pytest.approx(1 / steps)))
    draw_rates(rates, tmp_path / "rates.png")
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_has_an_update() -> None:
    with pytest.raises(ValueError, match="steps: 0 is less than 1"):
        Rates(up_and_down, warmup=1, steps=0)
