"""The parts of the Transformer: plain numbers and tensors in, tensors out; imports only torch."""

from dragoman.nn.activations import (
    ACTIVATIONS,
    Activation,
    gelu,
    gelu_tanh,
    relu,
    silu,
    swish,
)
from dragoman.nn.additive import AdditiveAttention, AdditiveKernel, additive_scores
from dragoman.nn.attention import (
    AttentionKernel,
    attention_scores,
    attention_weights,
    fused_attention,
    reference_attention,
)
from dragoman.nn.batched_attention import ChosenAttention, batched_attention
from dragoman.nn.blockwise import (
    RunningSoftmax,
    blockwise_attention,
    running_attention,
)
from dragoman.nn.cache import DecoderCache, KeyValues, Known
from dragoman.nn.causal_lm import CausalLM
from dragoman.nn.checkpointing import LayerRunner, run_checkpointed, run_layer
from dragoman.nn.convolution import (
    Convolution,
    GatedConvolution,
    SeparableConvolution,
    convolve,
    depthwise_convolve,
    fused_convolve,
    separable_convolve,
)
from dragoman.nn.convolutional_encoder_decoder import (
    ConvolutionalCache,
    ConvolutionalDecoderLayer,
    ConvolutionalEncoderDecoder,
    ConvolutionalMemory,
)
from dragoman.nn.decoder import Decoder, DecoderLayer
from dragoman.nn.dropout import Dropout, dropout_mask
from dragoman.nn.embeddings import Embedding, Generator
from dragoman.nn.encoder import Encoder, EncoderLayer
from dragoman.nn.encoder_decoder import EncoderDecoder, Memory
from dragoman.nn.encoder_only import ClassHead, EncoderOnly, PieceHead, PooledHead, TagHead
from dragoman.nn.feedforward import FeedForward, GatedFeedForward, gated_width
from dragoman.nn.input_layer import AddedPositions, InputLayer
from dragoman.nn.linear_attention import (
    LinearAttention,
    linear_attention,
    linear_attention_weights,
    reference_linear_attention,
)
from dragoman.nn.linear_state import (
    LinearState,
)
from dragoman.nn.masks import causal_mask, combine, local_mask, padding_mask, sparse_mask
from dragoman.nn.multi_head import Attention, AttentionPositions, MultiHeadAttention
from dragoman.nn.normalization import (
    LayerNorm,
    RMSNorm,
    note_layer_norm,
    reference_layer_norm,
    reference_rms_norm,
    standardize,
)
from dragoman.nn.patch_input import PatchInput
from dragoman.nn.patches import PatchEmbedding, patchify
from dragoman.nn.patterns import (
    Causal,
    Local,
    Pattern,
    Sparse,
)
from dragoman.nn.positions import (
    AlibiBias,
    LearnedPositions,
    RelativePositions,
    RotaryLayout,
    RotaryPositions,
    SinusoidalPositions,
    SinusoidLayout,
    SinusoidRate,
    T5Bias,
    UnclippedRelativePositions,
    alibi_bias,
    alibi_slopes,
    reference_relative_attention,
    relative_bias,
    relative_rows,
    rotate,
    sinusoids,
    t5_bucket,
    unclipped_bias,
)
from dragoman.nn.recurrent import (
    CellWeights,
    State,
    gru_step,
    gru_update,
    lstm_step,
    lstm_update,
    rnn_step,
    run_recurrent,
)
from dragoman.nn.recurrent_decoder import RecurrentCache, RecurrentDecoder
from dragoman.nn.recurrent_encoder_decoder import RecurrentEncoder, RecurrentEncoderDecoder
from dragoman.nn.residual import NormOrder, Residual
from dragoman.nn.softmax import masked_softmax

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "AddedPositions",
    "AdditiveAttention",
    "AdditiveKernel",
    "AlibiBias",
    "Attention",
    "AttentionKernel",
    "AttentionPositions",
    "Causal",
    "CausalLM",
    "CellWeights",
    "ChosenAttention",
    "ClassHead",
    "Convolution",
    "ConvolutionalCache",
    "ConvolutionalDecoderLayer",
    "ConvolutionalEncoderDecoder",
    "ConvolutionalMemory",
    "Decoder",
    "DecoderCache",
    "DecoderLayer",
    "Dropout",
    "Embedding",
    "Encoder",
    "EncoderDecoder",
    "EncoderLayer",
    "EncoderOnly",
    "FeedForward",
    "GatedConvolution",
    "GatedFeedForward",
    "Generator",
    "InputLayer",
    "KeyValues",
    "Known",
    "LayerNorm",
    "LayerRunner",
    "LearnedPositions",
    "LinearAttention",
    "LinearState",
    "Local",
    "Memory",
    "MultiHeadAttention",
    "NormOrder",
    "PatchEmbedding",
    "PatchInput",
    "Pattern",
    "PieceHead",
    "PooledHead",
    "RMSNorm",
    "RecurrentCache",
    "RecurrentDecoder",
    "RecurrentEncoder",
    "RecurrentEncoderDecoder",
    "RelativePositions",
    "Residual",
    "RotaryLayout",
    "RotaryPositions",
    "RunningSoftmax",
    "SeparableConvolution",
    "SinusoidLayout",
    "SinusoidRate",
    "SinusoidalPositions",
    "Sparse",
    "State",
    "T5Bias",
    "TagHead",
    "UnclippedRelativePositions",
    "additive_scores",
    "alibi_bias",
    "alibi_slopes",
    "attention_scores",
    "attention_weights",
    "batched_attention",
    "blockwise_attention",
    "causal_mask",
    "combine",
    "convolve",
    "depthwise_convolve",
    "dropout_mask",
    "fused_attention",
    "fused_convolve",
    "gated_width",
    "gelu",
    "gelu_tanh",
    "gru_step",
    "gru_update",
    "linear_attention",
    "linear_attention_weights",
    "local_mask",
    "lstm_step",
    "lstm_update",
    "masked_softmax",
    "note_layer_norm",
    "padding_mask",
    "patchify",
    "reference_attention",
    "reference_layer_norm",
    "reference_linear_attention",
    "reference_relative_attention",
    "reference_rms_norm",
    "relative_bias",
    "relative_rows",
    "relu",
    "rnn_step",
    "rotate",
    "run_checkpointed",
    "run_layer",
    "run_recurrent",
    "running_attention",
    "separable_convolve",
    "silu",
    "sinusoids",
    "sparse_mask",
    "standardize",
    "swish",
    "t5_bucket",
    "unclipped_bias",
]
