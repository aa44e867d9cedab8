"""The weights of a bundle as a ``MarianMTModel`` of ``transformers``, in memory.

MarianMT is the Transformer of the paper with biases everywhere: post-norm, plain position-wise
networks, positions from a table. Its own table has sines before cosines; ours is put in its place.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.bundle import Bundle
from dragoman.errors import ConfigError, MissingExtraError, Mistake
from dragoman.interop.named_weights import NamedWeights, added_sinusoids
from dragoman.models import Learned, ModelConfig, Sinusoidal, Softmax

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "swish"}
_POSITIONS = 2048  # sinusoids written


def to_marian(bundle: Bundle, *, positions: int = _POSITIONS) -> Any:
    """Build a ``transformers.MarianMTModel`` that computes what the model does.

    Sources end with the end symbol, targets begin with the start symbol. ``eps`` of its norms is
    set here, and is no part of its configuration: saved and loaded again, it would be 1e-5.

    Args:
        bundle: an encoder-decoder.
        positions: how many pieces a text may have where positions are sinusoids.

    Returns:
        The model in evaluation mode; Any, as ``transformers`` is optional.

    Raises:
        ConfigError: a choice of the model has no place in MarianMT, all of them at once.
        ModelError: a weight has no place there.
        MissingExtraError: ``transformers`` is not installed.
    """
    mistakes = [*_beyond(bundle)]
    if mistakes:
        raise ConfigError.together(mistakes).inside("model")
    assert isinstance(bundle.config, ModelConfig)
    try:
        from transformers import MarianConfig, MarianMTModel
    except ImportError:
        raise MissingExtraError("a MarianMT model", "hf") from None
    rows = positions
    if isinstance(bundle.config.positions, Learned):
        rows = bundle.config.positions.max_length
    make: Any = MarianMTModel
    theirs = make(MarianConfig(**_choices(bundle, bundle.config, rows)))
    _fill(theirs, NamedWeights.of(bundle.model), bundle.config, rows)
    for part in theirs.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = bundle.config.norm_eps
    return theirs.eval()


def _beyond(bundle: Bundle) -> Iterator[Mistake]:
    """List every choice that MarianMT has not."""
    config = bundle.config
    if not isinstance(config, ModelConfig) or config.architecture != "encoder-decoder":
        yield _missing("architecture", config.architecture)
        return
    for name, held in (
        ("attention", isinstance(config.attention, Softmax) and config.attention.scale is None),
        ("kv_heads", config.kv_heads in (None, config.heads)),
        ("d_k", config.head_width * config.heads == config.d_model),
        ("d_v", config.d_v in (None, config.head_width)),
        ("feedforward", config.feedforward == "plain"),
        ("norm", config.norm == "layer"),
        ("norm_order", config.norm_order == "post"),
        ("final_norm", config.norm_order == "pre" or not config.has_final_norm),
        ("initialization", config.initialization != "deepnorm"),
        ("positions", isinstance(config.positions, Sinusoidal | Learned)),
        ("decoder_positions", config.target_positions == config.positions),
        ("embedding_norm", not config.embedding_norm),
        ("embedding_width", config.embedding_width in (None, config.d_model)),
        ("tied", config.tied in (None, "all")),
        ("target_vocabulary", config.target_vocabulary is None),
    ):
        if not held:
            yield _missing(name, str(getattr(config, name)))


def _missing(place: str, value: str) -> Mistake:
    return Mistake(place, f"MarianMT has no place for {value}", "train with another choice")


def _choices(bundle: Bundle, config: ModelConfig, rows: int) -> dict[str, Any]:
    """Say our choices in its words; ``rows`` positions are written."""
    special = bundle.target_tokenizer.special
    return {
        "vocab_size": config.vocabulary,
        "d_model": config.d_model,
        "encoder_layers": config.layers,
        "decoder_layers": config.decoder_layers or config.layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "activation_function": ACTIVATIONS[config.activation or "relu"],
        "max_position_embeddings": rows,
        "scale_embedding": config.embedding_scale,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.feedforward_dropout,
        "pad_token_id": special.padding,
        "bos_token_id": special.start,
        "eos_token_id": special.end,
        "decoder_start_token_id": special.start,
        "forced_eos_token_id": None,
    }


@torch.no_grad()
def _fill(theirs: Any, weights: NamedWeights, config: ModelConfig, rows: int) -> None:
    """Copy every weight; what we have no bias for gets zeros."""
    model = theirs.model
    model.shared.weight.copy_(_tensor(weights, "source_input.embedding.table"))
    if "generator.bias" in weights:
        theirs.final_logits_bias.copy_(_tensor(weights, "generator.bias")[None])
    for stack, inputs in ((model.encoder, "source_input"), (model.decoder, "target_input")):
        name = "encoder" if stack is model.encoder else "decoder"
        stack.embed_positions.weight.copy_(_positions(weights, inputs, config, rows))
        for number, layer in enumerate(stack.layers):
            _layer(layer, f"{name}.layers.{number}", weights)
    weights.refuse_left("MarianMT")


def _positions(weights: NamedWeights, inputs: str, config: ModelConfig, rows: int) -> Tensor:
    if isinstance(config.positions, Sinusoidal):
        return added_sinusoids(config.positions, rows, config.d_model)
    return _tensor(weights, f"{inputs}.positions.table")


def _layer(theirs: Any, name: str, weights: NamedWeights) -> None:
    _attention(theirs.self_attn, f"{name}.attention", weights)
    _norm(theirs.self_attn_layer_norm, f"{name}.attention_residual.norm", weights)
    if hasattr(theirs, "encoder_attn"):
        _attention(theirs.encoder_attn, f"{name}.cross_attention", weights)
        _norm(theirs.encoder_attn_layer_norm, f"{name}.cross_attention_residual.norm", weights)
    _linear([theirs.fc1], f"{name}.feed_forward.inner", weights)
    _linear([theirs.fc2], f"{name}.feed_forward.output", weights)
    _norm(theirs.final_layer_norm, f"{name}.feed_forward_residual.norm", weights)


def _attention(theirs: Any, name: str, weights: NamedWeights) -> None:
    _linear([theirs.q_proj, theirs.k_proj, theirs.v_proj], f"{name}.query_key_value", weights)
    _linear([theirs.out_proj], f"{name}.output", weights)


def _linear(theirs: list[nn.Linear], name: str, weights: NamedWeights) -> None:
    """Fill the products that ours holds side by side."""
    whole = _tensor(weights, f"{name}.weight").chunk(len(theirs))
    for part, weight in zip(theirs, whole, strict=True):
        part.weight.copy_(weight)
    if f"{name}.bias" not in weights:
        for part in theirs:
            part.bias.zero_()
        return
    biases = _tensor(weights, f"{name}.bias").chunk(len(theirs))
    for part, bias in zip(theirs, biases, strict=True):
        part.bias.copy_(bias)


def _norm(theirs: nn.LayerNorm, name: str, weights: NamedWeights) -> None:
    theirs.weight.copy_(_tensor(weights, f"{name}.gain"))
    theirs.bias.copy_(_tensor(weights, f"{name}.bias"))


def _tensor(weights: NamedWeights, name: str) -> Tensor:
    return torch.tensor(weights.take(name))
