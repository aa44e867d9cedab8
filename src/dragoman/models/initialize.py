"""The first values of all weights of a Transformer."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from dragoman.models.config import ModelConfig
from dragoman.nn import (
    Decoder,
    Embedding,
    Encoder,
    FeedForward,
    GatedFeedForward,
    Generator,
    InputLayer,
    LearnedPositions,
    LinearAttention,
    MultiHeadAttention,
    PatchInput,
)

_STD = 0.02  # of BERT and GPT-2


@torch.no_grad()
def initialize(model: nn.Module, config: ModelConfig, rng: torch.Generator | None = None) -> None:
    """Draw first values: tables normal with std D^-0.5, matrices Xavier uniform, biases zero.

    The query, key and value matrices that stand side by side are each drawn for their own size
    (Glorot and Bengio 2010). A table shared by several parts is drawn once for each, in order.

    - ``depth-scaled``: matrices of layer l are then divided by √l, so that post-norm trains deep
      (Zhang et al. 2019, arXiv 1908.11365).
    - ``deepnorm``: values, outputs and position-wise matrices are multiplied by a gain that falls
      with depth, while residuals weigh their input more (Wang et al. 2022, arXiv 2203.00555).
    - ``normal``: everything normal with std 0.02; matrices that close a residual are divided by
      the root of the number of residuals of their stack (Radford et al. 2019).
    """
    for module in model.modules():
        _draw(module, config, rng)
    for stack in model.modules():
        if isinstance(stack, Encoder | Decoder):
            _scale_by_depth(stack, config, decoder=isinstance(stack, Decoder))


def deepnorm_scale(config: ModelConfig, *, decoder: bool) -> float:
    """Say how much a residual weighs its input, alpha of arXiv 2203.00555, figure 2."""
    encoder_layers, decoder_layers = _depths(config)
    if config.architecture == "encoder-decoder":
        if decoder:
            return (3 * decoder_layers) ** 0.25
        return 0.81 * (encoder_layers**4 * decoder_layers) ** (1 / 16)
    return (2 * config.layers) ** 0.25


def deepnorm_gain(config: ModelConfig, *, decoder: bool) -> float:
    """Say how small values, outputs and position-wise matrices begin, beta of figure 2."""
    encoder_layers, decoder_layers = _depths(config)
    if config.architecture == "encoder-decoder":
        if decoder:
            return (12 * decoder_layers) ** -0.25
        return 0.87 * (encoder_layers**4 * decoder_layers) ** (-1 / 16)
    return (8 * config.layers) ** -0.25


def _depths(config: ModelConfig) -> tuple[int, int]:
    decoder = config.layers if config.decoder_layers is None else config.decoder_layers
    return config.layers, decoder


def _draw(module: nn.Module, config: ModelConfig, rng: torch.Generator | None) -> None:
    """Draw what a module holds itself."""
    match module:
        case Embedding() | LearnedPositions():
            _table(module.table, config, rng)
        case Generator() if config.tied in ("none", "input"):
            _table(module.table, config, rng)
        case InputLayer() if module.segments is not None:
            _table(module.segments, config, rng)
        case PatchInput():
            module.first.normal_(std=_STD, generator=rng)
        case MultiHeadAttention() | LinearAttention():
            for block in module.projection_blocks():
                _matrix(block, config, rng)
            _zero(module.query_key_value.bias)
        case GatedFeedForward():
            for block in module.projection_blocks():
                _matrix(block, config, rng)
            _zero(module.gate_up.bias)
        case _:
            # A part that knows its own first values, such as a table of positions; norms begin
            # at the identity.
            reset: Callable[[torch.Generator | None], None] | None = getattr(module, "reset", None)
            if reset is not None:
                reset(rng)
    for name, child in module.named_children():
        if isinstance(child, nn.Linear) and name not in ("query_key_value", "gate_up"):
            _matrix(child.weight, config, rng)
            _zero(child.bias)


def _table(table: Tensor, config: ModelConfig, rng: torch.Generator | None) -> None:
    std = _STD if config.initialization == "normal" else config.d_model**-0.5
    table.normal_(std=std, generator=rng)


def _matrix(matrix: Tensor, config: ModelConfig, rng: torch.Generator | None) -> None:
    if config.initialization == "normal":
        matrix.normal_(std=_STD, generator=rng)
    else:
        nn.init.xavier_uniform_(matrix, generator=rng)


def _zero(bias: Tensor | None) -> None:
    if bias is not None:
        bias.zero_()


def _scale_by_depth(stack: Encoder | Decoder, config: ModelConfig, *, decoder: bool) -> None:
    for depth, layer in enumerate(stack.layers, start=1):
        match config.initialization:
            case "xavier":
                pass
            case "depth-scaled":
                for matrix in (*_closing(layer), *_opening(layer), *_queries_and_keys(layer)):
                    matrix.mul_(depth**-0.5)
            case "deepnorm":
                gain = deepnorm_gain(config, decoder=decoder)
                for matrix in (*_closing(layer), *_opening(layer)):
                    matrix.mul_(gain)
            case "normal":
                residuals = sum(1 for _ in _closing(layer)) * len(stack.layers)
                for matrix in _closing(layer):
                    matrix.mul_(residuals**-0.5)


def _closing(layer: nn.Module) -> Iterator[Tensor]:
    """Give the matrices whose product goes into a residual."""
    for part in layer.children():
        if isinstance(part, MultiHeadAttention | LinearAttention | FeedForward | GatedFeedForward):
            yield part.output.weight


def _opening(layer: nn.Module) -> Iterator[Tensor]:
    """Give the first matrices of position-wise networks, and those of values."""
    for part in layer.children():
        match part:
            case MultiHeadAttention() | LinearAttention():
                yield part.projection_blocks()[2]
            case FeedForward():
                yield part.inner.weight
            case GatedFeedForward():
                yield part.gate_up.weight
            case _:
                pass


def _queries_and_keys(layer: nn.Module) -> Iterator[Tensor]:
    for part in layer.children():
        if isinstance(part, MultiHeadAttention | LinearAttention):
            yield from part.projection_blocks()[:2]
