"""The recurrent baseline: the record of its choices, its parts put together, its first weights.

It is what translation was done with before the paper (Bahdanau et al. 2014, arXiv 1409.0473; with
LSTM cells as in Sutskever et al. 2014, arXiv 1409.3215), to compare a Transformer with.
"""

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import nn

from dragoman.configfile import record
from dragoman.errors import ConfigError
from dragoman.models.config import Chance, Size
from dragoman.nn import (
    AdditiveAttention,
    RecurrentDecoder,
    RecurrentEncoder,
    RecurrentEncoderDecoder,
)


@record
class RecurrentConfig:
    """The ``[model]`` table of a recipe for a recurrent translator.

    Args:
        architecture: which stacks there are.
        cell: long short-term memory or gated recurrent unit.
        attends: to all states of the source; otherwise the decoder reads one vector of each
            sentence, and the weights of the attention are there but learn nothing.
        layers: layers in the encoder, in both directions, and in the decoder.
        d_model: width of embeddings and of every state.
        dropout: on embeddings, between layers and on the decoder's output.
        vocabulary: pieces of the source side, or of both when joint; set from the tokenizer.
        target_vocabulary: pieces of the target side when it has a vocabulary of its own.
        padding: id of the padding piece.
    """

    architecture: Literal["recurrent"] = "recurrent"
    cell: Literal["lstm", "gru"] = "lstm"
    attends: bool = True
    layers: Annotated[int, Field(ge=1, le=1_000)] = 2
    d_model: Size = 512
    dropout: Chance = 0.2
    vocabulary: Size | None = None
    target_vocabulary: Size | None = None
    padding: Annotated[int, Field(ge=0)] = 0

    @property
    def max_length(self) -> int | None:
        """None: a recurrent model reads input of any length."""
        return None


def build_recurrent(
    config: RecurrentConfig, rng: torch.Generator | None = None
) -> RecurrentEncoderDecoder:
    """Build a recurrent translator with fresh weights.

    Args:
        config: every choice; ``vocabulary`` must be set.
        rng: draws the weights; PyTorch's default generator unless given.

    Raises:
        ConfigError: ``vocabulary`` is not set.
    """
    if config.vocabulary is None:
        raise ConfigError("vocabulary", "is not set", "take it from the tokenizer: tokenizer.size")
    source = target = nn.Embedding(config.vocabulary, config.d_model)
    if config.target_vocabulary is not None:
        target = nn.Embedding(config.target_vocabulary, config.d_model)
    model = RecurrentEncoderDecoder(
        source,
        build_recurrent_encoder(config),
        target,
        build_recurrent_decoder(config),
        dropout=config.dropout,
        padding=config.padding,
        attends=config.attends,
    )
    initialize_recurrent(model, rng)
    return model


def build_recurrent_encoder(config: RecurrentConfig) -> RecurrentEncoder:
    """Build the part that reads the source in both directions."""
    layer = nn.LSTM if config.cell == "lstm" else nn.GRU
    widths = [config.d_model] + [2 * config.d_model] * (config.layers - 1)
    layers = [layer(n, config.d_model, batch_first=True, bidirectional=True) for n in widths]
    return RecurrentEncoder(layers, dropout=config.dropout)


def build_recurrent_decoder(config: RecurrentConfig) -> RecurrentDecoder:
    """Build the part that writes the target, attending to the source before every piece."""
    width, memory_width = config.d_model, 2 * config.d_model
    cell = nn.LSTMCell if config.cell == "lstm" else nn.GRUCell
    widths = [width + memory_width] + [width] * (config.layers - 1)
    attention = AdditiveAttention(width, memory_width, hidden=width)
    return RecurrentDecoder([cell(n, width) for n in widths], attention, dropout=config.dropout)


@torch.no_grad()
def initialize_recurrent(model: nn.Module, rng: torch.Generator | None = None) -> None:
    """Draw first values: tables normal with std D^-0.5, input matrices Xavier uniform, biases zero.

    Recurrent matrices are orthogonal, so that gradients neither grow nor fade at first (Saxe et al.
    2013, arXiv 1312.6120); the forget gate of an LSTM begins open, with a bias of 1 (Jozefowicz et
    al. 2015). Every block of a cell is drawn for its own size.
    """
    for module in model.modules():
        match module:
            case nn.Embedding():
                module.weight.normal_(std=module.embedding_dim**-0.5, generator=rng)
            case nn.LSTM() | nn.GRU() | nn.LSTMCell() | nn.GRUCell():
                _initialize_cell(module, module.hidden_size, rng)
            case nn.Linear():
                nn.init.xavier_uniform_(module.weight, generator=rng)
                if module.bias is not None:  # pyright: ignore[reportUnnecessaryComparison]  # bias=False
                    module.bias.zero_()
            case AdditiveAttention():
                nn.init.xavier_uniform_(module.vector[None], generator=rng)
            case _:
                pass


def _initialize_cell(cell: nn.Module, width: int, rng: torch.Generator | None) -> None:
    for name, weight in cell.named_parameters():
        blocks = weight.chunk(weight.size(0) // width)
        if name.startswith("bias"):
            weight.zero_()
            if name.startswith("bias_ih") and len(blocks) == 4:  # an LSTM: i, f, g, o
                blocks[1].fill_(1.0)
            continue
        draw = nn.init.orthogonal_ if name.startswith("weight_hh") else nn.init.xavier_uniform_
        for block in blocks:
            draw(block, generator=rng)
