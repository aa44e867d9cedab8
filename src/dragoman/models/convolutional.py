"""The convolutional baseline: its choices, and the model they make (arXiv 1705.03122)."""

import math
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import nn

from dragoman.configfile import record
from dragoman.errors import ConfigError, Mistake
from dragoman.models.choices import Chance, Size
from dragoman.nn import (
    Convolution,
    ConvolutionalDecoderLayer,
    ConvolutionalEncoderDecoder,
    Embedding,
    GatedConvolution,
    Generator,
    InputLayer,
    SeparableConvolution,
    SinusoidalPositions,
)

LARGEST_DILATION = 16  # then the doubling starts again (arXiv 1610.10099)


@record
class ConvolutionalConfig:
    """The ``[model]`` table of a convolutional model.

    Args:
        architecture: which stacks there are.
        layers: gated convolutions in each stack.
        d_model: width of every vector between parts; even, as sinusoids come in pairs.
        kernel: positions that one convolution reads; odd, as the encoder's is centred.
        dilations: distance between these positions: 1 in every layer, or doubling from layer to
            layer, 1, 2, 4, 8, 16 and again from 1, as in ByteNet.
        separable: convolutions that mix positions first, then channels (arXiv 1706.03059).
        dropout: on embeddings, the input of every convolution and the decoder's output.
        vocabulary: pieces of the source side, or of both when joint; set from the tokenizer.
        target_vocabulary: pieces of the target side when it has a vocabulary of its own.
        padding: id of the padding piece.

    Raises:
        ConfigError: ``kernel`` is even, or ``d_model`` is odd.
    """

    architecture: Literal["convolutional"] = "convolutional"
    layers: Annotated[int, Field(ge=1, le=1_000)] = 6
    d_model: Size = 512
    kernel: Annotated[int, Field(ge=1, le=1_000)] = 3
    dilations: Literal["none", "doubling"] = "none"
    separable: bool = False
    dropout: Chance = 0.2
    vocabulary: Size | None = None
    target_vocabulary: Size | None = None
    padding: Annotated[int, Field(ge=0)] = 0

    def __post_init__(self) -> None:
        """Check what no single field can."""
        mistakes: list[Mistake] = []
        if self.kernel % 2 == 0:
            problem = f"{self.kernel} is even, and a centred kernel reads as far left as right"
            mistakes.append(Mistake("kernel", problem, _odd_or_even_near(self.kernel)))
        if self.d_model % 2:
            problem = f"{self.d_model} is odd, and sinusoids come in pairs"
            mistakes.append(Mistake("d_model", problem, _odd_or_even_near(self.d_model)))
        if mistakes:
            raise ConfigError.together(mistakes)

    @property
    def max_length(self) -> int | None:
        """The longest input the positions allow, in pieces: there is no limit."""
        return None

    @property
    def dilation_rates(self) -> tuple[int, ...]:
        """The dilation of each layer, from the first."""
        period = 1 if self.dilations == "none" else LARGEST_DILATION.bit_length()
        return tuple(2 ** (layer % period) for layer in range(self.layers))


def _odd_or_even_near(number: int) -> str:
    near = [str(other) for other in (number - 1, number + 1) if other > 0]
    return f"try {' or '.join(near)}"


def build_convolutional(
    config: ConvolutionalConfig, rng: torch.Generator | None = None
) -> ConvolutionalEncoderDecoder:
    """Build a model with fresh weights.

    Args:
        config: every choice; ``vocabulary`` must be set.
        rng: draws the weights; PyTorch's default generator unless given.

    Raises:
        ConfigError: ``vocabulary`` is not set.
    """
    if config.vocabulary is None:
        raise ConfigError("vocabulary", "is not set", "take it from the tokenizer: tokenizer.size")
    source = target = Embedding(config.vocabulary, config.d_model)
    if config.target_vocabulary is not None:
        target = Embedding(config.target_vocabulary, config.d_model)
    rates, d_model = config.dilation_rates, config.d_model
    model = ConvolutionalEncoderDecoder(
        InputLayer(source, SinusoidalPositions(d_model), dropout=config.dropout),
        [_build_block(config, rate, causal=False) for rate in rates],
        InputLayer(target, SinusoidalPositions(d_model), dropout=config.dropout),
        [
            ConvolutionalDecoderLayer(_build_block(config, rate, causal=True), d_model)
            for rate in rates
        ],
        Generator(target.table),
        padding=config.padding,
    )
    initialize_convolutional(model, rng)
    return model


def _build_block(config: ConvolutionalConfig, dilation: int, *, causal: bool) -> GatedConvolution:
    kind = SeparableConvolution if config.separable else Convolution
    convolution = kind(config.d_model, 2 * config.d_model, config.kernel, dilation=dilation)
    return GatedConvolution(convolution, causal=causal, dropout=config.dropout)


@torch.no_grad()
def initialize_convolutional(model: nn.Module, rng: torch.Generator | None = None) -> None:
    """Draw first values that keep the variance from layer to layer (section 3.5 there).

    Normal, with variance 1 / n for n inputs of a unit; four times that before a gate, which lets
    about a quarter through; and p times that where an input survives dropout with chance p. Tables
    have the standard deviation D^-0.5, biases are zero. A table shared by several parts is drawn
    once for each, in order.
    """
    for module in model.modules():
        match module:
            case Embedding():
                module.table.normal_(std=module.table.size(1) ** -0.5, generator=rng)
            case GatedConvolution(convolution=convolution, dropout=dropout):
                _draw_before_gate(convolution, 1 - dropout.p, rng)
            case ConvolutionalDecoderLayer(query=query):
                query.weight.normal_(std=query.in_features**-0.5, generator=rng)
                query.bias.zero_()
            case _:
                pass


def _draw_before_gate(
    convolution: Convolution | SeparableConvolution, kept: float, rng: torch.Generator | None
) -> None:
    convolution.bias.zero_()
    match convolution:
        case Convolution():
            inputs = convolution.kernel[..., 0].numel()  # k C
            convolution.kernel.normal_(std=math.sqrt(4 * kept / inputs), generator=rng)
        case SeparableConvolution():
            inputs, channels = convolution.depthwise.shape
            convolution.depthwise.normal_(std=math.sqrt(kept / inputs), generator=rng)
            convolution.pointwise.normal_(std=math.sqrt(4 / channels), generator=rng)
