"""Sizes and choices with a name; any key of ``[model]`` given beside it changes them."""

from typing import Any

_BERT = {
    "architecture": "encoder-only",
    "layers": 12,
    "d_model": 768,
    "heads": 12,
    "d_ff": 3072,
    "activation": "gelu",
    "attention_bias": True,
    "attention_dropout": 0.1,
    "norm_eps": 1e-12,
    "embedding_norm": True,
    "embedding_scale": False,
    "initialization": "normal",
}

PRESETS: dict[str, dict[str, Any]] = {  # Any: a table as TOML would hold it
    "base": {},  # table 3, first row: the defaults of ModelConfig
    "big": {"d_model": 1024, "heads": 16, "d_ff": 4096, "dropout": 0.3},  # table 3, last row
    "small": {"layers": 3, "d_model": 256, "heads": 4, "d_ff": 1024},
    "tiny": {"layers": 2, "d_model": 128, "heads": 4, "d_ff": 512},
    # BERT-base (Devlin et al. 2018, arXiv 1810.04805): norms after the sum, learned positions.
    "bert": {
        **_BERT,
        "positions": {"kind": "learned", "max_length": 512},
        "segments": 2,
        "output_bias": True,
    },
    # GPT-2 small (Radford et al. 2019): norms before, learned positions, tanh form of GELU.
    "gpt2": {
        "architecture": "decoder-only",
        "layers": 12,
        "d_model": 768,
        "heads": 12,
        "d_ff": 3072,
        "activation": "gelu_tanh",
        "attention_bias": True,
        "attention_dropout": 0.1,
        "norm_order": "pre",
        "norm_eps": 1e-5,
        "positions": {"kind": "learned", "max_length": 1024},
        "embedding_scale": False,
        "initialization": "normal",
    },
    # T5-small (Raffel et al. 2019, arXiv 1910.10683): no biases, scores without 1 / sqrt(d_k).
    "t5": {
        "layers": 6,
        "d_model": 512,
        "heads": 8,
        "d_k": 64,
        "d_ff": 2048,
        "norm": "rms",
        "norm_order": "pre",
        "feedforward_bias": False,
        "attention": {"kind": "softmax", "scale": 1.0},
        "positions": {"kind": "t5"},
    },
    # LLaMA 7B (Touvron et al. 2023, arXiv 2302.13971).
    "llama": {
        "architecture": "decoder-only",
        "layers": 32,
        "d_model": 4096,
        "heads": 32,
        "d_ff": 16_384,
        "multiple_of": 256,
        "feedforward": "gated",
        "activation": "silu",
        "norm": "rms",
        "norm_order": "pre",
        "positions": {"kind": "rotary"},
        "tied": "none",
        "embedding_scale": False,
        "dropout": 0.0,
        "initialization": "normal",
    },
    # ViT-Base/16 (Dosovitskiy et al. 2020, arXiv 2010.11929).
    "vit": {
        **_BERT,
        "images": {"height": 224, "width": 224, "channels": 3, "patch": 16},
        "positions": {"kind": "learned", "max_length": 197},
        "attention_dropout": 0.0,
        "norm_order": "pre",
        "norm_eps": 1e-6,
        "embedding_norm": False,
        "head": "class",
        "pooled": False,
    },
}
