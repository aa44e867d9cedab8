"""Folders that the library's own converters make of transformers' models, read and held to it.

They hold what only other programs write: factors on outputs, layers that join heads without biases,
tables that serve as segments, and computations that no choice of ours does.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.errors import ModelError
from dragoman.interop import import_ctranslate2, open_ctranslate2
from dragoman.interop.ctranslate2 import CTranslate2Side
from tests.interop.ctranslate2.binaries import PRETRAINED
from tests.interop.ctranslate2.test_importing import log_probs, outputs

converters = pytest.importorskip("ctranslate2.converters", reason="needs the extra ct2")
transformers: Any = pytest.importorskip("transformers", reason="needs transformers: the extra hf")
pytestmark = pytest.mark.skipif(
    not PRETRAINED.is_dir(), reason="needs ../shared/data/pretrained, for its tokenizers too"
)

IDS = [5, 9, 12, 7, 30, 8, 41] * 3
SYMBOLS = {"vocab_size": 1024, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 3}
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}
OPT = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "ffn_dim": 48,
    "max_position_embeddings": 64,
}
MODELS: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=64, **SYMBOLS)
    ),
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, **SYMBOLS)),
    "qwen2": lambda: transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**SIZES, **SYMBOLS)),
    "opt": lambda: transformers.OPTForCausalLM(
        transformers.OPTConfig(word_embed_proj_dim=32, **OPT, **SYMBOLS)
    ),
    "mistral": lambda: transformers.MistralForCausalLM(
        transformers.MistralConfig(sliding_window=16, **SIZES, **SYMBOLS)
    ),
    "qwen3": lambda: transformers.Qwen3ForCausalLM(
        transformers.Qwen3Config(head_dim=8, **SIZES, **SYMBOLS)
    ),
    "opt-narrow": lambda: transformers.OPTForCausalLM(
        transformers.OPTConfig(word_embed_proj_dim=16, **OPT, **SYMBOLS)
    ),
}
REFUSED = {
    "mistral": r"the decoder lets each position see a window of those before",
    "qwen3": r"has decoder/layer_0/self_attention/q_norm/gamma: norms of queries and keys",
}


def converted(name: str, folder: Path) -> Path:
    """Save a random model with a tokenizer of as many pieces, and convert it."""
    torch.manual_seed(3)
    model = MODELS[name]()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.15)
    model.save_pretrained(folder / "theirs")
    for path in (PRETRAINED / "hf-tiny-BloomForCausalLM").glob("*token*"):
        shutil.copyfile(path, folder / "theirs" / path.name)
    converters.TransformersConverter(str(folder / "theirs")).convert(str(folder / "model"))
    return folder / "model"


def assert_the_library_agrees(folder: Path) -> None:
    bundle = import_ctranslate2(folder)
    side = open_ctranslate2(folder, bundle)
    if isinstance(side, CTranslate2Side):
        theirs, ours = side.log_probs(IDS, IDS[:9]), log_probs(bundle, IDS, IDS[:9])
    else:
        theirs, ours = side.outputs(IDS), outputs(bundle.model, IDS)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize("name", ["T5ForConditionalGeneration", "BloomForCausalLM"])
def test_published_models_converted_give_the_same(name: str, tmp_path: Path) -> None:
    source = PRETRAINED / f"hf-tiny-{name}"
    converters.TransformersConverter(str(source)).convert(str(tmp_path / "model"))
    assert_the_library_agrees(tmp_path / "model")


@pytest.mark.filterwarnings("ignore")  # of weights of a head that its converter passes over
def test_an_encoder_with_kinds_of_segments_gives_the_same(tmp_path: Path) -> None:
    source = PRETRAINED / "hf-tiny-BertForSequenceClassification"
    converters.TransformersConverter(str(source)).convert(str(tmp_path / "model"))
    assert_the_library_agrees(tmp_path / "model")


@pytest.mark.parametrize("name", [name for name in MODELS if name not in REFUSED])
def test_random_models_converted_give_the_same(name: str, tmp_path: Path) -> None:
    assert_the_library_agrees(converted(name, tmp_path))


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_choice_of_ours_computes_is_refused(name: str, tmp_path: Path) -> None:
    folder = converted(name, tmp_path)
    with pytest.raises(ModelError, match=REFUSED[name]):
        import_ctranslate2(folder)
