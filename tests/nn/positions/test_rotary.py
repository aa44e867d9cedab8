import cmath
import copy
import math
from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn import RotaryPositions, rotate
from tests.nn.positions.schemes import random

Layout = Literal["half", "interleaved"]
LAYOUTS = st.sampled_from(["half", "interleaved"])
BOTH_LAYOUTS = pytest.mark.parametrize("layout", ["half", "interleaved"])


def test_a_pair_turns_by_its_position_in_radians() -> None:
    # By hand, E = 2: one pair with rate 1; (1, 0) at position 2 becomes (cos 2, sin 2).
    turned = rotate(torch.tensor([[1.0, 0.0]]).double(), torch.tensor([2]))
    assert turned[0].tolist() == pytest.approx([math.cos(2), math.sin(2)], abs=1e-12)


@given(
    position=st.integers(0, 100_000),
    pairs=st.integers(1, 16),
    layout=LAYOUTS,
    base=st.sampled_from([10_000.0, 500_000.0]),
    seed=st.integers(0, 2**31),
)
def test_every_pair_is_a_complex_number_that_turns(
    position: int, pairs: int, layout: Layout, base: float, seed: int
) -> None:
    # Section 3.2.1: multiplication by e^(i m θ).
    x = random(1, 2 * pairs, seed=seed)
    turned = rotate(x, torch.tensor([position]), layout=layout, base=base)[0]
    for pair in range(pairs):
        places = (pair, pair + pairs) if layout == "half" else (2 * pair, 2 * pair + 1)
        number = complex(*(x[0, place].item() for place in places))
        expected = number * cmath.exp(1j * position * base ** (-pair / pairs))
        got = complex(*(turned[place].item() for place in places))
        assert abs(got - expected) < 1e-9


@given(offset=st.integers(-50, 50), place=st.integers(50, 100_000), layout=LAYOUTS)
def test_products_depend_on_the_offset_alone(offset: int, place: int, layout: Layout) -> None:
    q, k = random(1, 8, seed=1), random(1, 8, seed=2)
    products = [
        rotate(q, torch.tensor([at]), layout=layout)
        @ rotate(k, torch.tensor([at + offset]), layout=layout).T
        for at in (50, place)
    ]
    torch.testing.assert_close(*products, atol=1e-8, rtol=0)


@BOTH_LAYOUTS
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_low_precision_is_right_at_long_positions(layout: Layout, dtype: torch.dtype) -> None:
    # Angles in half precision would be off by whole turns at 100,000; in float32 by 0.004.
    x, positions = random(3, 16, seed=3, dtype=dtype), torch.tensor([0, 4_097, 100_001])
    exact = rotate(x.double(), positions, layout=layout)
    turned = rotate(x, positions, layout=layout)
    assert turned.dtype == dtype
    # Half a last place for rounding the result, and what float32 loses on the way.
    gap = 0.51 * torch.finfo(dtype).eps * exact.abs() + 3e-7 * exact.norm(dim=-1, keepdim=True)
    assert ((turned.double() - exact).abs() <= gap).all()


@BOTH_LAYOUTS
@given(start=st.integers(0, 5000), length=st.integers(1, 400))
def test_the_module_turns_by_absolute_positions_without_a_limit(
    layout: Layout, start: int, length: int
) -> None:
    x = random(2, 3, length, 6, seed=4)
    expected = rotate(x, torch.arange(start, start + length), layout=layout, base=100.0)
    module = RotaryPositions(6, layout=layout, base=100.0)
    torch.testing.assert_close(module.turn(x, start), expected)


def test_a_table_serves_any_precision_whatever_came_before() -> None:
    module = RotaryPositions(6).half().float()
    for dtype in (torch.bfloat16, torch.float64, torch.float32, torch.float16):
        x = random(1, 2, 300, 6, seed=5, dtype=dtype)
        assert torch.equal(module.turn(x, 7), rotate(x, torch.arange(7, 307)))


def test_rotations_are_neither_learned_nor_saved() -> None:
    module = RotaryPositions(6)
    assert list(module.parameters()) == []
    assert module.state_dict() == {}
    x = random(1, 1, 4, 6, seed=6)
    assert torch.equal(copy.deepcopy(module).turn(x, 3), module.turn(x, 3))


def test_an_odd_width_is_refused() -> None:
    for make in (RotaryPositions, lambda width: rotate(torch.zeros(1, width), torch.arange(1))):
        with pytest.raises(ValueError, match=r"^width: 5 is odd; rotation turns pairs$"):
            make(5)


def test_an_unknown_layout_is_refused() -> None:
    # "halves" is a layout of sinusoids, so easily confused.
    with pytest.raises(ValueError, match=r"^layout: 'halves' is neither 'half' nor 'interleaved'$"):
        RotaryPositions(4, layout="halves")  # pyright: ignore[reportArgumentType]  # on purpose
