"""An ONNX folder with the weights of a bundle.

    write_onnx(folder, load_bundle(model))

```
encoder.onnx          ids of sources to what the decoder reads of them; or an encoder alone
decoder_step.onnx     ids of new pieces and what is known of those before, to scores of the next
config.json           all choices, ids of symbols, inputs and outputs and what they mean
tokenizer.json        both sides, or source.tokenizer.json and target.tokenizer.json
README.md             a program that uses all this without Dragoman
```

The graphs are made of operators part by part, which takes a tenth of a second, where tracing our
modules takes half a minute, holds fewer choices, and cuts sinusoids off at the length it has seen.
"""

import json
from pathlib import Path
from typing import get_args

from dragoman.atomic import new_folder, write_text
from dragoman.bundle import Bundle, save_tokenizers
from dragoman.errors import ConfigError
from dragoman.interop.onnx.card import card
from dragoman.interop.onnx.description import CONFIG, Quantization, describe
from dragoman.interop.onnx.files import LARGEST, library, save_graph
from dragoman.interop.onnx.limits import beyond_onnx
from dragoman.interop.onnx.whole import graphs_of
from dragoman.models import ModelConfig
from dragoman.nn import CausalLM, EncoderDecoder, EncoderOnly


def write_onnx(
    folder: Path,
    bundle: Bundle,
    *,
    quantization: Quantization = "float32",
    largest: int = LARGEST,
) -> None:
    """Write a folder that onnxruntime runs; it appears whole or not at all.

    Args:
        folder: its name; one that is there is replaced.
        bundle: a Transformer of any choice.
        quantization: how weights are kept: ``float32``, or matrices and tables as ``int8`` with
            a factor for each row; those products are then of integers, all else in float32.
        largest: most bytes of weights inside one graph; more lie in a file beside it.

    Raises:
        ConfigError: a choice of the model has no form there, all of them at once; or the
            quantization is not known.
        MissingExtraError: the library ``onnx`` is not installed.
        OSError: the folder cannot be written, or the disk is full.
    """
    if quantization not in get_args(Quantization):
        choices = ", ".join(get_args(Quantization))
        problem = f"{quantization!r} is not a choice"
        raise ConfigError("quantization", problem, f"choose from {choices}")
    mistakes = beyond_onnx(bundle.config)
    if mistakes:
        raise ConfigError.together(mistakes).inside("model")
    assert isinstance(bundle.config, ModelConfig)
    assert isinstance(bundle.model, EncoderDecoder | CausalLM | EncoderOnly)
    library()
    graphs = graphs_of(bundle.config, bundle.model, int8=quantization == "int8")
    with new_folder(folder) as aside:
        for name, graph in graphs.items():
            save_graph(aside / f"{name}.onnx", graph, largest=largest)
        save_tokenizers(aside, bundle.tokenizers)
        described = describe(bundle, quantization, graphs, aside)
        write_text(aside / CONFIG, json.dumps(described, indent=2) + "\n")
        write_text(aside / "README.md", card(bundle, graphs))
