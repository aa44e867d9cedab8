"""A model folder as what it is good for."""

from collections.abc import Callable
from pathlib import Path

from dragoman.bundle import load_bundle
from dragoman.classifier import Classifier
from dragoman.device import choose_device, choose_dtype
from dragoman.language_model import LanguageModel
from dragoman.nn import CausalLM, EncoderOnly
from dragoman.translator import Translator


def load_model(
    folder: str | Path,
    *,
    device: str = "auto",
    dtype: str = "auto",
    engine: str = "auto",
    say: Callable[[str], None] = lambda _: None,
) -> Translator | LanguageModel | Classifier:
    """Read a model or run folder of any kind.

    Args:
        folder: holds ``config.json``, weights, and tokenizers if the model reads text.
        device: ``auto`` takes a GPU when there is one.
        dtype: ``float32``, ``bfloat16`` or ``float16``; ``auto`` is float32. More for translators.
        engine: of a translator, see ``Translator.load``.
        say: is told what takes long.

    Raises:
        ModelError: a file is missing, damaged, or does not fit the others.
        ConfigError: the device or dtype is not known or not here.
    """
    if engine == "ctranslate2" and device == "auto":
        device = "cpu"
    bundle = load_bundle(Path(folder), choose_device(device))
    if isinstance(bundle.model, CausalLM | EncoderOnly):
        bundle.model.to(choose_dtype(dtype))
    match bundle.model:
        case CausalLM():
            return LanguageModel(bundle)
        case EncoderOnly():
            return Classifier(bundle, name=str(folder))
        case _:
            translator = Translator(bundle)
            translator.equip(folder, engine=engine, dtype=dtype, say=say)
            return translator
