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
from dragoman.interop.ctranslate2.settings import Settings
from dragoman.interop.ctranslate2.vocabulary import read_pieces
from dragoman.interop.vocabulary import tokenizer_of_pieces
from dragoman.models import ModelConfig
from dragoman.tokenization import Tokenizer, to_sentencepiece
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
                _compare(package, opened.tokenizers, opened.settings)
            tokenizers = opened.tokenizers or _foreign(package, opened)
        except ModelError as error:
            raise ModelError(f"{path}: {_inside(error, package)}") from None
    assert isinstance(opened.config, ModelConfig)
    return Bundle(opened.config, opened.model, tokenizers)


def _compare(package: Package, tokenizers: tuple[Tokenizer, ...], settings: Settings) -> None:
    """See that the files Argos Translate reads hold the vocabulary that lies beside the weights."""
    theirs = read_sentencepiece_model(package.folder / PIECES)
    try:
        ours = parse_sentencepiece_model(to_sentencepiece(tokenizers[0]))
    except ConfigError as error:
        raise ModelError(f"the vocabulary is none that a package holds ({error})") from None
    if theirs.pieces != ours.pieces or theirs.rule != ours.rule:
        raise ModelError(f"{PIECES} is not the vocabulary beside {MODEL}/model.bin; export it anew")
    named = read_pieces(package.folder / MODEL, settings, one_sided=False)
    spelled = [tuple(name.replace(" ", SPACE) for name in each.names()) for each in tokenizers]
    if named != spelled:
        raise ModelError(f"{MODEL}: two lists of pieces are not the same; export it anew")


def _foreign(package: Package, opened: Opened) -> tuple[Tokenizer, ...]:
    """Use the vocabulary of another program: pieces of the model, cut as SentencePiece does."""
    cut = package.folder / PIECES
    return tuple(tokenizer_of_pieces(each.names, each.special, cut=cut) for each in opened.sides)


def _inside(error: ModelError, package: Package) -> str:
    """Name files as they are named in the package."""
    return str(error).replace(f"{package.folder}/", "")
