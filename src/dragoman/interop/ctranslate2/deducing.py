"""From variables to our record of choices, for folders that other programs wrote.

Whatever no choice of ours computes is refused by name. What changes no output is left out: which
attention is shown as an alignment, and maps of words to likely translations.
"""

import math
from dataclasses import dataclass
from typing import NoReturn

from dragoman.configfile import Table
from dragoman.errors import ConfigError, ModelError
from dragoman.interop.ctranslate2.settings import Settings
from dragoman.interop.ctranslate2.stacks import Stack, read_stack
from dragoman.interop.ctranslate2.variables import Variables
from dragoman.models import ModelConfig, read_config

_SPECIFICATIONS = {
    "": "encoder-decoder",
    "TransformerBase": "encoder-decoder",
    "TransformerBig": "encoder-decoder",
    "TransformerSpec": "encoder-decoder",
    "TransformerDecoderSpec": "decoder-only",
    "TransformerEncoderSpec": "encoder-only",
}
_UNKNOWN = {  # parts of a name to what they compute
    "weight_zero": "weights packed as AWQ does",
    "shared_layer_norm": "sub-layers side by side",
    "input_layer_norm": "norms before and after each sub-layer",
    "post_attention_layer_norm": "norms before and after each sub-layer",
    "q_norm": "norms of queries and keys",
    "v_norm": "norms of values",
    "layer_scalar": "a factor on each layer",
    "project_in": "tables of another width than the layers",
    "final_logit_softcapping": "logits bent to a range",
    "low_rank_weight": "weights as products of two",
    "relative_asymmetric_position_keys": "asymmetric relative positions",
    "layer_norm_use_residual": "norms whose gain begins at 1",
    "memory_kv": "one attention to text and source",
    "embeddings_1": "several tables for each piece of a source",
}
_ALONE = {"embeddings_1": "encoder-only", "project_in": "decoder-only"}  # where they are known
_TANH = 5  # by number of its enumeration


@dataclass(frozen=True, slots=True)
class Deduced:
    """What the variables say.

    Args:
        config: our record; sizes of vocabularies and padding are not known yet.
        factors: what weights are multiplied by on the way in, by name of the variable.
        from_zero: whether the first vector of a target is zero.
    """

    config: ModelConfig
    factors: dict[str, float]
    from_zero: bool


def deduce(variables: Variables, specification: str, settings: Settings) -> Deduced:
    """Read all choices of a model.

    Args:
        variables: of the model file.
        specification: what kind of model it says it is.
        settings: what else the folder says.

    Raises:
        ModelError: it computes what no choice of ours does, or contradicts itself.
    """
    architecture = _SPECIFICATIONS.get(specification)
    if architecture is None:
        known = ", ".join(filter(None, _SPECIFICATIONS))
        raise ModelError(
            f"{variables.path}: is a {specification}; what can be read here is {known}"
        )
    _refuse_unknown(variables, architecture)
    names = {"encoder-decoder": ("encoder", "decoder"), "decoder-only": ("decoder",)}
    stacks = {
        name: read_stack(variables, name, specification)
        for name in names.get(architecture, ("encoder",))
    }
    table = _table(variables, architecture, stacks)
    table["norm_eps"] = settings.eps or (1e-5 if table["norm"] == "layer" else 1e-6)
    try:
        config = read_config({key: value for key, value in table.items() if value is not None})
    except ConfigError as error:
        raise ModelError(f"{variables.path}: {error}; use another model") from None
    assert isinstance(config, ModelConfig)  # of its architectures
    decoder = stacks.get("decoder")
    return Deduced(config, _factors(variables, stacks), decoder is not None and decoder.from_zero)


def _refuse_unknown(variables: Variables, architecture: str) -> None:
    """Say what a variable computes that no choice of ours does."""
    for name in variables.left():
        for part, what in _UNKNOWN.items():
            if part in name.split("/") and _ALONE.get(part) != architecture:
                _refuse(variables, f"has {name}: {what}")


def _table(variables: Variables, architecture: str, stacks: dict[str, Stack]) -> Table:
    """Say the choices as a recipe would; None is the default."""
    first, *rest = stacks.values()
    for other in rest:
        for key, value in first.shared.items():
            if other.shared[key] != value and not key.endswith("bias"):
                problem = f"has an encoder and a decoder that differ in {key}"
                _refuse(variables, f"{problem}: {value} and {other.shared[key]}")
    table = dict(first.shared)
    for key in ("attention_bias", "attention_output_bias", "feedforward_bias"):
        table[key] = any(stack.shared[key] for stack in stacks.values())  # zero where there is none
    if table["attention_output_bias"] == table["attention_bias"]:
        del table["attention_output_bias"]
    scale = table.pop("scale")
    table |= {
        "architecture": architecture,
        "layers": first.layers,
        "attention": {"kind": "softmax", "scale": scale},
        "positions": first.positions,
    }
    for other in rest:
        table["decoder_layers"] = None if other.layers == first.layers else other.layers
        same = other.positions == first.positions
        table["decoder_positions"] = None if same else other.positions
    if architecture == "encoder-only":
        table |= _encoder_alone(variables)
    else:
        table["output_bias"] = "decoder/projection/bias" in variables
        if "decoder/project_in/weight" in variables:
            table["embedding_width"] = variables.shape("decoder/project_in/weight")[-1]
    return table


def _encoder_alone(variables: Variables) -> Table:
    """Say what reads an encoder, and how many kinds of segment it knows."""
    pooled = "pooler_dense/weight" in variables
    if variables.number("pooler_activation", _TANH) != _TANH:
        _refuse(variables, "has a layer over its first position that ends in no tanh")
    segments = 0
    if "encoder/embeddings_1/weight" in variables:
        segments = variables.shape("encoder/embeddings_1/weight")[0]
        if not variables.number("encoder/embeddings_merge", 0):
            _refuse(variables, "puts the tables of pieces and segments side by side")
    return {"head": "pooled" if pooled else "none", "segments": segments}


def _factors(variables: Variables, stacks: dict[str, Stack]) -> dict[str, float]:
    """Say by what tables are multiplied, so that the model needs no factor of its own."""
    factors = {"decoder/projection/weight": variables.number("decoder/scale_outputs", 1.0)}
    if (encoder := stacks.get("encoder")) is not None:
        factors["encoder/embeddings_0/weight"] = encoder.factor
        usual = math.sqrt(int(str(encoder.shared["d_model"])))  # theirs scales segments too
        scale = usual if encoder.shared["embedding_scale"] else encoder.factor
        factors["encoder/embeddings_1/weight"] = scale
    if (decoder := stacks.get("decoder")) is not None:
        factors["decoder/embeddings/weight"] = decoder.factor
    return {name: f for name, f in factors.items() if f != 1.0 and name in variables}


def _refuse(variables: Variables, problem: str) -> NoReturn:
    raise ModelError(
        f"{variables.path}: {problem}, which no choice of [model] does; use another model"
    )
