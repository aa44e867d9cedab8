"""Models to serve, by name, and the languages they read and write."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from dragoman.configfile import read_toml
from dragoman.errors import ConfigError
from dragoman.serving.limits import Limits
from dragoman.serving.served import Served
from dragoman.translator import Translator

_CODE = r"[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-[A-Z]{2})?"
_PAIR = re.compile(rf"({_CODE})-({_CODE})")
_SUFFIX = re.compile(r"\.([a-z]{2,3})(?:\.(?:gz|xz|zst|bz2))?\Z")


def load_served(
    asked: Sequence[str],
    limits: Limits,
    *,
    device: str = "auto",
    dtype: str = "auto",
    engine: str = "auto",
    say: Callable[[str], None] = lambda _: None,
) -> list[Served]:
    """Load models.

    Args:
        asked: folders, each ``FOLDER`` or ``NAME=FOLDER``. A name such as ``de-en`` tells the
            languages; otherwise those of the recipe in the folder are taken, if it tells.
        limits: of what may wait.
        device: see ``Translator.load``.
        dtype: see ``Translator.load``.
        engine: see ``Translator.load``.
        say: is told what takes long.

    Raises:
        ConfigError: two have one name, or an option is wrong.
        ModelError: a folder cannot be read, or its model does not translate.
    """
    named = [_named(each) for each in asked]
    names = [name for name, _ in named]
    for name in names:
        if names.count(name) > 1:
            hint = "give one another name: NAME=FOLDER"
            raise ConfigError("MODEL", f"two models are named {name!r}", hint)
    served: list[Served] = []
    for name, folder in named:
        translator = Translator.load(folder, device=device, dtype=dtype, engine=engine, say=say)
        _warm_up(translator)
        source, target = languages_of(name, folder)
        into = () if target is None else (target,)
        served.append(
            Served(name, translator, limits, source_language=source, target_languages=into)
        )
    return served


def _warm_up(translator: Translator) -> None:
    """Translate something, since an engine may compile what it runs only then, which takes long."""
    language = next(iter(translator.languages), None)
    for beam in (1, 4):
        translator.translate(["a b"], beam=beam, max_length=3, target_language=language)


def languages_of(name: str, folder: Path) -> tuple[str | None, str | None]:
    """Tell the languages of a model by its name or else its recipe; None where nothing tells."""
    if pair := _PAIR.fullmatch(name):
        return pair[1], pair[2]
    try:
        data = _table(read_toml(folder / "recipe.toml").get("data"))
    except ConfigError:
        return None, None
    corpora = data.get("train")
    corpus = _table(cast("list[Any]", corpora)[0] if isinstance(corpora, list) else corpora)
    return _language(corpus, "source"), _language(corpus, "target")


def _named(asked: str) -> tuple[str, Path]:
    name, equals, folder = asked.partition("=")
    if equals and "/" not in name and name:
        return name, Path(folder)
    return Path(asked).resolve().name or asked, Path(asked)


def _language(corpus: dict[str, Any], side: str) -> str | None:
    """Take the language that is stated, or else the end of a file's name: ``train.de``."""
    stated = corpus.get(f"{side}_language")
    if isinstance(stated, str):
        return stated
    file = corpus.get(side)
    found = _SUFFIX.search(file) if isinstance(file, str) else None
    return found[1] if found else None


def _table(given: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}
