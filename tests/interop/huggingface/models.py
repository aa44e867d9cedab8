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


def stacks(kind: str, **choices: Any) -> Any:
    """Make a Marian, BART or mBART; the last decoder layer is missing."""
    named, _, head = kind.partition("-")
    config = getattr(transformers, f"{named}Config")(
        d_model=WIDTH,
        encoder_layers=LAYERS + 1,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER,
        max_position_embeddings=64,
        **{"vocab_size": PIECES, **choices},
    )
    return getattr(transformers, f"{named}{head}")(config)


def marian(**choices: Any) -> Any:
    ids = {"pad_token_id": 49, "eos_token_id": 0, "decoder_start_token_id": 49}
    more = {"activation_function": "swish", "scale_embedding": True, "forced_eos_token_id": 0}
    return stacks("Marian-MTModel", **{**ids, **more, **choices})


def t5(kind: str = "T5", *, lone: bool = False, **choices: Any) -> Any:
    """Make a T5; with ``lone`` its output has a table of its own."""
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=PIECES,
        d_kv=6,
        d_ff=INNER,
        num_layers=LAYERS + 1,
        num_decoder_layers=LAYERS,
        num_heads=HEADS,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=20,
        **{"d_model": WIDTH, **ids, **choices},
    )
    model = getattr(transformers, f"{kind}ForConditionalGeneration")(config)
    if lone:  # the package ties all it makes; a checkpoint of 1.1 brings a table of its own
        model.lm_head.weight = torch.nn.Parameter(torch.empty(PIECES, WIDTH))
    return model


GATED = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
BART = "Bart-ForConditionalGeneration"

TRANSLATORS: dict[str, Callable[[], Any]] = {
    "marian": marian,
    "marian with two vocabularies": lambda: marian(
        share_encoder_decoder_embeddings=False, decoder_vocab_size=60
    ),
    "pegasus": lambda: stacks("Pegasus-ForConditionalGeneration", scale_embedding=True),
    "bart": lambda: stacks(BART, forced_bos_token_id=0),
    "bart scaled": lambda: stacks(BART, scale_embedding=True, activation_function="gelu_new"),
    "bart without a head": lambda: stacks("Bart-Model"),
    "mbart": lambda: stacks("MBart-ForConditionalGeneration", scale_embedding=True),
    "t5 1.0": t5,
    "t5 1.0 of a width whose root is whole": lambda: t5(d_model=64, feed_forward_proj="gelu"),
    "t5 1.1": lambda: t5(lone=True, **GATED),
    "t5 1.1 with one table": lambda: t5(**{**GATED, "feed_forward_proj": "gated-silu"}),
    "mt5": lambda: t5("MT5", lone=True),
}


# One of each family.
FAMILIES = (
    *("gpt2", "bloom", "llama", "mistral", "qwen2", "bert", "albert"),
    *("marian", "pegasus", "bart", "mbart", "t5 1.0", "mt5"),
)


def make(name: str) -> Any:
    """Draw every weight anew and large: first values hide mistakes, since biases are zero."""
    model = (MODELS | TRANSLATORS)[name]()
    rng = torch.Generator().manual_seed(3)
    for named, weight in [*model.named_parameters(), *model.named_buffers()]:
        computed = "inv_freq" in named or ("embed_positions" in named and not weight.requires_grad)
        if weight.is_floating_point() and not computed:
            shift = 1.0 if "norm" in named.lower() and named.endswith("weight") else 0.0
            weight.data.normal_(shift, 0.25, generator=rng)
    return model.eval()


def saved(name: str, folder: Path) -> Path:
    """Write one as its own library does, in one file of safetensors."""
    transformers.utils.logging.disable_progress_bar()
    make(name).save_pretrained(folder)
    return folder
