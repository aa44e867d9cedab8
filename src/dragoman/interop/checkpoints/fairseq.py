"""Transformers of fairseq: ``transformer``, ``transformer_wmt_en_de`` and their kin.

Sources are ``X </s>``, targets begin with ``</s>``. Positions count from behind the padding id, 2;
sinusoids are those of tensor2tensor. Norms have PyTorch's eps, and all products biases but the
last.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from dragoman.errors import ConfigError, Mistake, ModelError
from dragoman.interop.checkpoints.asked import (
    Asked,
    count_layers,
    read_choices,
    refuse_all,
    shape_of,
    table_choices,
)
from dragoman.interop.checkpoints.tables import State, Tables
from dragoman.interop.checkpoints.torch_file import Content, plain_settings
from dragoman.interop.huggingface.forms import Offset
from dragoman.interop.huggingface.names import Row, attention, every, linear, norm
from dragoman.models import Learned, ModelConfig, NoPositions, Positions, Sinusoidal

PADDING = 1  # <s> <pad> </s> <unk>, whatever the dictionary holds
RESAVE = (
    'where you trust it, save it as plain values: python -c "import torch; from omegaconf import '
    "OmegaConf as o; c = torch.load('IN', 'cpu', weights_only=False); torch.save({'model': "
    "c['model'], 'args': None, 'cfg': o.to_container(c['cfg'], resolve=True, enum_to_str=True)}, "
    "'OUT')\""
)
TABLES = Tables(
    "encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "decoder.output_projection.weight"
)
COMPUTED = (".version", ".embed_positions._float_tensor", ".embed_positions.weights")
_PRODUCTS = "q_proj k_proj v_proj out_proj"
_EPS = 1e-5  # PyTorch's
_ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_accurate": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "swish": "silu",
}
_NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}
# Copies that 0.12 keeps for faster encoding and fills from the weights themselves when it loads.
_COPY = re.compile(r"encoder\.layers\.\d+\.(in_proj|out_proj|fc1|fc2)_(weight|bias)")
_OLD_NORM = re.compile(r"((encoder|decoder)\.layers\.\d+)\.layer_norms\.(\d)\.(weight|bias)")


def fairseq_settings(content: Content, path: Path) -> Content:
    """Give what a checkpoint says of its model: ``args``, or ``cfg`` since 0.11.

    Raises:
        ModelError: it says nothing.
    """
    found = plain_settings(content.get("args"))
    if found is None:
        whole = plain_settings(content.get("cfg")) or {}
        found = plain_settings(whole.get("model"))
        task = plain_settings(whole.get("task")) or {}
        if found is not None:
            found = {**task, **found}
    if found is None:
        raise ModelError(f"{path}: neither args nor cfg says how the model was made; {RESAVE}")
    flat = dict(found)
    for stack in ("encoder", "decoder"):  # in a tree since 0.11
        for key, value in (plain_settings(found.get(stack)) or {}).items():
            flat.setdefault(f"{stack}_{key}", value)
    return flat


def modernised(state: State) -> dict[str, Tensor]:
    """Give the weights the names that fairseq has for them today, as it does itself."""
    renamed: dict[str, Tensor] = {}
    for name, weight in state.items():
        if _COPY.fullmatch(name):
            continue
        if (old := _OLD_NORM.fullmatch(name)) and int(old[3]) < len(_NORMS[old[2]]):
            renamed[f"{old[1]}.{_NORMS[old[2]][int(old[3])]}.{old[4]}"] = weight
        elif name.endswith((".in_proj_weight", ".in_proj_bias")) and weight.size(0) % 3 == 0:
            stem, kind = name.rsplit(".in_proj_", 1)
            for product, part in zip("qkv", weight.chunk(3), strict=True):
                renamed[f"{stem}.{product}_proj.{kind}"] = part
        elif name == "decoder.embed_out":
            renamed[TABLES.output] = weight
        else:
            renamed[name] = weight
    return renamed


def fairseq_config(said: Mapping[str, Any], state: State, path: Path, asked: Asked) -> ModelConfig:
    """Tell the choices of a model from what the checkpoint says and from its tensors.

    Args:
        said: see ``fairseq_settings``.
        state: its weights under their present names.
        path: of the checkpoint, for messages.
        asked: what it does not say.

    Raises:
        ConfigError: it was made by choices that have no place here, all of which are named.
        ModelError: a tensor that tells a size is missing.
    """
    refuse_all(_beyond(said, state), path)
    inner, _ = shape_of(state, "encoder.layers.0.fc1.weight", path)
    activation = str(said.get("activation_fn") or "relu")
    before = bool(said.get("encoder_normalize_before"))
    positions = {stack: _positions(stack, said, state, path) for stack in ("encoder", "decoder")}
    choices = table_choices(TABLES, state, path) | {
        "layers": count_layers(state, "encoder.layers.", path),
        "decoder_layers": count_layers(state, "decoder.layers.", path),
        "heads": _heads(said, asked),
        "d_ff": inner,
        "activation": _ACTIVATIONS[activation],
        "dropout": _chance(said, "dropout", 0.1),
        "attention_dropout": _chance(said, "attention_dropout", 0.0),
        "feedforward_dropout": _chance(said, "activation_dropout", 0.0),
        "attention_bias": True,
        "norm_order": "pre" if before else "post",
        "final_norm": "encoder.layer_norm.weight" in state,
        "norm_eps": _EPS,
        "positions": positions["encoder"],
        "decoder_positions": positions["decoder"],
        "embedding_scale": not said.get("no_scale_embedding"),
        "embedding_norm": "encoder.layernorm_embedding.weight" in state,
    }
    return read_choices(choices, path)


def fairseq_rows(config: ModelConfig) -> Iterator[Row]:
    """Name every weight."""
    yield from TABLES.rows(config.tied or "all")
    for stack, inputs, positions in (
        ("encoder", "source_input", config.positions),
        ("decoder", "target_input", config.target_positions),
    ):
        if isinstance(positions, Learned):
            table = (f"{stack}.embed_positions.weight",)
            yield Row(f"{inputs}.positions.table", table, Offset(PADDING + 1))
        if config.embedding_norm:
            yield from norm(f"{inputs}.norm", f"{stack}.layernorm_embedding")
        if config.has_final_norm:
            yield from norm(f"{stack}.final_norm", f"{stack}.layer_norm")
        layers = config.layers if stack == "encoder" else config.decoder_layers or config.layers
        yield from every(layers, _layer(stack))


def _layer(stack: str) -> Iterator[Row]:
    ours = theirs = f"{stack}.layers.{{i}}"
    yield from attention(f"{ours}.attention", f"{theirs}.self_attn", _PRODUCTS)
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.self_attn_layer_norm")
    if stack == "decoder":
        yield from attention(f"{ours}.cross_attention", f"{theirs}.encoder_attn", _PRODUCTS)
        wiring = f"{ours}.cross_attention_residual.norm"
        yield from norm(wiring, f"{theirs}.encoder_attn_layer_norm")
    yield from linear(f"{ours}.feed_forward.inner", f"{theirs}.fc1")
    yield from linear(f"{ours}.feed_forward.output", f"{theirs}.fc2")
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.final_layer_norm")


def _beyond(said: Mapping[str, Any], state: State) -> Iterator[Mistake]:
    """List every choice that has no place here."""
    hint = "import a model that was trained without it"
    for name in (
        "adaptive_input",
        "adaptive_softmax_cutoff",
        "base_layers",
        "char_inputs",
        "character_embeddings",
        "cross_self_attention",
        "encoder_layers_to_keep",
        "decoder_layers_to_keep",
        "no_cross_attention",
    ):
        if said.get(name):
            yield Mistake(name, f"{said[name]!r} has no place in a model of Dragoman", hint)
    activation = str(said.get("activation_fn") or "relu")
    if activation not in _ACTIVATIONS:
        known = ", ".join(sorted(_ACTIVATIONS))
        yield Mistake("activation_fn", f"{activation!r} is not known", f"known are {known}")
    for end in ("normalize_before", "attention_heads"):
        one, other = said.get(f"encoder_{end}"), said.get(f"decoder_{end}")
        if (one or False) != (other or False):
            problem = f"{one} and {other} in the decoder: both stacks have the same here"
            yield Mistake(f"encoder_{end}", problem, hint)
    for name in ("layer_norm", "layernorm_embedding"):
        if (f"encoder.{name}.weight" in state) != (f"decoder.{name}.weight" in state):
            problem = "stands in one stack only; both stacks have the same here"
            yield Mistake(name, problem, hint)


def _positions(stack: str, said: Mapping[str, Any], state: State, path: Path) -> Positions:
    if said.get("no_token_positional_embeddings"):
        return NoPositions()
    table = f"{stack}.embed_positions.weight"
    if table in state:
        rows, _ = shape_of(state, table, path)
        return Learned(max_length=rows - PADDING - 1)
    if said.get(f"{stack}_learned_pos"):
        raise ModelError(f"{path}: {table} is missing, though {stack}_learned_pos says it is there")
    return Sinusoidal(layout="halves", first=PADDING + 1, rate="tensor2tensor")


def _heads(said: Mapping[str, Any], asked: Asked) -> int:
    found = said.get("encoder_attention_heads") or asked.heads
    if type(found) is not int:
        raise ConfigError("heads", "the checkpoint does not say how many", "give --heads 8")
    return found


def _chance(said: Mapping[str, Any], name: str, otherwise: float) -> float:
    """Give a chance that matters in training only."""
    found = said.get(name)
    return float(found) if isinstance(found, int | float) and 0 <= found < 1 else otherwise
