"""Graphs run by onnxruntime: as they are, and as what a search asks of a model.

Shapes: S sentences, W rows each, R = S·W rows, L source positions, V vocabulary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.errors import MissingExtraError, ModelError

Array = NDArray[Any]  # Any: float32, int64 or boolean
Arrays = Mapping[str, Array]
Shape = tuple[int | str, ...]  # names for sizes that differ from call to call


class OnnxGraph:
    """One graph, loaded.

    Args:
        path: of the file.
        threads: that one call may use; as many as there are cores unless given.

    Raises:
        ModelError: it cannot be read.
        MissingExtraError: onnxruntime is not installed.
    """

    def __init__(self, path: Path, *, threads: int | None = None) -> None:
        runtime = _runtime()
        options = runtime.SessionOptions()
        options.log_severity_level = 4  # errors come as exceptions
        options.intra_op_num_threads = threads or 0
        self.path = path
        try:
            self._session = runtime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # the library raises no narrower class
            raise ModelError(f"{path}: cannot be read: {_first_line(error)}") from None
        taken, given = self._session.get_inputs(), self._session.get_outputs()
        self.inputs: dict[str, tuple[int | str, ...]] = {
            put.name: tuple(put.shape) for put in taken
        }
        self.outputs: tuple[str, ...] = tuple(put.name for put in given)

    def run(self, feed: Arrays) -> dict[str, Array]:
        """Compute all outputs; what is not an input of the graph is left out.

        Raises:
            ModelError: an input is missing or of another shape, or a position has no vector.
        """
        wanted = {name: feed[name] for name in self.inputs if name in feed}
        try:
            found = self._session.run(list(self.outputs), wanted)
        except Exception as error:  # the library raises no narrower class
            raise ModelError(f"{self.path}: cannot be run: {_first_line(error)}") from None
        return dict(zip(self.outputs, found, strict=True))

    def nothing(self, rows: int) -> dict[str, Array]:
        """Give what is known of no positions, for each input that holds the past."""
        return {
            name: np.zeros([_count(size, rows) for size in shape], np.float32)
            for name, shape in self.inputs.items()
            if name.startswith("past.")
        }


@dataclass(frozen=True, slots=True)
class OnnxSession:
    """Sources being decoded; see ``dragoman.decoding.Session``.

    Args:
        graph: a step of the decoder.
        memory: what the encoder gave, by name; rows are sentences.
        past: what the decoder knows of what was fed, by name; rows are hypotheses.
        position: how many pieces have been fed to each.
    """

    graph: OnnxGraph
    memory: Arrays
    past: Arrays
    position: int = 0

    @classmethod
    def start(cls, encoder: OnnxGraph, graph: OnnxGraph, source: Array) -> "OnnxSession":
        """Encode source ids (S, L), once."""
        memory = encoder.run({"source": source})
        return cls(graph, memory, graph.nothing(len(source)))

    @property
    def sentences(self) -> int:
        """How many sentences S are being decoded."""
        return len(self.memory["source_visible"])

    @property
    def device(self) -> torch.device:
        """Where ids and indices are expected."""
        return torch.device("cpu")

    def feed(self, ids: Array) -> tuple[Array, "OnnxSession"]:
        """Feed new ids (R, T), get logits (R, T, V) and the session after."""
        position = np.array(self.position, np.int64)
        given = self.graph.run({"ids": ids, "position": position, **self.memory, **self.past})
        logits = given.pop("logits")
        past = {name.replace("present.", "past."): array for name, array in given.items()}
        return logits, OnnxSession(self.graph, self.memory, past, self.position + ids.shape[1])

    def step(self, ids: Tensor) -> tuple[Tensor, "OnnxSession"]:
        """Feed ids (R,), get log-probabilities (R, V) in float32 and the session after."""
        logits, session = self.feed(ids[:, None].numpy())
        return torch.as_tensor(logits[:, 0]).log_softmax(-1), session

    def select(self, rows: Tensor, sentences: Tensor | None) -> "OnnxSession":
        """Keep rows and sentences."""
        memory = self.memory if sentences is None else _chosen(self.memory, sentences)
        return OnnxSession(self.graph, memory, _chosen(self.past, rows), self.position)


def padded(rows: Sequence[Sequence[int]], padding: int) -> Array:
    """Put rows of ids into one array, padded on the right."""
    array = np.full((len(rows), max(map(len, rows), default=0)), padding, np.int64)
    for row, ids in zip(array, rows, strict=True):
        row[: len(ids)] = ids
    return array


def _count(size: int | str, rows: int) -> int:
    """Turn a size into a number, before anything is past."""
    return size if isinstance(size, int) else {"rows": rows}.get(size, 0)


def _chosen(arrays: Arrays, rows: Tensor) -> Arrays:
    index = rows.numpy()
    return {name: array[index] for name, array in arrays.items()}


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _runtime() -> Any:  # Any: it has no types
    try:
        import onnxruntime  # pyright: ignore  # optional, and without types
    except ImportError:
        raise MissingExtraError("a model in ONNX", "onnx") from None
    return onnxruntime
