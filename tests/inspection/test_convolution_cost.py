import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from dragoman.inspection import (
    ConvolutionCost,
    ConvolutionWindow,
    compare_separable_convolution,
    compare_spatially_separable_convolution,
    contiguous_layers_to_cover,
    dilated_layers_to_cover,
    layers_to_cover,
    receptive_fields,
)

LAYERS = st.lists(
    st.builds(ConvolutionWindow, st.integers(1, 4), st.integers(1, 3), st.integers(1, 3)),
    min_size=1,
    max_size=3,
)


@given(layers=LAYERS)
def test_receptive_field_is_what_a_gradient_reaches(layers: list[ConvolutionWindow]) -> None:
    # Autograd is the independent side: from the first to the last input that moves one output.
    fields = receptive_fields(layers)
    x = torch.ones(1, 1, fields[-1] + 5, requires_grad=True)
    y: torch.Tensor = x
    for layer in layers:
        convolution = nn.Conv1d(1, 1, layer.kernel, layer.stride, dilation=layer.dilation)
        nn.init.ones_(convolution.weight)
        y = convolution(y)
    (gradient,) = torch.autograd.grad(y[0, 0, 0], x)
    reached = gradient[0, 0].nonzero()
    assert reached.max() - reached.min() + 1 == fields[-1]
    assert fields[:-1] == receptive_fields(layers[:-1])


@given(n=st.integers(1, 200), k=st.integers(2, 6))
def test_closed_forms_agree_with_stacks_built_layer_by_layer(n: int, k: int) -> None:
    contiguous = [ConvolutionWindow(k)] * n
    dilated = [ConvolutionWindow(k, dilation=k**depth) for depth in range(8)]
    assert contiguous_layers_to_cover(n, k) == layers_to_cover(n, contiguous)
    assert dilated_layers_to_cover(n, k) == layers_to_cover(n, dilated)


def test_power_of_the_kernel_needs_no_layer_more() -> None:
    # math.log(125, 3) and the like round; 5³ = 125 must need 3 layers, 126 a fourth.
    assert dilated_layers_to_cover(125, 5) == 3
    assert dilated_layers_to_cover(126, 5) == 4


def test_one_position_is_covered_by_no_layer() -> None:
    assert layers_to_cover(1, []) == 0
    assert contiguous_layers_to_cover(1, 3) == dilated_layers_to_cover(1, 3) == 0


def test_stack_that_does_not_reach_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^layers: all 2 see 5 positions, not 6$"):
        layers_to_cover(6, [ConvolutionWindow(3), ConvolutionWindow(3)])


def test_kernels_that_connect_nothing_are_errors() -> None:
    message = "^k: a kernel of 1 connects no two positions; take at least 2$"
    with pytest.raises(ValueError, match=message):
        contiguous_layers_to_cover(4, 1)
    with pytest.raises(ValueError, match=message):
        dilated_layers_to_cover(4, 1)


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "message"),
    [(0, 1, 1, "^kernel: 0"), (1, 0, 1, "^stride: 0"), (1, 1, -2, "^dilation: -2 is below 1$")],
)
def test_convolution_of_impossible_sizes_is_an_error(
    kernel: int, stride: int, dilation: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ConvolutionWindow(kernel, stride, dilation)


@given(
    height=st.integers(3, 7),
    width=st.integers(3, 7),
    c_in=st.integers(1, 4),
    c_out=st.integers(1, 4),
    k=st.integers(1, 3),
)
def test_counts_are_those_of_torch(height: int, width: int, c_in: int, c_out: int, k: int) -> None:
    found = compare_separable_convolution(height, width, c_in, c_out, k)
    image = torch.zeros(1, c_in, height, width)
    standard = nn.Conv2d(c_in, c_out, k, bias=False)
    depthwise = nn.Conv2d(c_in, c_in, k, groups=c_in, bias=False)
    pointwise = nn.Conv2d(c_in, c_out, 1, bias=False)
    assert found.standard == measured(standard, image)
    assert found.depthwise == measured(depthwise, image)
    assert found.pointwise == measured(pointwise, depthwise(image))
    both = found.depthwise.multiplications + found.pointwise.multiplications
    assert found.ratio == pytest.approx(both / found.standard.multiplications)
    assert found.ratio == pytest.approx(1 / c_out + 1 / k**2)


def measured(layer: nn.Conv2d, image: torch.Tensor) -> ConvolutionCost:
    with FlopCounterMode(display=False) as counter:
        _, channels, rows, columns = layer(image).shape
    multiplications = counter.get_total_flops() // 2  # a product and a sum for each
    return ConvolutionCost((rows, columns, channels), multiplications, layer.weight.numel())


def test_kernel_larger_than_the_image_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^k: a kernel of edge 5 does not fit into 7 x 4$"):
        compare_separable_convolution(7, 4, 3, 16, 5)


def test_two_strips_save_multiplications_from_three_pixels_on() -> None:
    # By hand: 25 against 10, 4 against 4.
    assert compare_spatially_separable_convolution(5).full == 25
    assert compare_spatially_separable_convolution(5).separable == 10
    assert compare_spatially_separable_convolution(2).full == 4
    assert compare_spatially_separable_convolution(2).separable == 4
