"""``engine = "ctranslate2"`` in the words of ``Translator.load``."""

from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.decoding import CTranslate2Engine
from dragoman.errors import ConfigError
from dragoman.interop import read_ctranslate2


def ctranslate2_engine(folder: Path, bundle: Bundle, dtype: str) -> CTranslate2Engine:
    """Load the CTranslate2 model that lies in a model folder.

    Args:
        folder: of the model.
        bundle: read from it, on a CPU.
        dtype: how products are computed; ``auto`` as the weights are kept.

    Raises:
        ConfigError: the dtype is not offered, or the bundle is on another device.
        ModelError: there is no such model, or it was written from other weights.
        MissingExtraError: CTranslate2 is not installed.
    """
    device = next(bundle.model.parameters()).device
    if device.type != "cpu":
        problem = f"'{device}' is not offered by the engine ctranslate2"
        raise ConfigError("device", problem, "set cpu, or use another engine")
    compute_type = "default" if dtype == "auto" else dtype
    return read_ctranslate2(folder, bundle, compute_type=compute_type)
