"""Write a small ONNX file; numbers of fields are those of ``onnx.proto``."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.protobuf import bytes_field, integer_field

FLOAT, INT64 = 1, 7  # element types
_OPERATORS = 13  # version of the set of operators
_FORMAT = 8  # version of the file

Shape = tuple[str | int, ...]  # a string is a size that may vary


def onnx_file(
    nodes: Sequence[bytes],
    tensors: Mapping[str, NDArray[Any]],
    inputs: Mapping[str, tuple[int, Shape]],
    outputs: Mapping[str, tuple[int, Shape]],
    metadata: Mapping[str, str],
) -> bytes:
    """Write a graph.

    Args:
        nodes: made by ``node``, each after those whose output it reads.
        tensors: constants by name, float32 or int64.
        inputs: element type and shape by name.
        outputs: the same.
        metadata: anything.
    """
    graph = [bytes_field(1, each) for each in nodes]
    graph += [bytes_field(2, "dragoman")]
    graph += [bytes_field(5, _tensor(name, value)) for name, value in tensors.items()]
    graph += [bytes_field(11, _value(name, *value)) for name, value in inputs.items()]
    graph += [bytes_field(12, _value(name, *value)) for name, value in outputs.items()]
    entries = (bytes_field(1, name) + bytes_field(2, text) for name, text in metadata.items())
    operators = bytes_field(1, "") + integer_field(2, _OPERATORS)
    return b"".join(
        [
            integer_field(1, _FORMAT),
            bytes_field(2, "dragoman"),
            bytes_field(7, b"".join(graph)),
            bytes_field(8, operators),
            *(bytes_field(14, entry) for entry in entries),
        ]
    )


def node(operator: str, inputs: Sequence[str], output: str, **attributes: int | list[int]) -> bytes:
    """Write one operation; its attributes are integers or lists of them."""
    written = [bytes_field(1, name) for name in inputs]
    written += [bytes_field(2, output), bytes_field(4, operator)]
    for name, value in attributes.items():
        if isinstance(value, int):
            content = integer_field(3, value) + integer_field(20, 2)
        else:
            content = b"".join(integer_field(8, each) for each in value) + integer_field(20, 7)
        written.append(bytes_field(5, bytes_field(1, name) + content))
    return b"".join(written)


def _tensor(name: str, value: NDArray[Any]) -> bytes:
    kind = FLOAT if value.dtype == np.float32 else INT64
    sizes = b"".join(integer_field(1, size) for size in value.shape)
    data = value.astype("<f4" if kind == FLOAT else "<i8").tobytes()
    return sizes + integer_field(2, kind) + bytes_field(8, name) + bytes_field(9, data)


def _value(name: str, kind: int, shape: Shape) -> bytes:
    sizes = b"".join(
        bytes_field(1, bytes_field(2, size) if isinstance(size, str) else integer_field(1, size))
        for size in shape
    )
    tensor = integer_field(1, kind) + bytes_field(2, sizes)
    return bytes_field(1, name) + bytes_field(2, bytes_field(1, tensor))
