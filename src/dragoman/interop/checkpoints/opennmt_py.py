"""Transformers of OpenNMT-py 3: weights, choices and vocabularies in one ``.pt`` file.

Sources are ``X`` without any symbol, targets begin with ``<s>`` unless the checkpoint says another.
Layers are pre-norm, and both stacks end with a norm.
"""

from collections.abc import Iterator
from pathlib import Path

from torch import Tensor

from dragoman.bundle import read_tensors
from dragoman.errors import Mistake, ModelError
from dragoman.interop.checkpoints.asked import (
    count_layers,
    read_choices,
    refuse_all,
    shape_of,
    table_choices,
)
from dragoman.interop.checkpoints.tables import State, Tables
from dragoman.interop.checkpoints.torch_file import Content, plain_settings, plain_tensors
from dragoman.interop.huggingface.names import Row, attention, every, linear, norm
from dragoman.models import Alibi, ModelConfig, Positions, Shaw, Sinusoidal

RESAVE = (
    "before release 3 OpenNMT-py kept objects of torchtext; where you trust the file, convert it "
    "by tools/convertv2_v3.py of OpenNMT-py 3"
)
TABLES = Tables(
    "encoder.embeddings.make_embedding.emb_luts.0.weight",
    "decoder.embeddings.make_embedding.emb_luts.0.weight",
    "generator.weight",
)
COMPUTED = (".make_embedding.pe.pe",)
_PRODUCTS = "linear_query linear_keys linear_values final_linear"
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "silu", "gated-gelu": "gelu"}
_GATED = ("silu", "gated-gelu")
_ABSENT = {  # what must be off, and how it is called in messages
    "copy_attn": "copying from the source",
    "num_experts": "experts",
    "parallel_residual": "sub-layers side by side",
    "sliding_window": "a sliding window",
    "aan_useffn": "average attention",
    "relative_positions_buckets": "a table of buckets for each layer",
    "n_src_feats": "features of source words",
    "lora_layers": "low-rank layers that are not merged",
    "quant_layers": "layers that are quantized",
}


def opennmt_settings(content: Content, path: Path) -> Content:
    """Give the options that a checkpoint was trained with.

    Raises:
        ModelError: there are none.
    """
    found = plain_settings(content.get("opt"))
    if found is None:
        raise ModelError(f"{path}: opt: is no set of options; {RESAVE}")
    return found


def opennmt_state(content: Content, path: Path) -> dict[str, Tensor]:
    """Put the weights of both parts under one set of names, those of release 3.

    They lie in the file, or in one that ends in ``.safetensors`` beside it.

    Raises:
        ModelError: a part is missing or damaged.
    """
    if "model" not in content:
        beside = path.with_suffix(".safetensors")
        return plain_tensors(read_tensors(beside), beside)
    state: dict[str, Tensor] = {}
    for part, prefix in (("model", ""), ("generator", "generator.")):
        weights = plain_tensors(content.get(part), path)
        state |= {f"{prefix}{name}": weight for name, weight in weights.items()}
    return {_modern(name): weight for name, weight in state.items()}


def opennmt_config(said: Content, state: State, path: Path) -> ModelConfig:
    """Tell the choices of a model from its options and its tensors.

    Args:
        said: the options.
        state: its weights under present names.
        path: of the checkpoint, for messages.

    Raises:
        ConfigError: it was made by choices that have no place here, all of which are named.
        ModelError: a tensor that tells a size is missing.
    """
    refuse_all(_beyond(said, state), path)
    inner, _ = shape_of(state, "encoder.transformer.0.feed_forward.w_1.weight", path)
    activation = str(said.get("pos_ffn_activation_fn") or "relu")
    choices = table_choices(TABLES, state, path) | {
        "layers": count_layers(state, "encoder.transformer.", path),
        "decoder_layers": count_layers(state, "decoder.transformer_layers.", path),
        "heads": said["heads"],
        "kv_heads": said.get("num_kv") or None,
        "d_ff": inner,
        "feedforward": "gated" if activation in _GATED else "plain",
        "activation": _ACTIVATIONS[activation],
        "feedforward_bias": "encoder.transformer.0.feed_forward.w_1.bias" in state,
        "attention_bias": "encoder.transformer.0.self_attn.final_linear.bias" in state,
        "norm": "rms" if said.get("layer_norm") == "rms" else "layer",
        "norm_order": "pre",
        "norm_eps": said.get("norm_eps") or 1e-6,
        "positions": _positions(said),
        "embedding_scale": bool(said.get("position_encoding")),  # a part of adding sinusoids there
        "output_bias": "generator.bias" in state,
        "source_after": (),
    }
    return read_choices(choices, path)


