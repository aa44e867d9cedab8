"""Small models of ``transformers`` in which every weight matters; a family joins by a line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="needs transformers: the extra hf")

LAYERS, WIDTH, HEADS, INNER, PIECES = 2, 32, 4, 48, 50
IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
NO_PADDING = {"bos_token_id": 1, "eos_token_id": 1, "pad_token_id": None}


def gpt2(**choices: Any) -> Any:
    config = transformers.GPT2Config(
        vocab_size=PIECES,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        n_inner=INNER,
        n_positions=64,
        **{**NO_PADDING, **choices},
    )
    return transformers.GPT2LMHeadModel(config)


def bloom(**choices: Any) -> Any:
    config = transformers.BloomConfig(
        vocab_size=PIECES,
        n_layer=LAYERS,
        **{"hidden_size": WIDTH, "n_head": HEADS, **IDS, **choices},
    )
    return transformers.BloomForCausalLM(config)


def llama(kind: str = "Llama", **choices: Any) -> Any:
    sizes: dict[str, Any] = {"num_key_value_heads": 2, "tie_word_embeddings": False}
    sizes |= {**NO_PADDING, **choices}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=PIECES,
        hidden_size=WIDTH,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        **sizes,
    )
    return getattr(transformers, f"{kind}ForCausalLM")(config)


def bert(kind: str, **choices: Any) -> Any:
    """Make a BERT, or an ALBERT with narrow tables."""
    config = getattr(transformers, f"{kind[: kind.lower().index('bert') + 4]}Config")(
        vocab_size=PIECES,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        max_position_embeddings=64,
        embedding_size=8,  # ALBERT's
        **choices,
    )
    return getattr(transformers, kind)(config)


LABELS = {0: "yes", 1: "no", 2: "perhaps"}

MODELS: dict[str, Callable[[], Any]] = {
    "gpt2": gpt2,
    "gpt2 untied, unscaled": lambda: gpt2(tie_word_embeddings=False, scale_attn_weights=False),
    "gpt2 with a padding piece": lambda: gpt2(**IDS, activation_function="relu"),
    "bloom": bloom,
    "bloom of 6 heads": lambda: bloom(hidden_size=48, n_head=6, tie_word_embeddings=False),
    "llama": llama,
    "llama with biases": lambda: llama(
        attention_bias=True, mlp_bias=True, head_dim=6, pad_token_id=0
    ),
    "llama tied, slow turns": lambda: llama(
        tie_word_embeddings=True,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
    ),
    "mistral": lambda: llama("Mistral", sliding_window=None),
    "mistral with a window": lambda: llama("Mistral", sliding_window=3),
    "qwen2": lambda: llama("Qwen2"),
    "bert": lambda: bert("BertModel"),
    "bert for pieces": lambda: bert("BertForMaskedLM", hidden_act="gelu_new"),
    "bert for classes": lambda: bert("BertForSequenceClassification", id2label=LABELS),
    "bert for tags": lambda: bert("BertForTokenClassification", type_vocab_size=3, id2label=LABELS),
    "albert": lambda: bert("AlbertModel"),
    "albert for pieces": lambda: bert("AlbertForMaskedLM"),
    "albert for classes": lambda: bert("AlbertForSequenceClassification", id2label=LABELS),
    "albert for tags": lambda: bert("AlbertForTokenClassification", id2label=LABELS),
}


def make(name: str) -> Any:
    """Draw every weight anew and large: first values hide mistakes, since biases are zero."""
    model = MODELS[name]()
    rng = torch.Generator().manual_seed(3)
    for named, weight in [*model.named_parameters(), *model.named_buffers()]:
        if weight.is_floating_point() and "inv_freq" not in named:
            shift = 1.0 if "norm" in named.lower() and named.endswith("weight") else 0.0
            weight.data.normal_(shift, 0.25, generator=rng)
    return model.eval()


def saved(name: str, folder: Path) -> Path:
    """Write one as its own library does, in one file of safetensors."""
    transformers.utils.logging.disable_progress_bar()
    make(name).save_pretrained(folder)
    return folder
