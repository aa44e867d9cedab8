"""A graph of ONNX operators, put together part by part; nothing here needs the library.

A ``Value`` is the name of what a node gives. Weights are named as in the model, each kept once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from dragoman.interop.named_weights import NamedWeights

OPSET = 17  # of 2022: the first with LayerNormalization, so that old clients run it too

# Not 127: processors without VNNI add two products with activations of up to 255 in 16 bits, and
# would cut off what is above 32,767.
LARGEST_INTEGER = 63

Value = str
Kind = Literal["float32", "float64", "uint8", "int8", "int32", "int64", "bool"]
Attribute = int | float | str | list[int]
Array = NDArray[Any]  # Any: of each kind


@dataclass(frozen=True, slots=True)
class Port:
    """What goes into a graph or comes out of it.

    Args:
        name: as clients feed and read it.
        kind: of the numbers.
        shape: sizes, or names of sizes that differ from call to call.
        meaning: for whoever reads ``config.json``.
    """

    name: str
    kind: Kind
    shape: tuple[int | str, ...]
    meaning: str


@dataclass(frozen=True, slots=True)
class Node:
    """One operator."""

    operator: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    attributes: dict[str, Attribute]


class ParameterNames:
    """Weights of a model, found by the parameter itself; several graphs may ask for the same.

    Args:
        model: whose.
    """

    def __init__(self, model: nn.Module) -> None:
        self.weights = NamedWeights.of(model)
        self._names = {id(weight): name for name, weight in model.named_parameters()}

    def take(self, parameter: Tensor) -> tuple[str, NDArray[np.float32]]:
        """Give the name of a parameter and a copy of its numbers."""
        name = self._names[id(parameter)]
        return name, self.weights.take(name)


@dataclass(slots=True)
class Graph:
    """Operators in the order in which they are computed.

    Args:
        parameters: where weights come from.
        int8: whether matrices and tables are kept as integers of 8 bits.
        inputs: what clients feed.
        outputs: what they get.
        nodes: the operators.
        arrays: weights and constants by name.
    """

    parameters: ParameterNames
    int8: bool = False
    inputs: list[Port] = field(default_factory=list[Port])
    outputs: list[Port] = field(default_factory=list[Port])
    nodes: list[Node] = field(default_factory=list[Node])
    arrays: dict[Value, Array] = field(default_factory=dict[Value, Array])
    _constants: dict[tuple[str, tuple[int, ...], bytes], Value] = field(
        default_factory=dict[tuple[str, tuple[int, ...], bytes], Value]
    )

    def __call__(self, operator: str, *inputs: Value, **attributes: Attribute) -> Value:
        """Add an operator with one result."""
        return self.several(1, operator, *inputs, **attributes)[0]

    def several(
        self, count: int, operator: str, *inputs: Value, **attributes: Attribute
    ) -> list[Value]:
        """Add an operator with ``count`` results."""
        first = f"{operator}.{len(self.nodes)}"
        outputs = [first if number == 0 else f"{first}.{number}" for number in range(count)]
        self.nodes.append(Node(operator, inputs, tuple(outputs), attributes))
        return outputs

    def feed(self, name: str, kind: Kind, shape: tuple[int | str, ...], meaning: str) -> Value:
        """Name an input."""
        self.inputs.append(Port(name, kind, shape, meaning))
        return name

    def give(self, port: Port, value: Value) -> None:
        """Name a result as an output."""
        self.nodes.append(Node("Identity", (value,), (port.name,), {}))
        self.outputs.append(port)

    def mark(self, name: str, x: Value) -> Value:
        """Give a value the name of the part that it comes out of, to be found in the file."""
        self.nodes.append(Node("Identity", (x,), (name,), {}))
        return name

    def weight(
        self, parameter: Tensor, *, rows: slice = slice(None), transposed: bool = False
    ) -> Value:
        """Put in a weight, or some of its rows.

        Args:
            parameter: of the model.
            rows: which.
            transposed: (in, out), as products want it, instead of (out, in).
        """
        name, array = self.parameters.take(parameter)
        if rows != slice(None):
            name += f"[{rows.start or 0}:{array.shape[0] if rows.stop is None else rows.stop}]"
        if transposed:
            name += ".T"
        if name not in self.arrays:
            array = array[rows]
            self.arrays[name] = np.ascontiguousarray(array.T if transposed else array)
        return name

    def whole_numbers(self, parameter: Tensor, *, rows: slice = slice(None)) -> tuple[Value, Value]:
        """Put in a matrix (out, in) as integers of 8 bits, with a factor for each row, (out, 1)."""
        name, array = self.parameters.take(parameter)
        name += f"[{rows.start}:{rows.stop}]" if rows != slice(None) else ""
        array = array[rows]
        scales = np.abs(array).max(1, keepdims=True) / LARGEST_INTEGER
        scales[scales == 0] = 1.0
        self.arrays[f"{name}.int8"] = np.rint(array / scales).astype(np.int8)
        self.arrays[f"{name}.scale"] = scales
        return f"{name}.int8", f"{name}.scale"

    def constant(self, numbers: ArrayLike, kind: Kind = "float32") -> Value:
        """Put in numbers; equal ones are kept once."""
        array = np.array(numbers, dtype=kind)
        key = (kind, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = name = f"constant.{len(self._constants)}"
            self.arrays[name] = array
        return self._constants[key]

    def integers(self, *numbers: int) -> Value:
        """Put in a list of integers, such as a shape."""
        return self.constant(numbers, "int64")

    def integer(self, number: int) -> Value:
        """Put in one integer."""
        return self.constant(number, "int64")

    def cast(self, x: Value, kind: Kind) -> Value:
        """Turn numbers into another kind."""
        return self("Cast", x, to=ELEMENT_TYPES[kind])

    def size(self, x: Value, axis: int) -> Value:
        """Give the size of an axis, (1,)."""
        return self("Shape", x, start=axis, end=axis + 1)

    def reshape(self, x: Value, *shape: int) -> Value:
        """Change the shape: 0 keeps the size of that axis, -1 is what is left."""
        return self("Reshape", x, self.integers(*shape))

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        """Add axes of size 1."""
        return self("Unsqueeze", x, self.integers(*axes))

    def transpose(self, x: Value, *axes: int) -> Value:
        """Reorder the axes."""
        return self("Transpose", x, perm=list(axes))

    def split(self, x: Value, sizes: tuple[int, ...], axis: int) -> list[Value]:
        """Cut into parts along an axis."""
        return self.several(len(sizes), "Split", x, self.integers(*sizes), axis=axis)

    def slice(self, x: Value, start: Value, end: Value, axis: int) -> Value:
        """Keep ``start`` .. ``end`` - 1, (1,) each, of an axis."""
        return self("Slice", x, start, end, self.integers(axis))

    def concat(self, axis: int, *parts: Value) -> Value:
        """Put side by side along an axis."""
        return self("Concat", *parts, axis=axis)


# Numbers of onnx.TensorProto.DataType, which its format fixes.
ELEMENT_TYPES: Mapping[Kind, int] = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float64": 11,
}
