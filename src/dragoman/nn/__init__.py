"""The parts of the Transformer: plain numbers and tensors in, tensors out; imports only torch."""

from dragoman.nn.attention import (
    AttentionKernel,
    MultiHeadAttention,
    attention_scores,
    attention_weights,
    fused_attention,
    reference_attention,
)
from dragoman.nn.cache import DecoderCache, KeyValues
from dragoman.nn.decoder import Decoder, DecoderLayer
from dragoman.nn.dropout import Dropout, dropout_mask
from dragoman.nn.embeddings import Embedding, Generator
from dragoman.nn.encoder import Encoder, EncoderLayer
from dragoman.nn.encoder_decoder import EncoderDecoder, InputLayer, Memory
from dragoman.nn.feedforward import Activation, FeedForward
from dragoman.nn.masks import causal_mask, combine, local_mask, padding_mask
from dragoman.nn.normalization import LayerNorm, reference_layer_norm
from dragoman.nn.positions import LearnedPositions, SinusoidalPositions, sinusoids
from dragoman.nn.residual import NormOrder, Residual

__all__ = [
    "Activation",
    "AttentionKernel",
    "Decoder",
    "DecoderCache",
    "DecoderLayer",
    "Dropout",
    "Embedding",
    "Encoder",
    "EncoderDecoder",
    "EncoderLayer",
    "FeedForward",
    "Generator",
    "InputLayer",
    "KeyValues",
    "LayerNorm",
    "LearnedPositions",
    "Memory",
    "MultiHeadAttention",
    "NormOrder",
    "Residual",
    "SinusoidalPositions",
    "attention_scores",
    "attention_weights",
    "causal_mask",
    "combine",
    "dropout_mask",
    "fused_attention",
    "local_mask",
    "padding_mask",
    "reference_attention",
    "reference_layer_norm",
    "sinusoids",
]
