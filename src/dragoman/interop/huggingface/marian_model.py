"""The weights of a bundle as a ``MarianMTModel`` of ``transformers``, in memory."""

from typing import Any

import torch
from torch import nn

from dragoman.bundle import Bundle
from dragoman.errors import ConfigError, MissingExtraError
from dragoman.interop.huggingface.marian import MARIAN, POSITIONS
from dragoman.interop.huggingface.weights import write_weights
from dragoman.models import ModelConfig, Sinusoidal


@torch.no_grad()
def to_marian(bundle: Bundle, *, positions: int = POSITIONS) -> Any:
    """Build a ``transformers.MarianMTModel`` that computes what the model does.

    Sources end with the end symbol, targets begin with the start symbol. ``eps`` of its norms is
    set here, and is no part of its configuration: saved and loaded again, it would be 1e-5.

    Args:
        bundle: an encoder-decoder.
        positions: how many pieces a text may have where positions are sinusoids.

    Returns:
        The model in evaluation mode; Any, as ``transformers`` is optional.

    Raises:
        ConfigError: a choice of the model has no place in MarianMT, all of them at once.
        MissingExtraError: ``transformers`` is not installed.
    """
    config = bundle.config
    if not isinstance(config, ModelConfig):
        problem = f"MarianMT has no place for {config.architecture}"
        raise ConfigError("model.architecture", problem, "choose a Transformer")
    mistakes = [each for each in MARIAN.beyond(config) if each.place != "norm_eps"]
    if mistakes:
        raise ConfigError.together(mistakes).inside("model")
    try:
        from transformers import MarianConfig, MarianMTModel
    except ImportError:
        raise MissingExtraError("a MarianMT model", "hf") from None
    choices = MARIAN.write(config, bundle.tokenizers)
    del choices["model_type"], choices["architectures"]
    if isinstance(config.positions, Sinusoidal):
        choices["max_position_embeddings"] = positions
    make: Any = MarianMTModel
    theirs = make(MarianConfig(**choices))
    ours = dict(bundle.model.named_parameters())
    weights = write_weights(ours, MARIAN.rows(config), MARIAN.title)
    unknown = theirs.load_state_dict(weights, strict=False).unexpected_keys  # tied ones are missing
    assert not unknown, unknown
    for part in theirs.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = config.norm_eps
    return theirs.eval()
