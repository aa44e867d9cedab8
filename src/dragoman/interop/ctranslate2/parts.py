"""Fill CTranslate2's specification of a Transformer with our weights, part by part.

``specs`` is the module ``ctranslate2.specs``; its classes say which variables the format has. Any:
they carry no types.
"""

import math
from typing import Any

import numpy as np
import torch

from dragoman.interop.named_weights import Array, NamedWeights
from dragoman.models import Learned, ModelConfig, NoPositions, Positions, Shaw, Sinusoidal
from dragoman.nn import sinusoids

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}


def transformer(specs: Any, config: ModelConfig, weights: NamedWeights, positions: int) -> Any:
    """Make the whole specification; ``positions`` is how many sinusoids are written."""
    activation = config.activation or ("silu" if config.feedforward == "gated" else "relu")
    common = {
        "num_heads": config.heads,
        "pre_norm": config.norm_order == "pre",
        "no_final_norm": not config.has_final_norm,
        "activation": getattr(specs.Activation, ACTIVATIONS[activation]),
        "layernorm_embedding": config.embedding_norm,
        "ffn_glu": config.feedforward == "gated",
        "rms_norm": config.norm == "rms",
    }
    deep = config.layers if config.decoder_layers is None else config.decoder_layers
    relative = isinstance(config.positions, Shaw), isinstance(config.target_positions, Shaw)
    transformer_spec = specs.transformer_spec
    encoder = transformer_spec.TransformerEncoderSpec(
        config.layers, relative_position=relative[0], **common
    )
    decoder = transformer_spec.TransformerDecoderSpec(deep, relative_position=relative[1], **common)
    fill = _Filler(config, weights, positions)
    fill.stack(encoder, "encoder", "source_input", config.positions)
    fill.stack(decoder, "decoder", "target_input", config.target_positions)
    decoder.projection.weight = weights.take("generator.table")
    if "generator.bias" in weights:
        decoder.projection.bias = weights.take("generator.bias")
    return specs.TransformerSpec(encoder, decoder)


class _Filler:
    """Knows what all parts need to be filled.

    Args:
        config: the choices of the model.
        weights: where they come from.
        positions: how many sinusoids are written.
    """

    def __init__(self, config: ModelConfig, weights: NamedWeights, positions: int) -> None:
        self.config, self.weights, self.positions = config, weights, positions

    def stack(self, spec: Any, name: str, inputs: str, positions: Positions) -> None:
        """Fill an encoder or decoder and what feeds it."""
        table = spec.embeddings[0] if name == "encoder" else spec.embeddings  # no factors
        table.weight = self.weights.take(f"{inputs}.embedding.table")
        spec.scale_embeddings = (
            math.sqrt(self.config.d_model) if self.config.embedding_scale else 1.0
        )
        encodings = self._encodings(positions, inputs)
        if encodings is not None:
            spec.position_encodings.encodings = encodings
        if self.config.embedding_norm:
            self._norm(spec.layernorm_embedding, f"{inputs}.norm")
        if self.config.has_final_norm:
            self._norm(spec.layer_norm, f"{name}.final_norm")
        for number, layer in enumerate(spec.layer):
            self._layer(layer, f"{name}.layers.{number}", positions)

    def _encodings(self, positions: Positions, inputs: str) -> Array | None:
        """Write positions that are added as a table, the first at position 0.

        CTranslate2's own sinusoids begin at 1, put sines before cosines and fall at another rate.
        """
        width = self.config.d_model
        match positions:
            case Sinusoidal(layout=layout):
                rows = sinusoids(torch.arange(self.positions), width, layout=layout)
                return rows.float().numpy()
            case Learned():
                return self.weights.take(f"{inputs}.positions.table")
            case NoPositions():  # without a table it would add its sinusoids
                return np.zeros((self.positions, width), dtype=np.float32)
            case _:
                return None

    def _layer(self, spec: Any, name: str, positions: Positions) -> None:
        own = spec.self_attention
        self._linear(own.linear[0], f"{name}.attention.query_key_value")
        self._linear(own.linear[1], f"{name}.attention.output")
        self._norm(own.layer_norm, f"{name}.attention_residual.norm")
        if isinstance(positions, Shaw):
            own.relative_position_keys = self.weights.take(f"{name}.attention.positions.keys")
            own.relative_position_values = self.weights.take(f"{name}.attention.positions.values")
        attentions = [own]
        if hasattr(spec, "attention"):
            self._cross_attention(spec.attention, name)
            attentions.append(spec.attention)
        if self.config.attention_scale is not None:
            for attention in attentions:
                attention.queries_scale = float(self.config.attention_scale)
        self._feed_forward(spec.ffn, name)

    def _cross_attention(self, spec: Any, name: str) -> None:
        """Queries in one product, keys and values in another."""
        whole, cut = f"{name}.cross_attention.query_key_value", self.config.d_model
        self._linear(spec.linear[0], whole, slice(None, cut))
        self._linear(spec.linear[1], whole, slice(cut, None))
        self._linear(spec.linear[2], f"{name}.cross_attention.output")
        self._norm(spec.layer_norm, f"{name}.cross_attention_residual.norm")

    def _feed_forward(self, spec: Any, name: str) -> None:
        if self.config.feedforward == "gated":
            both, inner = f"{name}.feed_forward.gate_up", self.config.inner_width
            self._linear(spec.linear_0, both, slice(None, inner))
            self._linear(spec.linear_0_noact, both, slice(inner, None))
        else:
            self._linear(spec.linear_0, f"{name}.feed_forward.inner")
        self._linear(spec.linear_1, f"{name}.feed_forward.output")
        self._norm(spec.layer_norm, f"{name}.feed_forward_residual.norm")

    def _linear(self, spec: Any, name: str, rows: slice = slice(None)) -> None:
        spec.weight = self.weights.take(f"{name}.weight")[rows]
        if f"{name}.bias" in self.weights:
            spec.bias = self.weights.take(f"{name}.bias")[rows]

    def _norm(self, spec: Any, name: str) -> None:
        spec.gamma = self.weights.take(f"{name}.gain")
        if self.config.norm == "layer":
            spec.beta = self.weights.take(f"{name}.bias")
