"""A package of Argos Translate as a bundle of ours.

    bundle = read_argos(Path("translate-de_en-1_0.argosmodel"))

A package that ``write_argos`` wrote becomes the model it was written from, to the bit when its
weights are in float32. Of others the vocabulary is used as it is.
"""

from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.errors import ConfigError, ModelError
from dragoman.interop.argos.archive import MODEL, PIECES, Package, unpacked
from dragoman.interop.ctranslate2.importing import Opened, open_folder
from dragoman.models import ModelConfig
from dragoman.tokenization import Tokenizer, sentencepiece_model
from dragoman.tokenization.existing_pieces import SPACE
from dragoman.tokenization.sentencepiece_model import (
    parse_sentencepiece_model,
    read_sentencepiece_model,
)


def read_argos(path: Path) -> Bundle:
    """Read a package, without Argos Translate.

    Raises:
        ModelError: it is no package, is damaged or not to be trusted, its parts do not fit each
            other, or the model computes what no choice of ours does.
    """
    with unpacked(path) as package:
        try:
            opened = open_folder(package.folder / MODEL)
            if opened.config.architecture != "encoder-decoder":
                raise ModelError(f"{opened.config.architecture} is no translator; choose another")
            if opened.tokenizers:
                _compare(package, opened.tokenizers)
            tokenizers = opened.tokenizers or _foreign(package, opened)
        except ModelError as error:
            raise ModelError(f"{path}: {_inside(error, package)}") from None
    assert isinstance(opened.config, ModelConfig)
    return Bundle(opened.config, opened.model, tokenizers)
