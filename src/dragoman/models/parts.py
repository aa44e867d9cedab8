"""Records to the parts of a layer: positions, attention, position-wise networks, norms."""

from dragoman.models.choices import (
    T5,
    Additive,
    Alibi,
    Learned,
    Linear,
    Local,
    NoPositions,
    Positions,
    Rotary,
    Shaw,
    Sinusoidal,
    Softmax,
    Sparse,
)
from dragoman.models.config import ModelConfig
from dragoman.models.initialize import deepnorm_scale
from dragoman.nn import (
    ACTIVATIONS,
    AdditiveKernel,
    AlibiBias,
    Attention,
    AttentionPositions,
    Causal,
    FeedForward,
    GatedFeedForward,
    LayerNorm,
    LearnedPositions,
    LinearAttention,
    MultiHeadAttention,
    Pattern,
    RelativePositions,
    Residual,
    RMSNorm,
    RotaryPositions,
    SinusoidalPositions,
    T5Bias,
    fused_attention,
)
from dragoman.nn import Local as LocalPattern
from dragoman.nn import Sparse as SparsePattern


def build_added_positions(
    config: ModelConfig, positions: Positions
) -> SinusoidalPositions | LearnedPositions | None:
    """Build the part that is added to embeddings; None where positions live in attention."""
    match positions:
        case Sinusoidal(layout=layout, first=first, rate=rate):
            return SinusoidalPositions(config.input_width, layout=layout, first=first, rate=rate)
        case Learned(max_length=max_length):
            return LearnedPositions(max_length, config.input_width)
        case Shaw() | T5() | Rotary() | Alibi() | NoPositions():
            return None


def build_attention_positions(
    config: ModelConfig, positions: Positions, *, causal: bool
) -> AttentionPositions | None:
    """Build the part that tells attention where keys lie; None where embeddings do."""
    match positions:
        case Shaw(clip=clip, values=values):
            d_v = config.head_width if config.d_v is None else config.d_v
            return RelativePositions(clip, config.head_width, d_v if values else None)
        case T5(buckets=buckets, max_distance=max_distance):
            return T5Bias(
                config.heads, bidirectional=not causal, buckets=buckets, max_distance=max_distance
            )
        case Rotary(layout=layout, base=base):
            return RotaryPositions(config.head_width, layout=layout, base=base)
        case Alibi():
            return AlibiBias(config.heads)
        case Sinusoidal() | Learned() | NoPositions():
            return None


def build_self_attention(
    config: ModelConfig,
    positions: Positions,
    *,
    causal: bool,
    shared: AttentionPositions | None,
) -> Attention:
    """Build self-attention (sections 3.2.2, 3.2.3), with the positions of the whole stack."""
    pattern: Pattern | None = Causal() if causal else None
    match config.attention:
        case Linear():
            return build_linear_attention(config, causal=causal)
        case Local(keys=keys):
            pattern = LocalPattern(keys // 2, causal=causal)
        case Sparse(keys=keys, global_positions=places):
            pattern = SparsePattern(keys // 2, places, causal=causal)
        case Softmax() | Additive():
            pass
    own = build_attention_positions(config, positions, causal=causal) if shared is None else shared
    return build_softmax_attention(config, pattern=pattern, positions=own)


def build_cross_attention(config: ModelConfig) -> Attention:
    """Build attention to the source (section 3.2.3, first point): full, whatever the pattern."""
    if isinstance(config.attention, Linear):
        return build_linear_attention(config, causal=False)
    return build_softmax_attention(config)


def build_softmax_attention(
    config: ModelConfig,
    *,
    pattern: Pattern | None = None,
    positions: AttentionPositions | None = None,
) -> MultiHeadAttention:
    """Build multi-head attention over dot products or additive scores."""
    kernel = fused_attention
    if isinstance(config.attention, Additive):
        kernel = AdditiveKernel(config.heads, config.head_width)
    return MultiHeadAttention(
        config.d_model,
        config.heads,
        kv_heads=config.kv_heads,
        d_k=config.d_k,
        d_v=config.d_v,
        bias=config.attention_bias,
        output_bias=config.attention_output_bias,
        scale=config.attention_scale,
        dropout=config.attention_dropout,
        kernel=kernel,
        pattern=pattern,
        positions=positions,
    )


def build_linear_attention(config: ModelConfig, *, causal: bool) -> LinearAttention:
    """Build attention by feature maps."""
    return LinearAttention(
        config.d_model,
        config.heads,
        kv_heads=config.kv_heads,
        d_k=config.d_k,
        d_v=config.d_v,
        bias=config.attention_bias,
        output_bias=config.attention_output_bias,
        causal=causal,
    )


def build_feed_forward(config: ModelConfig) -> FeedForward | GatedFeedForward:
    """Build the position-wise network (section 3.3)."""
    gated = config.feedforward == "gated"
    build = GatedFeedForward if gated else FeedForward
    return build(
        config.d_model,
        config.inner_width,
        activation=ACTIVATIONS[config.activation or ("silu" if gated else "relu")],
        bias=config.has_feedforward_bias,
        dropout=config.feedforward_dropout,
    )


def build_residual(config: ModelConfig, *, decoder: bool = False) -> Residual:
    """Build the wiring around one sub-layer (sections 3.1, 5.4)."""
    scale = deepnorm_scale(config, decoder=decoder) if config.initialization == "deepnorm" else 1.0
    norm = build_norm(config)
    return Residual(norm, dropout=config.dropout, order=config.norm_order, scale=scale)


def build_norm(config: ModelConfig, width: int | None = None) -> LayerNorm | RMSNorm:
    """Build one norm, of the width of the model unless another is given."""
    width = config.d_model if width is None else width
    match config.norm:
        case "layer":
            return LayerNorm(width, eps=config.norm_eps)
        case "rms":
            return RMSNorm(width, eps=config.norm_eps)