def opennmt_rows(config: ModelConfig) -> Iterator[Row]:
    """Name every weight."""
    yield from TABLES.rows(config.tied or "all")
    if config.output_bias:
        yield Row("generator.bias", ("generator.bias",))
    bias = config.norm == "layer"
    for stack, layers, names in (
        ("encoder", config.layers, "encoder.transformer.{i}"),
        ("decoder", config.decoder_layers or config.layers, "decoder.transformer_layers.{i}"),
    ):
        yield from norm(f"{stack}.final_norm", f"{stack}.layer_norm", bias=bias)
        yield from every(layers, _layer(stack, names, config))


def _layer(stack: str, theirs: str, config: ModelConfig) -> Iterator[Row]:
    ours, sizes = f"{stack}.layers.{{i}}", _sizes(config)
    norms, own = config.norm == "layer", f"{theirs}.self_attn"
    first = "layer_norm" if stack == "encoder" else "layer_norm_1"
    bias = config.attention_bias
    yield from attention(f"{ours}.attention", own, _PRODUCTS, bias=bias, sizes=sizes)
    if isinstance(config.positions, Shaw):  # one table for keys and values
        for part in ("keys", "values"):
            table = (f"{own}.relative_positions_embeddings.weight",)
            yield Row(f"{ours}.attention.positions.{part}", table)
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.{first}", bias=norms)
    if stack == "decoder":
        context = f"{theirs}.context_attn"
        yield from attention(f"{ours}.cross_attention", context, _PRODUCTS, bias=bias, sizes=sizes)
        wiring = f"{ours}.cross_attention_residual.norm"
        yield from norm(wiring, f"{theirs}.layer_norm_2", bias=norms)
    inner, bias = f"{theirs}.feed_forward", config.has_feedforward_bias
    if config.feedforward == "gated":
        pair = (f"{inner}.w_1", f"{inner}.w_3")
        yield from linear(f"{ours}.feed_forward.gate_up", *pair, bias=bias)
    else:
        yield from linear(f"{ours}.feed_forward.inner", f"{inner}.w_1", bias=bias)
    yield from linear(f"{ours}.feed_forward.output", f"{inner}.w_2", bias=bias)
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{inner}.layer_norm", bias=norms)


def _sizes(config: ModelConfig) -> tuple[int, ...]:
    if config.kv_heads in (None, config.heads):
        return ()
    assert config.kv_heads is not None
    keys = config.kv_heads * config.head_width
    return config.heads * config.head_width, keys, keys


def _modern(name: str) -> str:
    """Give a weight the name it has in release 3."""
    if name in ("generator.0.weight", "generator.0.bias"):
        return name.replace(".0.", ".")
    for old, new in ((".a_2", ".weight"), (".b_2", ".bias")):
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def _positions(said: Content) -> Positions:
    clip = said.get("max_relative_positions") or 0
    if clip > 0:
        return Shaw(clip=clip)
    if clip == -2:
        return Alibi()
    if said.get("position_encoding_type") == "SinusoidalConcat":
        return Sinusoidal(layout="halves", rate="tensor2tensor")
    return Sinusoidal()


def _beyond(said: Content, state: State) -> Iterator[Mistake]:
    """List every choice that has no place here."""
    hint = "import a model that was trained without it"
    for name in ("encoder_type", "decoder_type"):
        if said.get(name) != "transformer":
            yield Mistake(name, f"{said.get(name)!r} is not read here", "only transformer is")
    for name, what in _ABSENT.items():
        if said.get(name):
            yield Mistake(name, f"{what} has no place in a model of Dragoman", hint)
    if type(said.get("heads")) is not int:
        yield Mistake("heads", "is no number", "use the options it was trained with")
    attention = said.get("self_attn_type") or "scaled-dot"
    if attention not in ("scaled-dot", "scaled-dot-flash"):
        yield Mistake("self_attn_type", f"{attention!r} has no place here", hint)
    activation = str(said.get("pos_ffn_activation_fn") or "relu")
    if activation not in _ACTIVATIONS:
        known = ", ".join(_ACTIVATIONS)
        yield Mistake("pos_ffn_activation_fn", f"{activation!r} is not known", f"known: {known}")
    relative = said.get("max_relative_positions") or 0
    if type(relative) is not int or relative < -2 or relative == -1:
        problem = f"{relative}: rotary positions in two stacks have no place here"
        yield Mistake("max_relative_positions", problem, hint)
    if bool(said.get("position_encoding")) == bool(relative):
        problem = (
            "and max_relative_positions are both on or both off; one kind of positions is read"
        )
        yield Mistake("position_encoding", problem, hint)
    parts = [name for name in state if ".emb_luts.1." in name]
    if parts:
        yield Mistake("src_feats", "features of words have no place here", hint)
