"""Records to models of every architecture, the one place that chooses."""

from typing import Annotated

import torch
from pydantic import Discriminator

from dragoman.configfile import Table, read_record, suggest
from dragoman.errors import ConfigError
from dragoman.models.config import ModelConfig
from dragoman.models.convolutional import ConvolutionalConfig, build_convolutional
from dragoman.models.recurrent import RecurrentConfig, build_recurrent
from dragoman.models.transformer import build_transformer
from dragoman.nn import (
    CausalLM,
    ConvolutionalEncoderDecoder,
    EncoderDecoder,
    EncoderOnly,
    RecurrentEncoderDecoder,
)

AnyConfig = ModelConfig | RecurrentConfig | ConvolutionalConfig
ModelChoice = Annotated[AnyConfig, Discriminator("architecture")]

SequenceToSequence = EncoderDecoder | RecurrentEncoderDecoder | ConvolutionalEncoderDecoder
Model = SequenceToSequence | CausalLM | EncoderOnly

_RECORDS: dict[str, type[AnyConfig]] = {
    "encoder-decoder": ModelConfig,
    "decoder-only": ModelConfig,
    "encoder-only": ModelConfig,
    "recurrent": RecurrentConfig,
    "convolutional": ConvolutionalConfig,
}


def build_model(config: AnyConfig, rng: torch.Generator | None = None) -> Model:
    """Build a model with fresh weights.

    Args:
        config: every choice; what only the data knows, such as ``vocabulary``, must be set.
        rng: draws the weights; PyTorch's default generator unless given.

    Raises:
        ConfigError: something that the data sets is not set.
    """
    match config:
        case ModelConfig():
            return build_transformer(config, rng)
        case RecurrentConfig():
            return build_recurrent(config, rng)
        case ConvolutionalConfig():
            return build_convolutional(config, rng)


def read_config(table: Table, *, file: str = "") -> AnyConfig:
    """Turn a table into the record of its architecture.

    Raises:
        ConfigError: with every mistake, each at its place.
    """
    named = table.get("architecture", "encoder-decoder")
    if not isinstance(named, str) or named not in _RECORDS:
        hint = suggest(str(named), list(_RECORDS))
        raise ConfigError("architecture", f"{named!r} is not a choice", hint).inside(file=file)
    return read_record(_RECORDS[named], table, file=file)
