import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn import ACTIVATIONS, gelu, gelu_tanh, relu, silu, swish

NUMBERS = st.floats(-30, 30)


def double(number: float) -> torch.Tensor:
    return torch.tensor(number, dtype=torch.float64)


@given(x=NUMBERS)
def test_activations_follow_their_formulas(x: float) -> None:
    # The formulas in Python's own floating-point functions.
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    assert relu(double(x)).item() == max(0.0, x)
    assert gelu(double(x)).item() == pytest.approx(x / 2 * math.erfc(-x / math.sqrt(2)), abs=1e-12)
    assert gelu_tanh(double(x)).item() == pytest.approx(x / 2 * (1 + math.tanh(inner)), abs=1e-12)
    assert silu(double(x)).item() == pytest.approx(x / (1 + math.exp(-x)), abs=1e-12)


@given(x=NUMBERS, beta=st.floats(-3, 3))
def test_swish_weighs_by_a_logistic_function_of_its_steepness(x: float, beta: float) -> None:
    expected = x / (1 + math.exp(-beta * x))
    assert swish(double(x), beta).item() == pytest.approx(expected, abs=1e-12)


def test_swish_of_steepness_one_is_silu() -> None:
    x = torch.linspace(-5, 5, 101, dtype=torch.float64)
    torch.testing.assert_close(swish(x), silu(x))


def test_approximate_gelu_is_near_but_not_equal() -> None:
    x = torch.linspace(-5, 5, 10_001, dtype=torch.float64)
    gap = (gelu(x) - gelu_tanh(x)).abs().max().item()
    assert 4e-4 < gap < 5e-4  # as its docstring says


def test_names_of_configurations_find_the_functions() -> None:
    assert dict(ACTIVATIONS) == {
        "relu": relu,
        "gelu": gelu,
        "gelu_tanh": gelu_tanh,
        "silu": silu,
    }


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_large_half_precision_inputs_stay_finite_and_keep_their_dtype(
    name: str, dtype: torch.dtype
) -> None:
    # The cube inside the tanh form of 1,000 is 1e9, beyond float16. Far out all four are relu.
    x = torch.tensor([-1000.0, 0.0, 1000.0], dtype=dtype)
    result = ACTIVATIONS[name](x)
    assert result.dtype == dtype
    assert result.tolist() == [0.0, 0.0, 1000.0]
