"""Fill CTranslate2's specification of a Transformer with our weights.

``specs`` is the module ``ctranslate2.specs``; its classes say which variables the format has. Any:
they carry no types.
"""

import math
from typing import Any

import numpy as np

from dragoman.interop.ctranslate2.names import places
from dragoman.interop.named_weights import Array, NamedWeights, added_sinusoids
from dragoman.models import T5, Alibi, ModelConfig, NoPositions, Positions, Rotary, Shaw, Sinusoidal

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}
OWN_SINUSOIDS = Sinusoidal(layout="halves", first=1, rate="tensor2tensor")  # without a table


def transformer(specs: Any, config: ModelConfig, weights: NamedWeights, positions: int) -> Any:
    """Make the whole specification; ``positions`` is how many sinusoids are written."""
    kinds = specs.transformer_spec
    match config.architecture:
        case "encoder-decoder":
            encoder, decoder = (
                _encoder(specs, config, positions),
                _decoder(specs, config, positions),
            )
            spec = specs.TransformerSpec(encoder, decoder)
        case "decoder-only":
            spec = specs.TransformerDecoderModelSpec(_decoder(specs, config, positions))
        case "encoder-only":
            spec = kinds.TransformerEncoderModelSpec(
                _encoder(specs, config, positions), pooling_layer=config.head == "pooled"
            )
    for place in places(config):
        scope, _, name = place.theirs.rpartition("/")
        part = specs.model_spec.index_spec(spec, scope)
        setattr(part, name, weights.take(place.ours)[place.start : place.end])
    weights.refuse_left("the CTranslate2 format")
    return spec


def _encoder(specs: Any, config: ModelConfig, rows: int) -> Any:
    choices = _choices(specs, config, config.positions)
    if config.segments:
        choices |= {
            "num_source_embeddings": 2,
            "embeddings_merge": specs.common_spec.EmbeddingsMerge.ADD,
        }
    stack = specs.transformer_spec.TransformerEncoderSpec(config.layers, **choices)
    _finish(specs, stack, config, config.positions, rows)
    return stack


def _decoder(specs: Any, config: ModelConfig, rows: int) -> Any:
    positions = config.target_positions
    layers = config.layers if config.decoder_layers is None else config.decoder_layers
    stack = specs.transformer_spec.TransformerDecoderSpec(
        layers,
        with_encoder_attention=config.architecture == "encoder-decoder",
        alibi=isinstance(positions, Alibi),
        project_in_out=is_narrow(config),
        **_choices(specs, config, positions),
    )
    _finish(specs, stack, config, positions, rows)
    return stack


def _choices(specs: Any, config: ModelConfig, positions: Positions) -> dict[str, Any]:
    """Say in its words what encoder and decoder are both told."""
    gated = config.feedforward == "gated"
    activation = config.activation or ("silu" if gated else "relu")
    choices = {
        "num_heads": config.heads,
        # A last norm has a place after pre-norm layers only; see `_finish`.
        "pre_norm": config.norm_order == "pre" or config.has_final_norm,
        "no_final_norm": not config.has_final_norm,
        "activation": getattr(specs.Activation, ACTIVATIONS[activation]),
        "layernorm_embedding": config.embedding_norm,
        "ffn_glu": gated,
        "rms_norm": config.norm == "rms",
        "relative_position": isinstance(positions, Shaw),
        "relative_attention_bias": isinstance(positions, T5),
    }
    if config.kv_heads not in (None, config.heads):
        choices["num_heads_kv"] = config.kv_heads
    if config.heads * config.head_width != config.d_model:
        choices["head_dim"] = config.head_width
    if isinstance(positions, Rotary):
        choices |= {
            "rotary_dim": 0,  # all of them
            "rotary_interleave": positions.layout == "interleaved",
            "rotary_base": positions.base,
        }
    return choices


def _finish(specs: Any, stack: Any, config: ModelConfig, positions: Positions, rows: int) -> None:
    """Set what its constructor does not."""
    stack.pre_norm = config.norm_order == "pre"
    stack.scale_embeddings = math.sqrt(config.d_model) if config.embedding_scale else 1.0
    encodings = written_positions(positions, rows, config.d_model)
    if encodings is not None and (positions != OWN_SINUSOIDS or is_narrow(config)):
        stack.position_encodings.encodings = encodings
    for layer in stack.layer:
        own = layer.self_attention
        if isinstance(positions, T5):
            own.relative_attention_max_distance = np.int32(positions.max_distance)
        if isinstance(positions, Shaw) and not positions.values:
            own.relative_position_values = specs.model_spec.OPTIONAL
        if config.attention_scale is not None:
            for attention in (own, getattr(layer, "attention", None)):
                if attention is not None:
                    attention.queries_scale = float(config.attention_scale)


def is_narrow(config: ModelConfig) -> bool:
    """Whether tables have another width than the layers."""
    return config.embedding_width not in (None, config.d_model)


def written_positions(positions: Positions, rows: int, width: int) -> Array | None:
    """Make the table of positions that are added and not learnt; None where nothing is added.

    The library adds sinusoids of its own to a stack without a table.
    """
    match positions:
        case Sinusoidal():
            return added_sinusoids(positions, rows, width).numpy()
        case NoPositions():
            return np.zeros((rows, width), dtype=np.float32)
        case _:
            return None
