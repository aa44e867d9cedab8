"""Other engines behind the interface of ``decode``."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.decoding import Hypothesis, PrefixTooLong, decode_with_ctranslate2
from dragoman.errors import ConfigError
from dragoman.interop import read_ctranslate2

Decode = Callable[..., list[list[Hypothesis] | PrefixTooLong]]  # as decode, the model given


def ctranslate2_decode(folder: Path, bundle: Bundle, *, device: str, dtype: str) -> Decode:
    """Search with the CTranslate2 model that lies in a model folder.

    Args:
        folder: of the model.
        bundle: read from it.
        device: ``auto`` or ``cpu``.
        dtype: how products are computed; ``auto`` as the weights are kept.

    Raises:
        ConfigError: the device or dtype is not offered.
        ModelError: there is no such model, or it was written from other weights.
        MissingExtraError: CTranslate2 is not installed.
    """
    if device not in ("auto", "cpu"):
        problem = f"{device!r} is not offered by the engine ctranslate2"
        raise ConfigError("device", problem, "set cpu, or use another engine")
    compute_type = "default" if dtype == "auto" else dtype
    return partial(
        decode_with_ctranslate2, read_ctranslate2(folder, bundle, compute_type=compute_type)
    )
