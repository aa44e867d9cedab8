import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn import AlibiBias, alibi_bias, alibi_slopes


def test_slopes_of_sixteen_heads_halve_every_other_head() -> None:
    # Section 3: 2^-0.5, 2^-1 .. 2^-8.
    assert alibi_slopes(16).tolist() == pytest.approx([2 ** (-i / 2) for i in range(1, 17)])


def test_slopes_of_three_heads_borrow_from_four() -> None:
    # By hand: of two heads 2^-4, 2^-8; then the first of four, 2^-2.
    assert alibi_slopes(3).tolist() == [2**-4, 2**-8, 2**-2]


@given(heads=st.integers(1, 64))
def test_every_head_has_a_slope_of_its_own_between_2_to_the_minus_8_and_1(heads: int) -> None:
    slopes = alibi_slopes(heads).tolist()
    assert len(set(slopes)) == heads
    assert all(2**-8 <= slope < 1 for slope in slopes)


def test_distance_costs_the_same_on_both_sides() -> None:
    # By hand, slopes 1 and 0.5; the query stands second of three, then last.
    bias = alibi_bias(torch.tensor([1.0, 0.5]), 2, 3)
    assert bias.tolist() == [[[-1, 0, -1], [-2, -1, 0]], [[-0.5, 0, -0.5], [-1, -0.5, 0]]]


def test_slopes_keep_their_precision_when_the_module_is_cast() -> None:
    module = AlibiBias(12)
    slopes = module.slopes.clone()
    assert torch.equal(module.half().float().slopes, slopes)
    assert module.state_dict() == {}


def test_no_heads_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^heads: 0 is less than 1$"):
        AlibiBias(0)
