import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn import SinusoidalPositions, sinusoids


def test_sines_and_cosines_are_interleaved() -> None:
    # Section 3.5 by hand, D = 4: rates 1 and 10000^-0.5 = 0.01.
    expected = [math.sin(3), math.cos(3), math.sin(0.03), math.cos(0.03)]
    assert sinusoids(torch.tensor([3]), 4)[0].tolist() == pytest.approx(expected, abs=1e-12)


@given(
    position=st.integers(0, 100_000),
    d_model=st.integers(1, 64).map(lambda half: 2 * half),
    base=st.sampled_from([10_000.0, 100.0]),
)
def test_every_pair_follows_the_formula(position: int, d_model: int, base: float) -> None:
    encoding = sinusoids(torch.tensor([position]), d_model, base=base)[0]
    for pair in range(d_model // 2):
        angle = position / base ** (2 * pair / d_model)
        assert encoding[2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-9)
        assert encoding[2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-9)


@pytest.mark.parametrize("make", [SinusoidalPositions, lambda d: sinusoids(torch.arange(2), d)])
def test_odd_width_is_refused(make: Callable[[int], object]) -> None:
    with pytest.raises(ValueError, match=r"^d_model: 7 is odd; sinusoids come in pairs$"):
        make(7)


@given(offset=st.integers(0, 5000), length=st.integers(1, 700))
def test_sinusoids_go_on_for_ever(offset: int, length: int) -> None:
    # Field report 26: any length, any offset, also past the table of the start.
    x = torch.ones(1, length, 6, dtype=torch.float64)
    expected = 1 + sinusoids(torch.arange(offset, offset + length), 6)
    torch.testing.assert_close(SinusoidalPositions(6)(x, offset)[0], expected)


def test_a_grown_table_still_serves_short_inputs() -> None:
    positions = SinusoidalPositions(8)
    x = torch.zeros(1, 3, 8)
    before = positions(x)
    positions(torch.zeros(1, 2000, 8))
    assert torch.equal(positions(x), before)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_encodings_are_computed_in_float64_whatever_came_before(dtype: torch.dtype) -> None:
    # Phases computed in half precision are wrong at long positions.
    positions = SinusoidalPositions(8).half().float()
    positions(torch.zeros(1, 300, 8, dtype=torch.bfloat16))
    exact = sinusoids(torch.arange(1000), 8).to(dtype)
    assert torch.equal(positions.to(dtype)(torch.zeros(1, 1000, 8, dtype=dtype))[0], exact)


def test_sinusoids_are_neither_learned_nor_saved() -> None:
    positions = SinusoidalPositions(8)
    assert list(positions.parameters()) == []
    assert positions.state_dict() == {}
    assert torch.equal(
        copy.deepcopy(positions)(torch.zeros(1, 2, 8)), positions(torch.zeros(1, 2, 8))
    )


def test_a_table_grown_without_gradients_serves_training() -> None:
    positions, x = SinusoidalPositions(8), torch.zeros(1, 4, 8, requires_grad=True)
    with torch.inference_mode():
        positions(torch.zeros(1, 400, 8))
    (gradient,) = torch.autograd.grad(positions(x).sum(), x)
    assert torch.equal(gradient, torch.ones(1, 4, 8))


@given(position=st.integers(0, 5000), half=st.integers(1, 16))
def test_halves_are_all_sines_then_all_cosines(position: int, half: int) -> None:
    encoding = sinusoids(torch.tensor([position]), 2 * half, layout="halves")[0]
    angles = [position / 10_000 ** (pair / half) for pair in range(half)]
    expected = [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]
    assert encoding.tolist() == pytest.approx(expected, abs=1e-9)


def test_the_module_adds_the_layout_it_was_made_with() -> None:
    # By hand, D = 4, position 1: rates 1 and 0.01.
    added = SinusoidalPositions(4, layout="halves")(torch.zeros(1, 2, 4, dtype=torch.float64))
    expected = [math.sin(1), math.sin(0.01), math.cos(1), math.cos(0.01)]
    assert added[0, 1].tolist() == pytest.approx(expected, abs=1e-12)


def test_an_unknown_layout_is_refused() -> None:
    # "half" is a layout of rotary positions, so easily confused.
    with pytest.raises(ValueError, match=r"^layout: 'half' is neither 'interleaved' nor 'halves'$"):
        SinusoidalPositions(4, layout="half")  # pyright: ignore[reportArgumentType]  # on purpose


def test_sinusoids_have_no_limit() -> None:
    assert SinusoidalPositions(2).max_length is None


def test_the_rate_of_tensor2tensor_ends_at_the_base_itself() -> None:
    # By hand, D = 8: rates 10000^(-i / 3), so 1, 0.0464159, 0.00215443 and 0.0001.
    rates = [1, 0.046415888, 0.0021544347, 0.0001]
    expected = [math.sin(5 * rate) for rate in rates] + [math.cos(5 * rate) for rate in rates]
    found = sinusoids(torch.tensor([5]), 8, layout="halves", rate="tensor2tensor")[0]
    assert found.tolist() == pytest.approx(expected, abs=1e-8)


def test_the_first_piece_may_stand_at_position_1() -> None:
    x = torch.zeros(1, 400, 8)
    later = SinusoidalPositions(8)(x)[0, 1:]
    torch.testing.assert_close(SinusoidalPositions(8, first=1)(x)[0, :-1], later)


@pytest.mark.parametrize(
    ("width", "rate", "message"),
    [(2, "tensor2tensor", "d_model: 2 has one pair"), (8, "slow", "rate: 'slow' is neither")],
)
def test_rates_that_cannot_be_are_refused(width: int, rate: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SinusoidalPositions(width, rate=rate)
