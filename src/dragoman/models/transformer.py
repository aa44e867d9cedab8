"""Records to Transformers: tables, stacks and heads of the three architectures."""

import torch
from torch import nn

from dragoman.errors import ConfigError
from dragoman.models.choices import (
    Positions,
    Shaw,
)
from dragoman.models.config import ModelConfig
from dragoman.models.initialize import initialize
from dragoman.models.parts import (
    build_added_positions,
    build_attention_positions,
    build_cross_attention,
    build_feed_forward,
    build_norm,
    build_residual,
    build_self_attention,
)
from dragoman.nn import (
    ACTIVATIONS,
    AttentionPositions,
    CausalLM,
    ClassHead,
    Decoder,
    DecoderLayer,
    Embedding,
    Encoder,
    EncoderDecoder,
    EncoderLayer,
    EncoderOnly,
    Generator,
    InputLayer,
    PatchEmbedding,
    PatchInput,
    PieceHead,
    PooledHead,
    TagHead,
)

Transformer = EncoderDecoder | CausalLM | EncoderOnly


def build_transformer(config: ModelConfig, rng: torch.Generator | None = None) -> Transformer:
    """Build a Transformer with fresh weights.

    Args:
        config: every choice; ``vocabulary`` must be set, and ``classes`` where there are any.
        rng: draws the weights; PyTorch's default generator unless given.

    Raises:
        ConfigError: ``vocabulary`` or ``classes`` is not set.
    """
    match config.architecture:
        case "encoder-decoder":
            model = _build_encoder_decoder(config)
        case "decoder-only":
            model = _build_causal_lm(config)
        case "encoder-only":
            model = _build_encoder_only(config)
    initialize(model, config, rng)
    return model


def _build_encoder_decoder(config: ModelConfig) -> EncoderDecoder:
    source = build_embedding(config)
    joint = config.target_vocabulary is None and config.tied in (None, "all", "input")
    target = source if joint else build_embedding(config, target=True)
    return EncoderDecoder(
        build_input(config, source, config.positions),
        build_encoder(config),
        build_input(config, target, config.target_positions),
        build_decoder(config, cross_attention=True),
        build_generator(config, target),
        padding=config.padding,
        starts_with_padding=config.starts_with_padding,
    )


def _build_causal_lm(config: ModelConfig) -> CausalLM:
    embedding = build_embedding(config)
    return CausalLM(
        build_input(config, embedding, config.positions),
        build_decoder(config, cross_attention=False),
        build_generator(config, embedding),
        padding=config.padding,
        starts_with_padding=config.starts_with_padding,
    )


def _build_encoder_only(config: ModelConfig) -> EncoderOnly:
    if config.images is not None:
        return EncoderOnly(
            build_patch_input(config),
            build_encoder(config),
            build_class_head(config),
            padding=config.padding,
        )
    embedding = build_embedding(config)
    head: PieceHead | ClassHead | PooledHead | TagHead | None
    if config.head == "pieces":
        activation = ACTIVATIONS[config.activation or "gelu"]
        width, late = embedding.table.size(1), config.embedding_projection == "last"
        width = width if late else config.d_model
        norm, generator = build_norm(config, width), build_generator(config, embedding, width)
        head = PieceHead(config.d_model, activation, norm, generator, width=width)
    else:
        head = build_class_head(config)
    inputs = build_input(config, embedding, config.positions)
    return EncoderOnly(inputs, build_encoder(config), head, padding=config.padding)


def build_embedding(config: ModelConfig, *, target: bool = False) -> Embedding:
    """Build the table of one side (section 3.4)."""
    if config.vocabulary is None:
        raise ConfigError("vocabulary", "is not set", "take it from the tokenizer: tokenizer.size")
    other = config.target_vocabulary if target else None
    width = None if config.embedding_width == config.input_width else config.embedding_width
    return Embedding(
        config.vocabulary if other is None else other,
        config.input_width,
        width=width,
        scaled=config.embedding_scale,
    )


def build_generator(
    config: ModelConfig, embedding: Embedding, width: int | None = None
) -> Generator:
    """Build the way back from vectors to pieces, over the table of ``embedding`` unless untied.

    The vectors have the width of the model unless another is given.
    """
    width = config.d_model if width is None else width
    table = embedding.table
    if config.tied in ("none", "input"):
        table = nn.Parameter(torch.empty_like(table))
    narrow = table.size(1) != width
    return Generator(table, d_model=width if narrow else None, bias=config.output_bias)


def build_input(config: ModelConfig, embedding: Embedding, positions: Positions) -> InputLayer:
    """Build embedding plus position (section 3.5)."""
    width, segments = config.input_width, None
    if config.segments:
        segments = nn.Parameter(torch.empty(config.segments, width))
    late = config.embedding_projection == "last"
    return InputLayer(
        embedding,
        build_added_positions(config, positions),
        norm=build_norm(config, width) if config.embedding_norm else None,
        segments=segments,
        projection=nn.Linear(width, config.d_model) if late else None,
        dropout=config.dropout,
    )


def build_patch_input(config: ModelConfig) -> PatchInput:
    """Build what an encoder of images reads."""
    assert config.images is not None
    return PatchInput(
        PatchEmbedding(config.images.patch, config.images.channels, config.d_model),
        config.d_model,
        build_added_positions(config, config.positions),
        norm=build_norm(config) if config.embedding_norm else None,
        dropout=config.dropout,
    )


def build_class_head(config: ModelConfig) -> ClassHead | PooledHead | TagHead | None:
    """Build what chooses a class for a sequence or for each position, or gives it one vector."""
    if config.head == "none":
        return None
    if config.head == "pooled":
        return PooledHead(config.d_model)
    if config.classes is None:
        raise ConfigError("classes", "are not set", "take them from the data")
    if config.head == "tags":
        return TagHead(config.d_model, len(config.classes))
    return ClassHead(config.d_model, len(config.classes), pooled=config.pooled)


def build_encoder(config: ModelConfig) -> Encoder:
    """Build the left stack (figure 1)."""
    shared = _shared_positions(config, config.positions, causal=False)
    layers = [
        EncoderLayer(
            build_self_attention(config, config.positions, causal=False, shared=shared),
            build_feed_forward(config),
            (build_residual(config), build_residual(config)),
        )
        for _ in range(config.layers)
    ]
    return Encoder(layers, final_norm=build_norm(config) if config.has_final_norm else None)


def build_decoder(config: ModelConfig, *, cross_attention: bool) -> Decoder:
    """Build the right stack (figure 1), with or without attention to a source."""
    positions = config.target_positions
    shared = _shared_positions(config, positions, causal=True)
    count = config.layers if config.decoder_layers is None else config.decoder_layers
    layers = [
        DecoderLayer(
            build_self_attention(config, positions, causal=True, shared=shared),
            build_cross_attention(config) if cross_attention else None,
            build_feed_forward(config),
            [build_residual(config, decoder=True) for _ in range(2 + cross_attention)],
        )
        for _ in range(count)
    ]
    return Decoder(layers, final_norm=build_norm(config) if config.has_final_norm else None)


def _shared_positions(
    config: ModelConfig, positions: Positions, *, causal: bool
) -> AttentionPositions | None:
    """Build what the layers of a stack have in common: T5's table; Shaw's differ by layer."""
    if isinstance(positions, Shaw):
        return None
    return build_attention_positions(config, positions, causal=causal)
