"""The parts of a layer that need no neighbours, as operators: products, norms, activations.

Shapes: (..., D) in and out, D model width.
"""

import math

from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.interop.onnx.graph import Graph, Value
from dragoman.nn import (
    Activation,
    FeedForward,
    GatedFeedForward,
    Generator,
    LayerNorm,
    Residual,
    RMSNorm,
    gelu,
    gelu_tanh,
    relu,
    silu,
)

ALL_ROWS = slice(None)
TINY = 1e-30  # instead of zero, where a vector has nothing but zeros


def unknown(part: object) -> ModelError:
    """Say that a part has no form here; only new parts have none, and a test finds them."""
    return ModelError(f"ONNX: {type(part).__name__} has no form in operators")


def product(
    g: Graph, x: Value, weight: Tensor, bias: Tensor | None, *, rows: slice = ALL_ROWS
) -> Value:
    """Multiply (..., in) by ``rows`` of a matrix (out, in) and add a bias, if there is one."""
    if g.int8:
        y = _product_of_integers(g, x, *g.whole_numbers(weight, rows=rows))
    else:
        y = g("MatMul", x, g.weight(weight, rows=rows, transposed=True))
    return y if bias is None else g("Add", y, g.weight(bias, rows=rows))


def _product_of_integers(g: Graph, x: Value, weight: Value, scales: Value) -> Value:
    """Multiply (..., in) by integers (out, in) with a factor for each row, (out, 1).

    Each vector becomes integers, too, with a factor of its own, so that the rest of a batch does
    not matter to it.
    """
    turned = g.transpose(weight, 1, 0)
    largest = g("ReduceMax", g("Abs", x), axes=[-1], keepdims=1)
    scale = g("Div", g("Max", largest, g.constant(TINY)), g.constant(127.0))
    moved = g("Add", g("Round", g("Div", x, scale)), g.constant(128.0))
    sums = g("MatMulInteger", g.cast(moved, "uint8"), turned, g.constant(128, "uint8"))
    # One factor after the other: of their product onnxruntime 1.32 makes an operator of its own,
    # which for a factor for each vector forgets the bias.
    return g("Mul", g("Mul", g.cast(sums, "float32"), scale), g.reshape(scales, -1))


def look_up(g: Graph, table: Tensor, index: Value) -> Value:
    """Give the rows of a table that integers of any shape name."""
    if not g.int8:
        return g("Gather", g.weight(table), index, axis=0)
    weight, scales = g.whole_numbers(table)
    rows = g.cast(g("Gather", weight, index, axis=0), "float32")
    return g("Mul", rows, g("Gather", scales, index, axis=0))


def linear(g: Graph, layer: nn.Linear, x: Value) -> Value:
    """Run ``nn.Linear``."""
    return product(g, x, layer.weight, layer.bias)


def norm(g: Graph, layer: nn.Module, x: Value) -> Value:
    """Run a norm over the last axis."""
    match layer:
        case LayerNorm(gain=gain, bias=bias, eps=eps):
            gain, bias = g.weight(gain), g.weight(bias)
            return g("LayerNormalization", x, gain, bias, axis=-1, epsilon=eps)
        case RMSNorm(gain=gain, eps=eps):
            mean = g("ReduceMean", g("Mul", x, x), axes=[-1], keepdims=1)
            root = g("Sqrt", g("Add", mean, g.constant(eps)))
            return g("Mul", g("Div", x, root), g.weight(gain))
        case _:
            raise unknown(layer)


def activate(g: Graph, activation: Activation, x: Value) -> Value:
    """Run what stands between two layers."""
    if activation is relu:
        return g("Relu", x)
    if activation is silu:
        return g("Mul", x, g("Sigmoid", x))
    half = g("Mul", x, g.constant(0.5))
    if activation is gelu:
        inner = g("Erf", g("Mul", x, g.constant(math.sqrt(0.5))))
    elif activation is gelu_tanh:
        cube = g("Mul", g("Mul", g("Mul", x, x), x), g.constant(0.044715))
        inner = g("Tanh", g("Mul", g("Add", x, cube), g.constant(math.sqrt(2 / math.pi))))
    else:
        raise unknown(activation)
    return g("Mul", half, g("Add", inner, g.constant(1.0)))


def feed_forward(g: Graph, network: nn.Module, x: Value) -> Value:
    """Run a position-wise network (section 3.3)."""
    match network:
        case FeedForward():
            inner = activate(g, network.activation, linear(g, network.inner, x))
        case GatedFeedForward():
            width = network.output.in_features
            gate, up = g.split(linear(g, network.gate_up, x), (width, width), -1)
            inner = g("Mul", activate(g, network.activation, gate), up)
        case _:
            raise unknown(network)
    return linear(g, network.output, inner)


def opened(g: Graph, wiring: Residual, x: Value) -> Value:
    """Give what a sub-layer reads."""
    return norm(g, wiring.norm, x) if wiring.order == "pre" else x


def closed(g: Graph, wiring: Residual, x: Value, y: Value) -> Value:
    """Join the input and the output of a sub-layer."""
    x = x if wiring.scale == 1 else g("Mul", x, g.constant(wiring.scale))
    x = g("Add", x, y)
    return norm(g, wiring.norm, x) if wiring.order == "post" else x


def logits(g: Graph, generator: Generator, x: Value) -> Value:
    """Score every piece (section 3.4)."""
    x = x if generator.projection is None else linear(g, generator.projection, x)
    # One copy of the table serves embedding and output; runtimes turn it around when they load.
    if g.int8:
        y = _product_of_integers(g, x, *g.whole_numbers(generator.table))
    else:
        y = g("MatMul", x, g.transpose(g.weight(generator.table), 1, 0))
    return y if generator.bias is None else g("Add", y, g.weight(generator.bias))
