"""Graphs as files of the ONNX format, through its own library.

Weights of a graph that would not fit one file of the format (protobuf ends at 2 GiB) lie beside it.
"""

from pathlib import Path
from typing import Any, BinaryIO

from dragoman.errors import MissingExtraError
from dragoman.interop.onnx.graph import ELEMENT_TYPES, OPSET, Array, Graph, Port

IR_VERSION = 8  # the one of the operator set
LARGEST = 1 << 30  # bytes of weights in one file
_ALIGNMENT = 4096  # so that a runtime may map weights into memory
_BESIDE = 1024  # bytes; smaller ones stay in the graph


def library() -> Any:  # Any: loaded only when needed
    """Give the library.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("the ONNX format", "onnx") from None
    return onnx


def save_graph(path: Path, graph: Graph, *, largest: int = LARGEST) -> list[Path]:
    """Write ``path``, and ``path`` with ``.data`` behind it where there are more weights.

    Args:
        path: of the graph.
        graph: what to write.
        largest: most bytes of weights that go into the graph's own file.

    Returns:
        The files.
    """
    onnx = library()
    beside = path.with_name(path.name + ".data")
    if sum(array.nbytes for array in graph.arrays.values()) <= largest:
        tensors = [_tensor(onnx, name, array) for name, array in graph.arrays.items()]
        files = [path]
    else:
        with beside.open("wb") as data:
            tensors = [
                _tensor(onnx, name, array)
                if array.nbytes < _BESIDE
                else _tensor_beside(onnx, name, array, data, beside.name)
                for name, array in graph.arrays.items()
            ]
        files = [path, beside]
    path.write_bytes(_model(onnx, path.stem, graph, tensors).SerializeToString(deterministic=True))
    return files


def with_parts(path: Path, aside: Path) -> None:
    """Write a graph once more, with what comes out of each part as further outputs.

    Args:
        path: what ``save_graph`` wrote.
        aside: in the same folder, so that weights beside the graph are found.
    """
    onnx = library()
    model = onnx.load(path, load_external_data=False)
    known = {port.name for port in model.graph.output}
    for node in model.graph.node:
        if node.op_type == "Identity" and node.output[0] not in known:
            kind = ELEMENT_TYPES["float32"]
            model.graph.output.append(
                onnx.helper.make_tensor_value_info(node.output[0], kind, None)
            )
    aside.write_bytes(model.SerializeToString())


def _model(onnx: Any, name: str, graph: Graph, tensors: list[Any]) -> Any:
    helper = onnx.helper
    nodes = [
        helper.make_node(node.operator, node.inputs, node.outputs, **node.attributes)
        for node in graph.nodes
    ]
    ports = [[_value(helper, port) for port in side] for side in (graph.inputs, graph.outputs)]
    return helper.make_model(
        helper.make_graph(nodes, name, *ports, initializer=tensors),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="dragoman",
    )


def _value(helper: Any, port: Port) -> Any:
    return helper.make_tensor_value_info(port.name, ELEMENT_TYPES[port.kind], port.shape)


def _tensor(onnx: Any, name: str, array: Array) -> Any:
    return onnx.numpy_helper.from_array(array, name)


def _tensor_beside(onnx: Any, name: str, array: Array, data: BinaryIO, file: str) -> Any:
    data.write(b"\0" * (-data.tell() % _ALIGNMENT))
    place = {"location": file, "offset": data.tell(), "length": array.nbytes}
    data.write(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    tensor = onnx.TensorProto(
        name=name,
        data_type=onnx.helper.np_dtype_to_tensor_dtype(array.dtype),
        dims=array.shape,
        data_location=onnx.TensorProto.EXTERNAL,
    )
    for key, value in place.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor
