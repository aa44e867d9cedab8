"""Less memory for more time: which layers compute again in backward what they did not keep."""

from torch import nn

from dragoman.errors import ConfigError
from dragoman.nn import Decoder, Encoder, run_checkpointed


def recompute_layers(model: nn.Module) -> None:
    """Let every stack of a model run its layers with activation checkpointing.

    Decoding, and whatever else runs without gradients, stays as it was.

    Raises:
        ConfigError: the model has no stack of layers that can.
    """
    stacks = [part for part in model.modules() if isinstance(part, Encoder | Decoder)]
    if not stacks:
        raise ConfigError(
            "training.activation_checkpointing",
            "recurrent and convolutional models cannot",
            "leave it out, and lower training.batch_tokens",
        )
    for stack in stacks:
        stack.run = run_checkpointed
