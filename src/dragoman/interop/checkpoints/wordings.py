"""What each trainer calls its parts, for a second reading; see ``second_reading.py``."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from dragoman.interop.checkpoints.asked import Asked
from dragoman.interop.checkpoints.lists import Texts
from dragoman.interop.checkpoints.second_reading import Stack, Wording, wave_positions
from dragoman.interop.checkpoints.tables import State

_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gated-gelu": F.gelu,
    "silu": F.silu,
    "swish": F.silu,
    "gelu_accurate": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_fast": lambda x: F.gelu(x, approximate="tanh"),
}
_FAIRSEQ_PADDING = 1
_STACKS: tuple[Stack, Stack] = ("encoder", "decoder")
Said = Mapping[str, Any]


def fairseq_wording(said: Said, state: State, texts: Texts, asked: Asked) -> Wording:
    """Word a Transformer of fairseq."""
    width = state["encoder.embed_tokens.weight"].size(1)

    def positions(stack: Stack, length: int) -> Tensor | None:
        if said.get("no_token_positional_embeddings"):
            return None
        learned = state.get(f"{stack}.embed_positions.weight")
        if learned is not None:
            return learned[_FAIRSEQ_PADDING + 1 :][:length].double()
        return wave_positions(length, width, first=_FAIRSEQ_PADDING + 1, halves=True, last_rate=1)

    norms = ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm")
    tables = [state.get(f"{stack}.embed_positions.weight") for stack in _STACKS]
    limits = [table.size(0) - _FAIRSEQ_PADDING - 1 for table in tables if table is not None]
    return Wording(
        tables=(
            "encoder.embed_tokens.weight",
            "decoder.embed_tokens.weight",
            "decoder.output_projection.weight",
        ),
        output_bias="",
        layers={stack: f"{stack}.layers.{{i}}" for stack in _STACKS},
        products=("q_proj", "k_proj", "v_proj", "out_proj"),
        attentions={"encoder": ("self_attn",), "decoder": ("self_attn", "encoder_attn")},
        norms={"encoder": norms[::2], "decoder": norms},
        inner=("fc1", "fc2", None),
        final="layer_norm",
        embedded="layernorm_embedding",
        heads=said.get("encoder_attention_heads") or asked.heads or 0,
        pre=bool(said.get("encoder_normalize_before")),
        eps=1e-5,
        scale=1.0 if said.get("no_scale_embedding") else math.sqrt(width),
        activation=_FUNCTIONS[str(said.get("activation_fn") or "relu")],
        positions=positions,
        after=(texts[0].listed.special.end,),
        start=texts[1].listed.special.end,
        longest=min(limits, default=None),
    )


def joeynmt_wording(said: Said, state: State, texts: Texts, asked: Asked) -> Wording:
    """Word a Transformer of JoeyNMT."""
    encoder: Said = said["model"]["encoder"]
    width = state["src_embed.lut.weight"].size(1)
    embeddings: Said = encoder.get("embeddings") or {}
    source, target = (text.listed.special for text in texts)
    return Wording(
        tables=("src_embed.lut.weight", "trg_embed.lut.weight", "decoder.output_layer.weight"),
        output_bias="",
        layers={stack: f"{stack}.layers.{{i}}" for stack in _STACKS},
        products=("q_layer", "k_layer", "v_layer", "output_layer"),
        attentions={"encoder": ("src_src_att",), "decoder": ("trg_trg_att", "src_trg_att")},
        norms={
            "encoder": ("layer_norm", "feed_forward.layer_norm"),
            "decoder": ("x_layer_norm", "dec_layer_norm", "feed_forward.layer_norm"),
        },
        inner=("feed_forward.pwff_layer.0", "feed_forward.pwff_layer.3", None),
        final="layer_norm",
        heads=encoder.get("num_heads") or asked.heads or 0,
        pre=encoder.get("layer_norm", "pre" if "encoder.layer_norm.weight" in state else "post")
        == "pre",
        eps=1e-6,
        scale=math.sqrt(width) if embeddings.get("scale") else 1.0,
        activation=_FUNCTIONS[str(encoder.get("activation") or "relu")],
        positions=lambda _, length: wave_positions(length, width),
        after=(source.end,),
        start=target.start,
    )


def opennmt_wording(said: Said, state: State, texts: Texts, asked: Asked) -> Wording:
    """Word a Transformer of OpenNMT-py 3."""
    names = [f"{stack}.embeddings.make_embedding.emb_luts.0.weight" for stack in _STACKS]
    width = state[names[0]].size(1)
    waves, concat = bool(said.get("position_encoding")), said.get("position_encoding_type")
    halves = concat == "SinusoidalConcat"

    def positions(_: Stack, length: int) -> Tensor | None:
        if not waves:
            return None
        return wave_positions(length, width, halves=halves, last_rate=int(halves))

    return Wording(
        tables=(names[0], names[1], "generator.weight"),
        output_bias="generator.bias",
        layers={
            "encoder": "encoder.transformer.{i}",
            "decoder": "decoder.transformer_layers.{i}",
        },
        products=("linear_query", "linear_keys", "linear_values", "final_linear"),
        attentions={"encoder": ("self_attn",), "decoder": ("self_attn", "context_attn")},
        norms={
            "encoder": ("layer_norm", "feed_forward.layer_norm"),
            "decoder": ("layer_norm_1", "layer_norm_2", "feed_forward.layer_norm"),
        },
        inner=("feed_forward.w_1", "feed_forward.w_2", "feed_forward.w_3"),
        final="layer_norm",
        heads=said["heads"],
        pre=True,
        eps=said.get("norm_eps") or 1e-6,
        scale=math.sqrt(width) if waves else 1.0,
        activation=_FUNCTIONS[str(said.get("pos_ffn_activation_fn") or "relu")],
        positions=positions,
        relative="relative_positions_embeddings.weight",
        alibi=said.get("max_relative_positions") == -2,
        after=(),
        start=texts[1].listed.special.start,
    )


def pytorch_seq2seq_wording(said: Said, state: State, texts: Texts, asked: Asked) -> Wording:
    """Word the Transformer of the tutorial."""
    width = state["encoder.tok_embedding.weight"].size(1)
    tables = {stack: state[f"{stack}.pos_embedding.weight"].double() for stack in _STACKS}
    source, target = (text.listed.special for text in texts)
    norms = ("self_attn_layer_norm", "enc_attn_layer_norm", "ff_layer_norm")
    inner = "positionwise_feedforward"
    return Wording(
        tables=(
            "encoder.tok_embedding.weight",
            "decoder.tok_embedding.weight",
            "decoder.fc_out.weight",
        ),
        output_bias="decoder.fc_out.bias",
        layers={stack: f"{stack}.layers.{{i}}" for stack in _STACKS},
        products=("fc_q", "fc_k", "fc_v", "fc_o"),
        attentions={
            "encoder": ("self_attention",),
            "decoder": ("self_attention", "encoder_attention"),
        },
        norms={"encoder": norms[::2], "decoder": norms},
        inner=(f"{inner}.fc_1", f"{inner}.fc_2", None),
        final="norm",
        heads=asked.heads or 0,
        pre=asked.norm_order == "pre",
        eps=1e-5,
        scale=math.sqrt(width),
        activation=F.relu,
        positions=lambda stack, length: tables[stack][:length],
        before=(source.start,),
        after=(source.end,),
        start=target.start,
        longest=min(table.size(0) for table in tables.values()),
    )
