"""Language tags: one model for many pairs of languages (Johnson et al. 2017, arXiv 1611.04558).

The piece ``<2de>`` in front of a source asks for German. It is a control symbol as ``</s>`` is: it
enters by its id only, no text gives it, and it leaves no trace in text.
"""

import json
from collections.abc import Iterable
from typing import cast

import tokenizers
from tokenizers.pre_tokenizers import Sequence

from dragoman.errors import ConfigError
from dragoman.tokenization.stretches import splitter
from dragoman.tokenization.tokenizer import LANGUAGE_PIECE, Json, Tokenizer


def language_piece(language: str) -> str:
    """Name the piece that asks for a language: ``<2de>``.

    Args:
        language: as in BCP 47, such as ``de`` or ``zh-Hans``: two to eight letters, then parts of
            up to eight letters and digits behind hyphens. Upper and lower case are told apart.

    Raises:
        ConfigError: it is something else (place ``target_language``).
    """
    piece = f"<2{language}>"
    if LANGUAGE_PIECE.fullmatch(piece) is None:
        better = "-".join(filter(None, language.strip().replace("_", "-").split("-")))
        fits = LANGUAGE_PIECE.fullmatch(f"<2{better}>") is not None
        hint = f"write {better}" if fits else "write it as in BCP 47: de, pt-BR, zh-Hans"
        raise ConfigError("target_language", f"{language!r} is no name of a language", hint)
    return piece


def with_languages(tokenizer: Tokenizer, languages: Iterable[str]) -> Tokenizer:
    """Add the tags of languages to the end of a vocabulary; what it has keeps its ids.

    Of two vocabularies only that of the source side needs them.

    Args:
        tokenizer: is not changed.
        languages: names; those that have a tag are passed over.

    Returns:
        The same object when there is nothing to add.

    Raises:
        ConfigError: a name is wrong, or is a piece that text gives (place ``target_language``).
    """
    named = {language: language_piece(language) for language in languages}
    missing = [piece for name, piece in named.items() if name not in tokenizer.languages]
    if not missing:
        return tokenizer
    if not tokenizer.lossless:
        known = ", ".join(tokenizer.languages) or "none"
        problem = f"an imported vocabulary gets no new tag; its languages are: {known}"
        raise ConfigError("target_language", problem, "choose one of them, or leave it out")
    settings = cast("Json", json.loads(tokenizer.to_json()))
    vocabulary = settings["model"]["vocab"]
    taken = {*tokenizer.pieces(range(tokenizer.size))}
    for number, piece in enumerate(missing, tokenizer.size):
        if piece in taken:
            problem = f"{piece} is a piece that text gives, so it cannot be a tag"
            raise ConfigError("target_language", problem, "leave it out of tokenizer.pieces")
        if isinstance(vocabulary, dict):
            vocabulary[piece] = number
        else:  # of a unigram vocabulary, with scores
            vocabulary.append([piece, 0.0])
    made = tokenizers.Tokenizer.from_str(json.dumps(settings))
    if any(piece in stretch for piece in missing for stretch in tokenizer.cut(f"{piece} a{piece}")):
        # Only files of other programs cut so, and only those read by older releases.
        cut_off = splitter(f"<(?={LANGUAGE_PIECE.pattern[1:]})")
        made.pre_tokenizer = Sequence([cut_off, made.pre_tokenizer])
    return Tokenizer(made)
