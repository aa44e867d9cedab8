"""What a package of Argos Translate cannot hold, by name, before anything is written."""

from collections.abc import Iterator

from dragoman.bundle import Bundle
from dragoman.errors import ConfigError, Mistake
from dragoman.interop.argos.language_names import check_language_code
from dragoman.interop.ctranslate2.limits import beyond_ctranslate2
from dragoman.models import AnyConfig, Learned, ModelConfig
from dragoman.tokenization import beyond_sentencepiece
from dragoman.tokenization.tokenizer import BYTE_PIECES

_LEAST = 512  # positions: it writes 256 pieces at most, and reads lines of up to 500 characters


def refuse_beyond_argos(bundle: Bundle, languages: tuple[str, str]) -> None:
    """Refuse what has no place in a package.

    Raises:
        ConfigError: every choice that has none, all of them at once.
    """
    mistakes = [*_codes(languages), *_model(bundle)]
    if bundle.tokenizers:
        mistakes += _vocabularies(bundle)
    if mistakes:
        raise ConfigError.together(mistakes)


def _codes(languages: tuple[str, str]) -> Iterator[Mistake]:
    places = ("source_language", "target_language")
    for place, code in zip(places, languages, strict=True):
        try:
            check_language_code(place, code)
        except ConfigError as error:
            yield from error.mistakes
    if languages[0] == languages[1]:
        problem = f"{languages[1]!r} is the source language too"
        yield Mistake(places[1], problem, "Argos Translate never asks a model for that")


def _model(bundle: Bundle) -> Iterator[Mistake]:
    config = bundle.config
    if isinstance(config, ModelConfig) and config.architecture != "encoder-decoder":
        problem = f"{config.architecture} is no translator"
        yield Mistake("model.architecture", problem, "only an encoder-decoder can be in a package")
        return
    for mistake in beyond_ctranslate2(config):
        place = f"model.{mistake.place}"
        yield Mistake(place, mistake.problem, mistake.hint)
    yield from _positions(config)


def _positions(config: AnyConfig) -> Iterator[Mistake]:
    """Refuse few positions: Argos Translate does not ask how many pieces a model takes."""
    if not isinstance(config, ModelConfig):
        return
    for positions in {config.positions, config.target_positions}:
        if isinstance(positions, Learned) and positions.max_length < _LEAST:
            problem = f"Argos Translate fails on text of more than {positions.max_length} pieces"
            hint = f"train with {_LEAST} or more, or with sinusoidal positions"
            yield Mistake("model.positions", problem, hint)


def _vocabularies(bundle: Bundle) -> Iterator[Mistake]:
    """Look at the source side, and at the target side where it is another.

    The file cuts the source and only spells the target, whose pieces it need not know.
    """
    source, target = bundle.source_tokenizer, bundle.target_tokenizer
    yield from (_in_tokenizer(each) for each in beyond_sentencepiece(source))
    if target is source:
        return
    for mistake in beyond_sentencepiece(target):
        if mistake.place == "kind":
            yield _in_tokenizer(mistake, "target.")
    known = {*source.names()}
    if any(name in BYTE_PIECES and name not in known for name in target.names()):
        problem = "the target side has pieces for bytes, the source side none"
        yield _in_tokenizer(Mistake("byte_fallback", problem, "train with them on both sides"))


def _in_tokenizer(mistake: Mistake, side: str = "") -> Mistake:
    return Mistake(f"tokenizer.{side}{mistake.place}", mistake.problem, mistake.hint)
