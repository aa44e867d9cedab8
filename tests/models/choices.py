"""Every choice of ``[model]``, as the table a recipe would hold; each is trained and used."""

from typing import Any

from dragoman.models import AnyConfig, read_config

SIZES: dict[str, Any] = {"layers": 2, "d_model": 32, "heads": 4, "d_ff": 64, "dropout": 0.0}
BASELINE_SIZES: dict[str, Any] = {"layers": 2, "d_model": 32, "dropout": 0.0}

TRANSFORMERS: dict[str, dict[str, Any]] = {  # Any: as TOML would hold it
    "paper": {},
    "rms": {"norm": "rms"},
    "pre": {"norm_order": "pre"},
    "pre-without-final-norm": {"norm_order": "pre", "final_norm": False},
    "post-with-final-norm": {"final_norm": True, "norm_eps": 1e-3},
    "sinusoidal-halves": {"positions": {"kind": "sinusoidal", "layout": "halves"}},
    "sinusoidal-opennmt": {
        "positions": {
            "kind": "sinusoidal",
            "layout": "halves",
            "first": 1,
            "rate": "tensor2tensor",
        }
    },
    "learned": {"positions": {"kind": "learned", "max_length": 64}},
    "shaw": {"positions": {"kind": "shaw", "clip": 3}},
    "shaw-keys-only": {"positions": {"kind": "shaw", "clip": 3, "values": False}},
    "t5": {"positions": {"kind": "t5", "buckets": 8, "max_distance": 16}},
    "rotary": {"positions": {"kind": "rotary"}},
    "rotary-interleaved": {"positions": {"kind": "rotary", "layout": "interleaved", "base": 500.0}},
    "alibi": {"positions": {"kind": "alibi"}},
    "no-positions": {"positions": {"kind": "none"}},
    "decoder-positions": {
        "positions": {"kind": "rotary"},
        "decoder_positions": {"kind": "learned", "max_length": 64},
    },
    "gated": {"feedforward": "gated", "multiple_of": 16},
    "gated-gelu-with-bias": {
        "feedforward": "gated",
        "activation": "gelu",
        "feedforward_bias": True,
    },
    "gelu": {"activation": "gelu"},
    "gelu-tanh": {"activation": "gelu_tanh", "feedforward_bias": False},
    "silu": {"activation": "silu"},
    "scale": {"attention": {"kind": "softmax", "scale": 1.0}},
    "additive": {"attention": {"kind": "additive"}},
    "additive-with-alibi": {"attention": {"kind": "additive"}, "positions": {"kind": "alibi"}},
    "linear": {"attention": {"kind": "linear"}},
    "linear-grouped": {"attention": {"kind": "linear"}, "kv_heads": 2},
    "local": {"attention": {"kind": "local", "keys": 5}},
    "local-rotary": {
        "attention": {"kind": "local", "keys": 5},
        "positions": {"kind": "rotary"},
        "kv_heads": 1,
    },
    "local-shaw": {"attention": {"kind": "local", "keys": 3}, "positions": {"kind": "shaw"}},
    "sparse": {"attention": {"kind": "sparse", "keys": 3, "global_positions": [0, 2]}},
    "sparse-t5": {"attention": {"kind": "sparse", "keys": 3}, "positions": {"kind": "t5"}},
    "mqa": {"kv_heads": 1},
    "gqa": {"kv_heads": 2, "positions": {"kind": "rotary"}},
    "free-widths": {"d_k": 6, "d_v": 10, "attention_bias": True},
    "biases-before-the-heads": {"attention_bias": True, "attention_output_bias": False},
    "free-widths-shaw": {"d_k": 6, "d_v": 10, "positions": {"kind": "shaw"}},
    "heads-not-dividing": {"heads": 3, "d_k": 8},
    "all-dropouts": {"dropout": 0.1, "attention_dropout": 0.1, "feedforward_dropout": 0.1},
    "shaw-dropout": {"attention_dropout": 0.1, "positions": {"kind": "shaw"}},
    "tied-output": {"tied": "output"},
    "tied-input": {"tied": "input"},
    "untied": {"tied": "none"},
    "narrow-table": {"embedding_width": 16},
    "narrow-untied": {"embedding_width": 16, "tied": "none", "output_bias": True},
    "unscaled-with-norm": {"embedding_scale": False, "embedding_norm": True},
    "output-bias": {"output_bias": True},
    "depth-scaled": {"initialization": "depth-scaled"},
    "deepnorm": {"initialization": "deepnorm"},
    "normal": {"initialization": "normal", "norm_order": "pre"},
    "more-encoder-layers": {"layers": 3, "decoder_layers": 1},
    "t5-shape": {
        "norm": "rms",
        "norm_order": "pre",
        "feedforward_bias": False,
        "attention": {"kind": "softmax", "scale": 1.0},
        "positions": {"kind": "t5"},
        "d_k": 8,
    },
}

BASELINES: dict[str, dict[str, Any]] = {
    "lstm": {"architecture": "recurrent", "cell": "lstm"},
    "gru": {"architecture": "recurrent", "cell": "gru"},
    "convolutional": {"architecture": "convolutional"},
    "dilated": {"architecture": "convolutional", "dilations": "doubling"},
    "separable": {"architecture": "convolutional", "separable": True},
}

TRANSLATORS = {**TRANSFORMERS, **BASELINES}

# What only makes sense with a source, or says how many stacks there are.
_TWO_STACKS = ("decoder-positions", "more-encoder-layers", "tied-input")
ONE_STACK = {name: table for name, table in TRANSFORMERS.items() if name not in _TWO_STACKS}


def translator_config(name: str, **extra: Any) -> AnyConfig:
    """Read the record of a translator, as small as can be."""
    table = TRANSLATORS[name]
    sizes = BASELINE_SIZES if name in BASELINES else SIZES
    return read_config({**sizes, **table, **extra})


def one_stack_config(name: str, **extra: Any) -> AnyConfig:
    """Read the record of a model of one stack."""
    return read_config({**SIZES, **ONE_STACK[name], **extra})
