"""Records to modules, the one place that chooses; and the first values of all weights."""

import torch
from torch import nn

from dragoman.errors import ConfigError
from dragoman.models.config import Learned, ModelConfig, Sinusoidal
from dragoman.nn import (
    Decoder,
    DecoderLayer,
    Embedding,
    Encoder,
    EncoderDecoder,
    EncoderLayer,
    FeedForward,
    Generator,
    InputLayer,
    LayerNorm,
    LearnedPositions,
    MultiHeadAttention,
    Residual,
    SinusoidalPositions,
)


def build_model(config: ModelConfig, rng: torch.Generator | None = None) -> EncoderDecoder:
    """Build a model with fresh weights.

    Args:
        config: every choice; ``vocabulary`` must be set.
        rng: draws the weights; PyTorch's default generator unless given.

    Raises:
        ConfigError: ``vocabulary`` is not set.
    """
    if config.vocabulary is None:
        raise ConfigError("vocabulary", "is not set", "take it from the tokenizer: tokenizer.size")
    source = Embedding(config.vocabulary, config.d_model)
    target = source
    if config.target_vocabulary is not None:
        target = Embedding(config.target_vocabulary, config.d_model)
    positions = build_positions(config)
    model = EncoderDecoder(
        InputLayer(source, positions, dropout=config.dropout),
        Encoder(
            [build_encoder_layer(config) for _ in range(config.layers)],
            final_norm=build_final_norm(config),
        ),
        InputLayer(target, build_positions(config), dropout=config.dropout),
        Decoder(
            [build_decoder_layer(config) for _ in range(config.layers)],
            final_norm=build_final_norm(config),
        ),
        Generator(target.table),
        padding=config.padding,
    )
    initialize(model, rng)
    return model


def build_positions(config: ModelConfig) -> SinusoidalPositions | LearnedPositions:
    """Build the part that tells positions apart (section 3.5)."""
    match config.positions:
        case Sinusoidal():
            return SinusoidalPositions(config.d_model)
        case Learned(max_length=max_length):
            return LearnedPositions(max_length, config.d_model)


def build_encoder_layer(config: ModelConfig) -> EncoderLayer:
    """Build one layer of the left stack (figure 1)."""
    return EncoderLayer(
        build_attention(config),
        build_feed_forward(config),
        (build_residual(config), build_residual(config)),
    )


def build_decoder_layer(config: ModelConfig) -> DecoderLayer:
    """Build one layer of the right stack (figure 1)."""
    return DecoderLayer(
        build_attention(config),
        build_attention(config),
        build_feed_forward(config),
        (build_residual(config), build_residual(config), build_residual(config)),
    )


def build_attention(config: ModelConfig) -> MultiHeadAttention:
    """Build multi-head attention (section 3.2.2)."""
    return MultiHeadAttention(
        config.d_model,
        config.heads,
        bias=config.attention_bias,
        dropout=config.attention_dropout,
    )


def build_feed_forward(config: ModelConfig) -> FeedForward:
    """Build the position-wise network (section 3.3)."""
    return FeedForward(config.d_model, config.d_ff, dropout=config.feedforward_dropout)


def build_residual(config: ModelConfig) -> Residual:
    """Build the wiring around one sub-layer (sections 3.1, 5.4)."""
    norm = LayerNorm(config.d_model, eps=config.norm_eps)
    return Residual(norm, dropout=config.dropout, order=config.norm_order)


def build_final_norm(config: ModelConfig) -> LayerNorm | None:
    """Build the norm that ends a stack, if it has one."""
    return LayerNorm(config.d_model, eps=config.norm_eps) if config.has_final_norm else None


@torch.no_grad()
def initialize(model: nn.Module, rng: torch.Generator | None = None) -> None:
    """Draw first values: tables normal with std D^-0.5, matrices Xavier uniform, biases zero.

    The query, key and value matrices that stand side by side are each drawn for their own size
    (Glorot and Bengio 2010). A table shared by several parts is drawn once for each, in order.
    """
    for module in model.modules():
        match module:
            case Embedding() | LearnedPositions():
                module.table.normal_(std=module.table.size(1) ** -0.5, generator=rng)
            case MultiHeadAttention():
                for block in (*module.projection_blocks(), module.output.weight):
                    nn.init.xavier_uniform_(block, generator=rng)
                _zero_biases(module.query_key_value, module.output)
            case FeedForward():
                for linear in (module.inner, module.output):
                    nn.init.xavier_uniform_(linear.weight, generator=rng)
                _zero_biases(module.inner, module.output)
            case _:
                pass


def _zero_biases(*linears: nn.Linear) -> None:
    for linear in linears:
        if linear.bias is not None:  # pyright: ignore[reportUnnecessaryComparison]  # bias=False
            linear.bias.zero_()
