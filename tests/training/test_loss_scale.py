"""The factor on the loss of fp16 (arXiv 1710.03740, section 3.2)."""

from dragoman.training.loss_scale import LARGEST, SMALLEST, LossScale


def test_an_overflow_halves_the_factor_and_begins_counting_anew() -> None:
    scale = LossScale(value=8.0, every=3)
    for _ in range(2):
        scale.good_update()
    assert scale.overflow()
    assert (scale.value, scale.good) == (4.0, 0)


def test_many_good_updates_in_a_row_double_it() -> None:
    scale = LossScale(value=8.0, every=3)
    for _ in range(6):
        scale.good_update()
    assert (scale.value, scale.good) == (32.0, 0)
    scale.good_update()
    assert (scale.value, scale.good) == (32.0, 1)


def test_at_its_floor_the_factor_is_not_to_blame() -> None:
    scale = LossScale(value=2 * SMALLEST)
    assert scale.overflow()
    assert scale.value == SMALLEST
    assert not scale.overflow()
    assert scale.value == SMALLEST


def test_it_never_grows_beyond_its_ceiling() -> None:
    scale = LossScale(value=LARGEST, every=1)
    scale.good_update()
    assert scale.value == LARGEST
