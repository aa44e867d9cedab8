"""Transformers of JoeyNMT: weights in ``NAME.ckpt``, choices in ``config.yaml`` beside it.

Sources are ``X </s>``, targets begin with ``<s>``. Releases before 2.0 do not say where norms
stand: their stacks end with one, so they are pre-norm.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from dragoman.errors import ConfigError, Mistake, ModelError
from dragoman.interop.checkpoints.asked import (
    Asked,
    count_layers,
    read_choices,
    refuse_all,
    shape_of,
    table_choices,
)
from dragoman.interop.checkpoints.plain_yaml import read_plain_yaml
from dragoman.interop.checkpoints.tables import State, Tables
from dragoman.interop.huggingface.names import Row, attention, every, linear, norm
from dragoman.models import ModelConfig, Sinusoidal

TABLES = Tables("src_embed.lut.weight", "trg_embed.lut.weight", "decoder.output_layer.weight")
COMPUTED = (".pe.pe",)
_PRODUCTS = "q_layer k_layer v_layer output_layer"
_EPS = 1e-6
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu"}

Table = Mapping[str, Any]


def joeynmt_settings(path: Path) -> dict[str, Any]:
    """Read the ``config.yaml`` in the folder of a checkpoint.

    Raises:
        ModelError: it is missing, or no table of settings.
    """
    file = path.parent / "config.yaml"
    if not file.is_file():
        raise ModelError(f"{file}: no such file; JoeyNMT keeps it beside {path.name}")
    return read_plain_yaml(file)


def joeynmt_config(settings: Table, state: State, path: Path, asked: Asked) -> ModelConfig:
    """Tell the choices of a model from its settings and its tensors.

    Raises:
        ConfigError: it was made by choices that have no place here, all of which are named.
        ModelError: a tensor that tells a size is missing.
    """
    model = _inside(settings, "model")
    encoder, decoder = _inside(model, "encoder"), _inside(model, "decoder")
    refuse_all(_beyond(encoder, decoder, state), path.parent / "config.yaml")
    inner, _ = shape_of(state, "encoder.layers.0.feed_forward.pwff_layer.0.weight", path)
    activation = _ACTIVATIONS[str(encoder.get("activation") or "relu")]
    choices = table_choices(TABLES, state, path) | {
        "layers": count_layers(state, "encoder.layers.", path),
        "decoder_layers": count_layers(state, "decoder.layers.", path),
        "heads": _heads(encoder, asked),
        "d_ff": inner,
        "activation": activation,
        "dropout": _chance(encoder),
        "attention_dropout": _chance(encoder),
        "feedforward_dropout": _chance(encoder),
        "attention_bias": True,
        "norm_order": "pre" if _is_pre_norm(state) else "post",
        "norm_eps": _EPS,
        "positions": Sinusoidal(),
        "embedding_scale": bool(_inside(encoder, "embeddings").get("scale", False)),
    }
    return read_choices(choices, path)


def joeynmt_rows(config: ModelConfig) -> Iterator[Row]:
    """Name every weight."""
    yield from TABLES.rows(config.tied or "all")
    for stack in ("encoder", "decoder"):
        if config.has_final_norm:
            yield from norm(f"{stack}.final_norm", f"{stack}.layer_norm")
        layers = config.layers if stack == "encoder" else config.decoder_layers or config.layers
        yield from every(layers, _layer(stack))


def _layer(stack: str) -> Iterator[Row]:
    ours = theirs = f"{stack}.layers.{{i}}"
    if stack == "encoder":
        yield from attention(f"{ours}.attention", f"{theirs}.src_src_att", _PRODUCTS)
        yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.layer_norm")
    else:
        yield from attention(f"{ours}.attention", f"{theirs}.trg_trg_att", _PRODUCTS)
        yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.x_layer_norm")
        yield from attention(f"{ours}.cross_attention", f"{theirs}.src_trg_att", _PRODUCTS)
        yield from norm(f"{ours}.cross_attention_residual.norm", f"{theirs}.dec_layer_norm")
    inner = f"{theirs}.feed_forward"
    yield from linear(f"{ours}.feed_forward.inner", f"{inner}.pwff_layer.0")
    yield from linear(f"{ours}.feed_forward.output", f"{inner}.pwff_layer.3")
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{inner}.layer_norm")


def _beyond(encoder: Table, decoder: Table, state: State) -> Iterator[Mistake]:
    """List every choice that has no place here."""
    hint = "import a model that was trained without it"
    order = "pre" if _is_pre_norm(state) else "post"
    for side, stack in (("encoder", encoder), ("decoder", decoder)):
        place = f"model.{side}"
        kind = stack.get("type", "recurrent" if side == "encoder" else "transformer")
        if kind != "transformer":
            yield Mistake(f"{place}.type", f"{kind!r} is not read here", "only transformer is")
        if stack.get("alpha", 1.0) != 1:
            problem = f"{stack['alpha']} on the residual path has no place here"
            yield Mistake(f"{place}.alpha", problem, hint)
        activation = str(stack.get("activation") or "relu")
        if activation not in _ACTIVATIONS:
            known = ", ".join(_ACTIVATIONS)
            yield Mistake(f"{place}.activation", f"{activation!r} is not known", f"known: {known}")
        if stack.get("layer_norm", order) != order:
            problem = f"is {stack['layer_norm']!r}, and the weights are those of {order}-norm"
            yield Mistake(f"{place}.layer_norm", problem, "use the file that was saved with them")
    both = (
        ("num_heads", encoder.get("num_heads"), decoder.get("num_heads")),
        ("activation", encoder.get("activation"), decoder.get("activation")),
        ("embeddings.scale", _scales(encoder), _scales(decoder)),
    )
    for name, one, other in both:
        if one != other:
            problem = f"{one} and {other} in the decoder: both stacks have the same here"
            yield Mistake(f"model.encoder.{name}", problem, hint)


def _is_pre_norm(state: State) -> bool:
    return "decoder.layer_norm.weight" in state


def _scales(stack: Table) -> bool:
    return bool(_inside(stack, "embeddings").get("scale", False))


def _heads(encoder: Table, asked: Asked) -> int:
    found = encoder.get("num_heads") or asked.heads
    if type(found) is not int:
        raise ConfigError("heads", "config.yaml does not say how many", "give --heads 8")
    return found


def _chance(encoder: Table) -> float:
    """Give a chance that matters in training only."""
    found = encoder.get("dropout")
    return float(found) if isinstance(found, int | float) and 0 <= found < 1 else 0.1


def _inside(table: Table, name: str) -> Table:
    found = table.get(name)
    return cast("Table", found) if isinstance(found, dict) else {}
