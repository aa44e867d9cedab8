"""What convolutions cost and how far they see (section 4, "Why Self-Attention").

Convolutions here move by one position and add no padding unless it says otherwise; biases are
not counted. A receptive field is the number of input positions that one output depends on.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConvolutionWindow:
    """One layer of a stack over a sequence.

    Args:
        kernel: positions k that an output reads.
        stride: input positions from one output to the next.
        dilation: input positions from one read position to the next.

    Raises:
        ValueError: a number is below 1.
    """

    kernel: int
    stride: int = 1
    dilation: int = 1

    def __post_init__(self) -> None:
        for name in ("kernel", "stride", "dilation"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)} is below 1")


def receptive_fields(layers: Sequence[ConvolutionWindow]) -> list[int]:
    """Say how many input positions an output sees after each layer of a stack.

    Layer by layer it grows by (k - 1) * dilation * the product of the strides before; from 1.
    """
    fields: list[int] = []
    field = jump = 1
    for layer in layers:
        field += (layer.kernel - 1) * layer.dilation * jump
        jump *= layer.stride
        fields.append(field)
    return fields


def layers_to_cover(n: int, layers: Sequence[ConvolutionWindow]) -> int:
    """Say after how many layers of a stack one output sees ``n`` positions.

    Raises:
        ValueError: the whole stack does not see as many.
    """
    fields = [1, *receptive_fields(layers)]
    if fields[-1] < n:
        raise ValueError(f"layers: all {len(layers)} see {fields[-1]} positions, not {n}")
    return next(depth for depth, field in enumerate(fields) if field >= n)


def contiguous_layers_to_cover(n: int, k: int) -> int:
    """Count the layers of kernel ``k`` that connect ``n`` positions: ⌈(n - 1) / (k - 1)⌉.

    The exact count behind O(n / k) of table 1.

    Raises:
        ValueError: ``k`` is below 2, so that no stack connects two positions.
    """
    _check_kernel(k)
    return -(-(n - 1) // (k - 1))


def dilated_layers_to_cover(n: int, k: int) -> int:
    """Count the layers that connect ``n`` positions with dilations 1, k, k², ...: ⌈log_k n⌉.

    The exact count behind O(log_k n) of section 4: L such layers see k^L positions.

    Raises:
        ValueError: ``k`` is below 2, so that no stack connects two positions.
    """
    _check_kernel(k)
    layers, field = 0, 1
    while field < n:  # in whole numbers: a logarithm rounds at the powers of k
        layers, field = layers + 1, field * k
    return layers


def _check_kernel(k: int) -> None:
    if k < 2:
        raise ValueError(f"k: a kernel of {k} connects no two positions; take at least 2")


@dataclass(frozen=True, slots=True)
class ConvolutionCost:
    """One convolution over an image.

    Args:
        output: height, width and channels of the result.
        multiplications: for the whole image.
        parameters: weights, without biases.
    """

    output: tuple[int, int, int]
    multiplications: int
    parameters: int


@dataclass(frozen=True, slots=True)
class SeparableComparison:
    """A k x k convolution, and the two steps that replace it.

    Args:
        standard: every output channel reads every input channel.
        depthwise: each channel by itself, k x k.
        pointwise: across channels, 1 x 1.
    """

    standard: ConvolutionCost
    depthwise: ConvolutionCost
    pointwise: ConvolutionCost

    @property
    def multiplications(self) -> int:
        """Of both steps."""
        return self.depthwise.multiplications + self.pointwise.multiplications

    @property
    def parameters(self) -> int:
        """Of both steps."""
        return self.depthwise.parameters + self.pointwise.parameters

    @property
    def ratio(self) -> float:
        """Multiplications of both steps over those of the standard one: 1 / c_out + 1 / k²."""
        return self.multiplications / self.standard.multiplications


def compare_separable_convolution(
    height: int, width: int, c_in: int, c_out: int, k: int
) -> SeparableComparison:
    """Count a standard and a depthwise separable convolution (Chollet 2016, arXiv 1610.02357).

    Args:
        height: of the input.
        width: of the input.
        c_in: input channels.
        c_out: output channels.
        k: edge of the kernel.

    Raises:
        ValueError: the kernel does not fit into the image.
    """
    rows, columns = height - k + 1, width - k + 1
    if k < 1 or rows < 1 or columns < 1:
        raise ValueError(f"k: a kernel of edge {k} does not fit into {height} x {width}")

    def cost(channels: int, parameters: int) -> ConvolutionCost:  # every weight at every place
        return ConvolutionCost((rows, columns, channels), rows * columns * parameters, parameters)

    return SeparableComparison(
        standard=cost(c_out, k * k * c_in * c_out),
        depthwise=cost(c_in, k * k * c_in),
        pointwise=cost(c_out, c_in * c_out),
    )


@dataclass(frozen=True, slots=True)
class SpatialComparison:
    """Multiplications per output of a k x k kernel, and of k x 1 followed by 1 x k."""

    full: int
    separable: int


def compare_spatially_separable_convolution(k: int) -> SpatialComparison:
    """Count k² against 2k; the two give the same result only where the kernel has rank one."""
    return SpatialComparison(full=k * k, separable=2 * k)
