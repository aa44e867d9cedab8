"""What was written as ONNX, run by onnxruntime: a side of a certificate.

Nothing is read of a folder whose files are not those that its ``config.json`` names by their
SHA-256; ``README.md`` alone may change, and is not read.
"""

import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.bundle import Bundle, load_tokenizers
from dragoman.decoding import BeamSearch, Symbols, search
from dragoman.errors import ConfigError, ModelError
from dragoman.interop.ctranslate2 import weights_digest
from dragoman.interop.onnx.description import CONFIG, read_description
from dragoman.interop.onnx.files import with_parts
from dragoman.interop.onnx.graph import Graph
from dragoman.interop.onnx.limits import beyond_onnx
from dragoman.interop.onnx.session import Array, OnnxGraph, OnnxSession, padded
from dragoman.interop.onnx.whole import ENCODER, STEP, graphs_of
from dragoman.models import ModelConfig
from dragoman.nn import CausalLM, EncoderDecoder, EncoderOnly

Output = NDArray[np.float32]


class OnnxTranslator:
    """An encoder and a step of a decoder; see ``Side``.

    Args:
        encoder: sources to what the decoder reads.
        step: the decoder.
        bundle: says which ids are symbols.
    """

    patience: float | None = None
    reads_empty = True

    def __init__(self, encoder: OnnxGraph, step: OnnxGraph, bundle: Bundle) -> None:
        assert isinstance(bundle.model, EncoderDecoder)
        self.name = f"onnxruntime {version('onnxruntime')}, encoder and decoder"
        self.encoder, self.step = encoder, step
        self.frame = bundle.frame
        self.banned = self.frame.never_written
        limits = (bundle.model.max_source_length, bundle.model.max_target_length)
        self.longest = min((limit for limit in limits if limit is not None), default=None)

    def start(self, sources: Sequence[Sequence[int]]) -> OnnxSession:
        """Read bare sources together."""
        return OnnxSession.start(self.encoder, self.step, self._source(sources))

    def log_probs(self, source: Sequence[int], target: Sequence[int]) -> Output:
        """Score bare ids: (T + 1, V)."""
        logits, _ = self.start([source]).feed(self._target(target))
        wanted = torch.as_tensor(logits[0, -1 - len(target) :])
        return wanted.log_softmax(-1).numpy()

    def translate(self, source: Sequence[int], *, beam: int, max_length: int) -> list[int]:
        """Search for bare ids; the best log-probability a piece, the end symbol included."""
        config = BeamSearch(beam=beam, length_penalty="average", alpha=1.0)
        return self.search([source], config, [max_length])[0]

    def layers(self, source: Sequence[int], target: Sequence[int]) -> dict[str, Output]:
        """Give what comes out of inputs, layers and generator, by our names, (positions, width)."""
        framed, ids = self._source([source]), self._target(target)
        memory = _showing_parts(self.encoder).run({"source": framed})
        feed = {"ids": ids, "position": np.array(0), **memory, **self.step.nothing(1)}
        given = _showing_parts(self.step).run(feed)
        usual = {*self.encoder.outputs, *self.step.outputs}
        parts = {name: x[0] for name, x in {**memory, **given}.items() if name not in usual}
        return {**parts, "generator": given["logits"][0]}

    def search(
        self, sources: Sequence[Sequence[int]], config: BeamSearch, limits: Sequence[int]
    ) -> list[list[int]]:
        """Translate bare ids together, as Dragoman searches; nothing where nothing is possible."""
        found = search(self.start(sources), config, Symbols.of(self.frame), limits)
        return [list(each[0].ids) if each else [] for each in found]

    def _source(self, sources: Sequence[Sequence[int]]) -> Array:
        rows = [self.frame.source(ids) for ids in sources]
        return padded(rows, self.frame.special.padding)

    def _target(self, target: Sequence[int]) -> Array:
        return np.array([self.frame.target_in(target)], np.int64)


class OnnxReader:
    """A model of one text; see ``Reader``.

    Args:
        graph: the encoder, or the step of the decoder.
        bundle: the model.
    """

    def __init__(self, graph: OnnxGraph, bundle: Bundle) -> None:
        assert isinstance(bundle.model, CausalLM | EncoderOnly)
        kind = "decoder" if isinstance(bundle.model, CausalLM) else "encoder"
        self.name = f"onnxruntime {version('onnxruntime')}, {kind}"
        self.graph, self.longest = graph, bundle.model.max_length

    def outputs(self, ids: Sequence[int]) -> Output:
        """Give what the model computes for ids, symbols included: (L, V), (L, D) or (C,)."""
        row = np.array([ids], np.int64)
        feed = {"ids": row, "position": np.array(0), "segments": np.zeros_like(row)}
        return self._first({**feed, **self.graph.nothing(1)})

    def outputs_of_image(self, image: Output) -> Output:
        """Give what the model computes for an image, (height, width, channels)."""
        return self._first({"images": image[None]})

    def _first(self, feed: dict[str, NDArray[np.generic]]) -> Output:
        return self.graph.run(feed)[self.graph.outputs[0]][0]


def open_onnx(
    folder: Path, bundle: Bundle, *, threads: int | None = None
) -> OnnxTranslator | OnnxReader:
    """Load what ``write_onnx`` wrote of a bundle.

    Args:
        folder: holds graphs, tokenizers and ``config.json``.
        bundle: that it was written from.
        threads: that onnxruntime may use; as many as there are cores unless given.

    Raises:
        ModelError: a file is missing, damaged, exchanged or of another model.
        ConfigError: no such model is written as ONNX.
        MissingExtraError: onnxruntime is not installed.
    """
    mistakes = beyond_onnx(bundle.config)
    if mistakes:
        raise ConfigError.together(mistakes).inside("model")
    described = read_description(folder)
    if described.get("weights") != weights_digest(bundle.model):
        raise ModelError(f"{folder / CONFIG}: weights: are of another model; export again")
    if bundle.tokenizers:
        load_tokenizers(folder)
    model = bundle.model
    assert isinstance(bundle.config, ModelConfig)
    assert isinstance(model, EncoderDecoder | CausalLM | EncoderOnly)
    loaded = {
        name: _load(folder / f"{name}.onnx", graph, threads)
        for name, graph in graphs_of(bundle.config, model).items()
    }
    if isinstance(model, EncoderDecoder):
        return OnnxTranslator(loaded[ENCODER], loaded[STEP], bundle)
    (graph,) = loaded.values()
    return OnnxReader(graph, bundle)


def _showing_parts(graph: OnnxGraph) -> OnnxGraph:
    """Load a graph that gives what comes out of each of its parts, too."""
    aside = graph.path.with_name(f".parts-{os.getpid()}.onnx")
    try:
        with_parts(graph.path, aside)
        return OnnxGraph(aside, threads=1)
    finally:
        aside.unlink(missing_ok=True)


def _load(path: Path, graph: Graph, threads: int | None) -> OnnxGraph:
    """Load a graph and see that it takes and gives what this model's does."""
    loaded = OnnxGraph(path, threads=threads)
    inputs = {port.name: port.shape for port in graph.inputs}
    if loaded.inputs != inputs or loaded.outputs != tuple(port.name for port in graph.outputs):
        raise ModelError(f"{path}: takes or gives something else than this model; export again")
    return loaded
