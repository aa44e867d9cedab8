"""The Transformer of the tutorial ``pytorch-seq2seq``, which many models were made from.

Its own file says tensors by name and nothing else: post-norm as there, learned positions, biases
everywhere, ReLU, embeddings times √D. Text is ``<sos> X <eos>`` on both sides.
"""

from collections.abc import Iterator
from pathlib import Path

from dragoman.interop.checkpoints.asked import (
    Asked,
    count_layers,
    must_say,
    read_choices,
    shape_of,
    table_choices,
)
from dragoman.interop.checkpoints.tables import State, Tables
from dragoman.interop.huggingface.names import Row, attention, every, linear, norm
from dragoman.models import Learned, ModelConfig

TABLES = Tables(
    "encoder.tok_embedding.weight", "decoder.tok_embedding.weight", "decoder.fc_out.weight"
)
_PRODUCTS = "fc_q fc_k fc_v fc_o"
_EPS = 1e-5  # PyTorch's


def is_pytorch_seq2seq(state: State) -> bool:
    """Whether tensors have the names of the tutorial."""
    return TABLES.source in state and "decoder.layers.0.encoder_attention.fc_q.weight" in state


def pytorch_seq2seq_config(state: State, path: Path, asked: Asked) -> ModelConfig:
    """Tell the choices of a model from its tensors.

    Raises:
        ConfigError: ``heads`` or ``norm_order`` is not given; no tensor tells them.
        ModelError: a tensor that tells a size is missing.
    """
    must_say(asked, "heads", "norm_order")
    assert asked.heads is not None
    assert asked.norm_order is not None
    longest, _ = shape_of(state, "encoder.pos_embedding.weight", path)
    decoder_longest, _ = shape_of(state, "decoder.pos_embedding.weight", path)
    inner, _ = shape_of(state, "encoder.layers.0.positionwise_feedforward.fc_1.weight", path)
    choices = table_choices(TABLES, state, path) | {
        "layers": count_layers(state, "encoder.layers.", path),
        "decoder_layers": count_layers(state, "decoder.layers.", path),
        "heads": asked.heads,
        "d_ff": inner,
        "attention_bias": True,
        "norm_order": asked.norm_order,
        "final_norm": False,
        "norm_eps": _EPS,
        "positions": Learned(max_length=longest),
        "decoder_positions": Learned(max_length=decoder_longest),
        "output_bias": True,
    }
    return read_choices(choices, path)


def pytorch_seq2seq_rows(config: ModelConfig) -> Iterator[Row]:
    """Name every weight."""
    yield from TABLES.rows(config.tied or "all")
    yield Row("generator.bias", ("decoder.fc_out.bias",))
    for stack, inputs in (("encoder", "source_input"), ("decoder", "target_input")):
        yield Row(f"{inputs}.positions.table", (f"{stack}.pos_embedding.weight",))
        layers = config.layers if stack == "encoder" else config.decoder_layers or config.layers
        yield from every(layers, _layer(stack))


def _layer(stack: str) -> Iterator[Row]:
    ours = theirs = f"{stack}.layers.{{i}}"
    yield from attention(f"{ours}.attention", f"{theirs}.self_attention", _PRODUCTS)
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.self_attn_layer_norm")
    if stack == "decoder":
        cross = f"{theirs}.encoder_attention"
        yield from attention(f"{ours}.cross_attention", cross, _PRODUCTS)
        yield from norm(f"{ours}.cross_attention_residual.norm", f"{theirs}.enc_attn_layer_norm")
    inner = f"{theirs}.positionwise_feedforward"
    yield from linear(f"{ours}.feed_forward.inner", f"{inner}.fc_1")
    yield from linear(f"{ours}.feed_forward.output", f"{inner}.fc_2")
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.ff_layer_norm")
